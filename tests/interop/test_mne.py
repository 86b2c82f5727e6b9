"""The bridge to MNE-Python: recordings as rows, sources as its ICA, estimators inside its filters."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.interop.mne import from_mne, to_mne_ica


@pytest.fixture(scope="module")
def mne() -> Any:
    package = pytest.importorskip("mne")
    package.set_log_level("ERROR")
    return package


@pytest.fixture(scope="module")
def recording(mne: Any) -> Any:
    """Ten EEG channels in volts that hear three sources, with a stimulus channel, a bad channel and bad spans."""
    names = ["Fp1", "Fp2", "F3", "F4", "C3", "C4", "P3", "P4", "O1", "O2"]
    x, _ = latens.datasets.make_ica(800, 10, 3, snr=15, noise="unequal", random_state=31)
    info = mne.create_info([*names, "T7", "STI"], 100.0, ["eeg"] * 11 + ["stim"])
    raw = mne.io.RawArray(np.vstack([1e-5 * x.T + 3e-6, np.zeros((2, 800))]), info)
    raw.info["bads"] = ["T7"]
    raw.set_montage("standard_1020", match_case=False)
    spans = mne.Annotations([1.0, 3.0, 5.0], [0.5, 0.2, 1.0], ["bad blink", "BAD_jump", "stimulus"])
    spans.append(6.0, 0.1, "bad contact", ch_names=[("F3", "F4")])
    return raw.set_annotations(spans)


@pytest.fixture(scope="module")
def model(recording: Any) -> latens.NoisyICA:
    return latens.NoisyICA(5, random_state=0).fit(from_mne(recording))


@pytest.mark.extras
def test_rows_are_times_and_bad_spans_are_missing(recording: Any) -> None:
    rows = from_mne(recording)
    assert rows.shape == (800, 10)
    seen = ~np.isnan(rows)
    assert rows[seen] == pytest.approx(recording.get_data()[:10].T[seen])
    whole = np.flatnonzero(~seen.any(axis=1))
    assert np.array_equal(whole, [*range(100, 150), *range(300, 320)])
    some = np.flatnonzero(~seen.all(axis=1) & seen.any(axis=1))
    assert np.array_equal(some, np.arange(600, 610))
    assert np.array_equal(np.flatnonzero(~seen[605]), [2, 3])


@pytest.mark.extras
def test_a_recording_that_begins_late_keeps_its_spans(mne: Any, recording: Any) -> None:
    rows = from_mne(recording.copy().crop(0.5, None))
    assert np.array_equal(np.flatnonzero(np.isnan(rows).all(axis=1))[:50], np.arange(50, 100))


@pytest.mark.extras
def test_epochs_follow_one_another_and_other_things_are_refused(mne: Any, recording: Any) -> None:
    plain = recording.copy().set_annotations(None)
    epochs = mne.make_fixed_length_epochs(plain, duration=2.0, preload=True)
    assert from_mne(epochs) == pytest.approx(from_mne(plain))
    with pytest.raises(TypeError, match=r"got ndarray; expected mne.io.Raw or mne.Epochs"):
        from_mne(np.zeros((3, 3)))


@pytest.mark.extras
def test_sources_and_their_removal_are_those_of_the_model(recording: Any, model: latens.NoisyICA) -> None:
    ica = to_mne_ica(model, recording.info)
    x = recording.get_data()[:10].T
    sources = ica.get_sources(recording).get_data().T
    assert sources == pytest.approx((x - model.mean_) @ model.unmixing_.T, rel=1e-6, abs=1e-9)
    assert ica.get_components() * ica.pre_whitener_ == pytest.approx(model.mixing_, rel=1e-9)
    clean = ica.apply(recording.copy(), exclude=[0]).get_data()[:10].T
    assert x - clean == pytest.approx(np.outer(sources[:, 0], model.mixing_[:, 0]), rel=1e-6, abs=1e-12)
    whole = ica.apply(recording.copy(), exclude=[]).get_data()
    assert whole == pytest.approx(recording.get_data(), rel=1e-9, abs=1e-15)


@pytest.mark.extras
def test_a_saved_ica_comes_back(mne: Any, recording: Any, model: latens.NoisyICA, tmp_path: Path) -> None:
    ica = to_mne_ica(model, recording.info)
    ica.exclude = [1]
    ica.save(tmp_path / "sources-ica.fif")
    again = mne.preprocessing.read_ica(tmp_path / "sources-ica.fif")
    assert again.method == "latens"
    assert again.n_components_ == model.n_components_
    assert again.apply(recording.copy()).get_data() == pytest.approx(ica.apply(recording.copy()).get_data(), rel=1e-9)
    assert "latens" in repr(again)


@pytest.mark.extras
def test_its_pictures_are_drawn(mne: Any, recording: Any, model: latens.NoisyICA) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ica = to_mne_ica(model, recording.info)
    plain = recording.copy().set_annotations(None)
    with mne.viz.use_browser_backend("matplotlib"):
        figures = [
            ica.plot_components(show=False),
            ica.plot_sources(plain, show=False),
            ica.plot_overlay(plain, exclude=[0], show=False),
            *ica.plot_properties(plain, picks=[0], show=False),
        ]
    assert all(figure is not None for figure in figures)
    plt.close("all")


@pytest.mark.extras
def test_it_works_inside_an_unsupervised_spatial_filter(mne: Any, recording: Any) -> None:
    epochs = mne.make_fixed_length_epochs(recording.copy().set_annotations(None), duration=2.0, preload=True)
    x = epochs.get_data(picks="data")
    spatial = mne.decoding.UnsupervisedSpatialFilter(latens.NoisyICA(3, random_state=0), average=False)
    sources = spatial.fit_transform(x)
    assert sources.shape == (4, 3, 200)
    back = spatial.inverse_transform(sources)
    assert np.corrcoef(back.ravel(), x.ravel())[0, 1] > 0.9


@pytest.mark.extras
def test_channels_that_do_not_fit_are_refused_with_the_remedy(mne: Any, recording: Any, model: latens.NoisyICA) -> None:
    with pytest.raises(ValueError, match=r"the model has 10 columns, info has 4 channels.*give mne.pick_info"):
        to_mne_ica(model, mne.create_info(4, 100.0, "eeg"))
    with pytest.raises(TypeError, match=r"got FactorAnalysis; expected a fitted latens.NoisyICA"):
        to_mne_ica(latens.FactorAnalysis(), recording.info)
    with pytest.raises(ValueError, match="not fitted; call fit"):
        to_mne_ica(latens.NoisyICA(), recording.info)


def test_a_missing_package_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(__import__("sys").modules, "mne", raising=False)
    real = builtins.__import__

    def absent(name: str) -> Any:
        if name.partition(".")[0] == "mne":
            raise ModuleNotFoundError("No module named 'mne'", name="mne")
        return real(name)

    monkeypatch.setattr("latens.system.optional_imports.import_module", absent)
    with pytest.raises(ImportError, match=r"needs mne: pip install 'latens\[mne\]'"):
        from_mne(None)
    with pytest.raises(ImportError, match=r"needs mne: pip install 'latens\[mne\]'"):
        to_mne_ica(latens.NoisyICA(), None)
