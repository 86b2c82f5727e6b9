"""The estimator of noisy ICA: what it finds, what it takes, what it answers and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.core import Rows
from latens.errors import LooksTransposed, SourcesTooLight
from latens.estimators.fitted_parts import fitted_parts
from latens.estimators.noisy_ica.estimator import NoisyICA
from latens.estimators.noisy_ica.starts import factor_starts, likely_number, supported_number
from latens.metrics import amari_distance, match_components, source_correlation
from tests.estimators.conventions.verdict import complaints

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

QUICK: dict[str, Any] = {"max_iter": 60, "tol": 1e-4, "random_state": 0}


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, Any]:
    return latens.datasets.make_ica(600, 8, 3, snr=15, noise="unequal", random_state=21)


@pytest.fixture(scope="module")
def fitted(data: tuple[np.ndarray, Any]) -> NoisyICA:
    return NoisyICA(5, tol=1e-7, random_state=0).fit(data[0])  # settled: noises are the last to be


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"prior": "ml", "n_components": 1}], ids=["ard", "ml"])
def test_scikit_learn_finds_no_fault(options: dict[str, Any]) -> None:
    assert complaints(NoisyICA(**{**QUICK, **options})) == []


def test_the_sources_and_their_number_are_found(data: tuple[np.ndarray, Any], fitted: NoisyICA) -> None:
    X, truth = data
    assert fitted.n_components_ == 3
    assert fitted.mixing_.shape == (8, 3)
    assert amari_distance(fitted.unmixing_, truth.mixing) < 0.05
    assert np.all((fitted.tails_ > 1.5) & (fitted.tails_ < 6))
    match = match_components(fitted.mixing_.T, truth.mixing.T, signed=True)
    assert match.found(0.99) == 3
    scale = np.linalg.norm(fitted.mixing_[:, match.index], axis=0) / np.linalg.norm(truth.mixing, axis=0)
    assert scale == pytest.approx(1, abs=0.1)
    factors = latens.FactorAnalysis(3).fit(X)  # what the covariance alone says of the noise
    assert fitted.noise_variance_ == pytest.approx(factors.noise_variance_, rel=0.35)


def test_published_sources_have_unit_variance_and_a_sign(data: tuple[np.ndarray, Any], fitted: NoisyICA) -> None:
    mean, std = fitted.transform(data[0], return_std=True)
    assert np.mean(mean**2 + std**2, axis=0) == pytest.approx(1, rel=0.02)
    assert np.all(fitted.mixing_[np.argmax(np.abs(fitted.mixing_), axis=0), np.arange(3)] > 0)
    assert fitted.unmixing_ @ fitted.mixing_ == pytest.approx(np.eye(3), abs=1e-10)
    assert np.all(np.diff(np.sum(fitted.mixing_**2, axis=0)) <= 0)
    with pytest.warns(FutureWarning, match=r"write unmixing_ for the former or mixing_\.T for the latter"):
        assert np.array_equal(fitted.components_, fitted.unmixing_)
    nearest = (data[0] - fitted.mean_) @ fitted.unmixing_.T
    assert min(np.corrcoef(nearest[:, k], mean[:, k])[0, 1] for k in range(3)) > 0.98


def test_uncertainty_of_the_sources_is_honest(data: tuple[np.ndarray, Any], fitted: NoisyICA) -> None:
    X, truth = data
    match = match_components(fitted.mixing_.T, truth.mixing.T, signed=True)
    mean, std = (part[:, match.index] for part in fitted.transform(X, return_std=True))
    inside = np.abs(mean * match.sign - truth.sources) < 1.96 * std
    assert 0.85 < inside.mean() < 0.995


def test_sources_can_be_left_out_of_a_reconstruction(data: tuple[np.ndarray, Any], fitted: NoisyICA) -> None:
    codes = fitted.transform(data[0])
    whole = fitted.inverse_transform(codes)
    assert whole == pytest.approx(codes @ fitted.mixing_.T + fitted.mean_, rel=1e-10, abs=1e-10)
    without = fitted.inverse_transform(codes, exclude=[1])
    assert whole - without == pytest.approx(np.outer(codes[:, 1], fitted.mixing_[:, 1]), abs=1e-10)
    with pytest.raises(ValueError, match="exclude=3 is too large: sources are numbered from 0; choose at most 2"):
        fitted.inverse_transform(codes, exclude=[3])


def test_draws_look_like_the_model(fitted: NoisyICA) -> None:
    rows, codes = fitted.sample(2000)
    gap = rows - fitted.mean_ - codes @ fitted.mixing_.T
    assert gap.var(axis=0) == pytest.approx(fitted.noise_variance_, rel=0.6)
    draws = fitted.sample_posterior(200)
    assert draws["mixing"].mean(axis=0) == pytest.approx(fitted.mixing_, abs=0.05 * np.abs(fitted.mixing_).max())


def test_missing_entries_and_whole_rows_are_bridged(data: tuple[np.ndarray, Any]) -> None:
    X, truth = data
    rng = np.random.default_rng(2)
    gappy = X.copy()
    gappy[rng.random(X.shape) < 0.15] = np.nan
    gappy[100:140] = np.nan
    model = NoisyICA(5, random_state=0).fit(gappy)
    assert model.n_components_ == 3
    assert amari_distance(model.unmixing_, truth.mixing) < 0.06
    filled, std = model.impute(gappy, return_std=True)
    hole = np.isnan(gappy) & ~np.isnan(gappy).all(axis=1, keepdims=True)
    assert np.array_equal(filled[~np.isnan(gappy)], gappy[~np.isnan(gappy)])
    error = filled[hole] - X[hole]
    assert np.mean(error**2) < 0.3 * np.mean((X - X.mean(axis=0))[hole] ** 2)
    assert 0.88 < np.mean(np.abs(error) < 1.96 * std[hole]) < 0.99
    mean, spread = model.transform(gappy, return_std=True)
    assert mean[120] == pytest.approx(0, abs=1e-8)
    assert np.all(spread[120] > 3 * np.median(spread, axis=0))
    rest = NoisyICA(5, random_state=0).fit(np.delete(gappy, np.arange(100, 140), axis=0))
    assert model.elbo_ == pytest.approx(rest.elbo_, rel=1e-6)


def test_sub_gaussian_sources_get_two_levels() -> None:
    X, truth = latens.datasets.make_ica(1000, 8, 3, sources=["uniform", "student", "uniform"], snr=15, random_state=5)
    model = NoisyICA(3, random_state=0).fit(X)
    match = match_components(model.mixing_.T, truth.mixing.T, signed=True)
    assert (model.levels_[match.index] > 0).tolist() == [True, False, True]
    assert np.isinf(model.tails_[match.index]).tolist() == [True, False, True]
    assert amari_distance(model.unmixing_, truth.mixing) < 0.05
    with pytest.warns(SourcesTooLight, match=r"2 of 3 sources have lighter tails.*try sources='auto'"):
        heavy = NoisyICA(3, sources="heavy-tailed", random_state=0).fit(X)
    assert model.elbo_ > heavy.elbo_ + 50


def test_a_wrong_kind_of_source_is_exchanged_by_the_bound() -> None:
    X, _ = latens.datasets.make_ica(1000, 6, 2, sources="uniform", snr=15, random_state=6)
    start = NoisyICA(2, random_state=0)
    start._lights = lambda model, sources: np.zeros(2, dtype=bool)  # type: ignore[method-assign]
    assert np.all(start.fit(X).levels_ > 0)


def test_mean_field_finds_the_sources_too(data: tuple[np.ndarray, Any], fitted: NoisyICA) -> None:
    X, truth = data
    model = NoisyICA(3, covariance="diagonal", random_state=0).fit(X)
    assert amari_distance(model.unmixing_, truth.mixing) < 0.08
    assert np.all(
        model.transform(X, return_std=True)[1].mean(axis=0)
        < fitted.transform(X, return_std=True)[1].mean(axis=0) * 1.05
    )
    with pytest.raises(ValueError, match="needs covariance='full'"):
        NoisyICA(3, covariance="diagonal", sources="sub-gaussian").fit(X)


def test_sources_held_with_their_scales_keep_their_tails_in_noise() -> None:
    X, truth = latens.datasets.make_ica(800, 12, 3, snr=0, tails=3.0, noise="unequal", random_state=0)
    options = {"sources": "heavy-tailed", "moves": False, "prune": False, "random_state": 0}
    full = NoisyICA(3, **options).fit(X)
    joint = NoisyICA(3, covariance="scale-mixture", **options).fit(X)
    assert np.all(np.diff(joint.elbo_history_) > -1e-7 * abs(joint.elbo_))
    assert np.median(np.abs(np.log(joint.tails_ / 3))) < 0.3 < np.median(np.abs(np.log(full.tails_ / 3)))
    assert joint.elbo_ > full.elbo_ + 30
    assert source_correlation(joint.transform(X), truth.sources) > 0.9
    with pytest.raises(ValueError, match="needs covariance='full'"):
        NoisyICA(3, covariance="scale-mixture", sources="sub-gaussian").fit(X)


def test_average_referenced_data_lose_a_rank_and_nothing_else(data: tuple[np.ndarray, Any]) -> None:
    X, truth = data
    X = X - X.mean(axis=1, keepdims=True)
    model = NoisyICA(None, random_state=0).fit(X)
    mixing = truth.mixing - truth.mixing.mean(axis=0)
    assert model.n_components_ >= 3  # noise that sensors share by the reference may count as a source
    assert match_components(model.mixing_.T, mixing.T, signed=True).found(0.98) == 3
    full = NoisyICA(8, random_state=0, max_iter=60).fit(X)
    assert np.isfinite(full.elbo_)
    assert np.isfinite(full.transform(X)).all()


@pytest.mark.parametrize("unit", [1e-13, 1e150, 2.0**-40])
@pytest.mark.slow
def test_the_unit_of_measurement_changes_nothing(data: tuple[np.ndarray, Any], unit: float) -> None:
    X, _ = data
    options: dict[str, Any] = {"n_components": 3, "tol": 1e-9, "max_iter": 2000, "random_state": 0}
    fitted, tesla = NoisyICA(**options).fit(X), NoisyICA(**options).fit(unit * X)
    assert tesla.n_components_ == fitted.n_components_
    assert tesla.mixing_ / unit == pytest.approx(fitted.mixing_, rel=1e-4, abs=1e-4)
    # the origin lies on a grid of the unit, and means are shrunk towards it by a hair
    assert tesla.noise_variance_ / unit / unit == pytest.approx(fitted.noise_variance_, rel=1e-3)
    assert tesla.transform(unit * X) == pytest.approx(fitted.transform(X), abs=1e-3)
    assert tesla.elbo_ + X.size * np.log(unit) == pytest.approx(fitted.elbo_, abs=0.05)
    assert tesla.score(unit * X) + 8 * np.log(unit) == pytest.approx(fitted.score(X), abs=1e-4)


def test_single_precision_comes_close(data: tuple[np.ndarray, Any], fitted: NoisyICA) -> None:
    X = data[0].astype(np.float32)
    model = NoisyICA(5, random_state=0).fit(X)
    assert model.transform(X).dtype == np.float32
    assert model.n_components_ == 3
    assert model.mixing_ == pytest.approx(fitted.mixing_, abs=0.02 * np.abs(fitted.mixing_).max())


def test_a_stream_comes_close_to_the_whole(data: tuple[np.ndarray, Any]) -> None:
    X, truth = latens.datasets.make_ica(2000, 8, 3, snr=15, random_state=7)
    model = NoisyICA(3, random_state=0)
    for batch in np.array_split(X, 5):
        model.partial_fit(batch)
    whole = NoisyICA(3, random_state=0).fit(X)
    assert amari_distance(model.unmixing_, truth.mixing) < 1.5 * amari_distance(whole.unmixing_, truth.mixing) + 0.01
    assert model.score(X) > whole.score(X) - 0.05


def test_weights_are_repetitions(data: tuple[np.ndarray, Any]) -> None:
    X = data[0][:200]
    times = np.random.default_rng(3).integers(0, 3, 200)
    one = NoisyICA(3, **QUICK).fit(X, sample_weight=times.astype(float))
    two = NoisyICA(3, **QUICK).fit(np.repeat(X, times, axis=0))
    assert one.elbo_ == pytest.approx(two.elbo_, rel=1e-8)
    assert one.mixing_ == pytest.approx(two.mixing_, abs=1e-6)


def test_scores_are_row_bounds_and_add_up(data: tuple[np.ndarray, Any], fitted: NoisyICA) -> None:
    assert fitted.score_is_bound_
    scores = fitted.score_samples(data[0])
    assert scores.shape == (600,)
    far = fitted.score_samples(data[0][:1] + 100.0)
    assert far[0] < scores.min()


@pytest.mark.parametrize("options", [{}, {"prior": "ml"}, {"sources": "sub-gaussian"}, {"fit_intercept": False}])
def test_files_bring_back_every_bit(data: tuple[np.ndarray, Any], options: dict[str, Any], tmp_path: Path) -> None:
    X = data[0].copy()
    X[3, 2] = np.nan
    model = NoisyICA(3, **{**QUICK, "max_iter": 10, **options}).fit(X)
    latens.save(model, tmp_path / "model.latens")
    again = latens.load(tmp_path / "model.latens")
    assert np.array_equal(again.transform(X), model.transform(X))
    assert np.array_equal(again.partial_fit(X).mixing_, model.partial_fit(X).mixing_)


def test_what_looks_transposed_is_warned_about() -> None:
    X, _ = latens.datasets.make_ica(300, 8, 2, random_state=0)
    with pytest.warns(LooksTransposed, match=r"8 rows, 300 columns: rows must be time points; did you mean X\.T\?"):
        NoisyICA(2, **QUICK).fit(X.T)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 9}, "n_components=9 is too large: X has 8 columns; choose at most 8"),
        ({"prior": "flat"}, "prior='flat' is not known; choose one of 'ard', 'ml'"),
        ({"sources": "loud"}, "sources='loud' is not known"),
        ({"covariance": "tied"}, "covariance='tied' is not known"),
        ({"fit_intercept": 1}, "fit_intercept=1 is neither True nor False"),
        ({"prior": "ml"}, "n_components=None needs prior='ard'"),
        ({"init": np.ones((2, 3))}, r"init has shape \(2, 3\); expected finite values of shape \(2, 8\)"),
    ],
)
def test_what_cannot_be_is_refused(data: tuple[np.ndarray, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NoisyICA(**{**QUICK, **options}).fit(data[0])


def test_a_given_mixing_is_where_it_starts(data: tuple[np.ndarray, Any]) -> None:
    X, truth = data
    model = NoisyICA(init=truth.mixing.T, **QUICK).fit(X)
    assert model.n_components_ == 3
    assert amari_distance(model.unmixing_, truth.mixing) < 0.05


def test_without_an_intercept_zero_stays_zero(data: tuple[np.ndarray, Any]) -> None:
    model = NoisyICA(3, fit_intercept=False, **QUICK).fit(data[0])
    assert np.all(model.mean_ == 0)
    shifted = NoisyICA(3, **QUICK).fit(data[0] + 1e4)
    assert shifted.mean_ == pytest.approx(data[0].mean(axis=0) + 1e4, rel=1e-3)


@pytest.mark.parametrize("seed", [100, 101])
@pytest.mark.slow
def test_sources_that_the_covariance_shows_are_not_given_up(seed: int) -> None:
    """Laplace sources at -5 dB look Gaussian to the bound, which would rather have two of them."""
    X, truth = latens.datasets.make_ica(2000, 16, 4, sources="laplace", snr=-5.0, random_state=seed)
    model = NoisyICA(4, random_state=seed).fit(X)
    assert model.n_components_ == 4
    assert latens.metrics.source_correlation(model.transform(X), truth.sources) > 0.62
    assert NoisyICA(8, random_state=seed).fit(X).n_components_ == 4


def test_the_number_that_a_covariance_shows() -> None:
    X, _ = latens.datasets.make_ica(2000, 16, 4, snr=0.0, random_state=3)
    assert supported_number(Rows(X), 10) == 4
    assert supported_number(Rows(X), 2) == 2
    assert supported_number(Rows(np.random.default_rng(0).normal(size=(500, 6))), 5) == 1
    seen = np.random.default_rng(1).random(X.shape) > 0.02
    assert supported_number(Rows(np.where(seen, X, 0.0), seen), 10) == 4
    seen[:, 0] = np.arange(len(X)) < 10  # too few complete rows to say anything
    assert supported_number(Rows(np.where(seen, X, 0.0), seen), 10) == 1


def test_a_search_begins_with_one_source_more_than_the_covariance_shows_or_with_all_where_it_cannot_tell() -> None:
    X, _ = latens.datasets.make_ica(800, 10, 3, snr=10, noise="unequal", random_state=0)
    assert likely_number(Rows(X), 10) == 4
    assert likely_number(Rows(X), 2) == 2
    square, _ = latens.datasets.make_ica(800, 4, 4, snr=20, random_state=0)
    assert likely_number(Rows(square), 4) == 4
    seen = np.random.default_rng(1).random(X.shape) < 0.3
    assert likely_number(Rows(np.where(seen, X, 0.0), seen), 10) == 10
    assert NoisyICA(random_state=0).fit(X).n_components_ == 3


def test_few_rows_of_many_sensors_start_without_products_of_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = latens.datasets.make_ica(30, 60, 2, snr=10, noise="unequal", random_state=0)
    rng = np.random.default_rng
    by_pairs = factor_starts(Rows(np.concatenate([X, X, X])), 2, rng(0), "independent")[0]
    monkeypatch.setattr("latens.estimators.noisy_ica.starts.summed", None)
    by_rows = factor_starts(Rows(X), 2, rng(0), "independent")[0]
    assert np.abs(by_rows[0]) == pytest.approx(np.abs(by_pairs[0]), abs=1e-3)
    assert by_rows[1] == pytest.approx(by_pairs[1], rel=1e-3)
    assert supported_number(Rows(X), 4) == 2


def test_of_more_sources_than_a_covariance_shows_the_two_weakest_may_vanish() -> None:
    """Of five sensors it shows two: a third and further ones are there for their shapes alone."""
    x = np.random.default_rng(0).standard_t(3, size=(300, 5))
    for k, n_fading in ((2, 0), (5, 2)):
        model = latens.NoisyICA(k, moves=False, prune=False, random_state=0).fit(x)
        parts = fitted_parts(model)
        fading = parts.model.fading(parts.state.q, parts.state.stats)
        strength = parts.model.strength(parts.state.q)
        assert fading.sum() >= n_fading
        if n_fading:
            assert fading[np.argsort(strength)[:n_fading]].all()
        else:
            assert not fading[strength >= 2].any()


@pytest.mark.parametrize("value", [3.3, -1 / 3, 1e-4])
def test_a_dead_channel_changes_nothing_wherever_it_stands(value, tmp_path):
    x, _ = latens.datasets.make_ica(400, 6, 2, snr=10, random_state=0)
    silent, dead = (np.column_stack([x, np.full(len(x), level)]) for level in (0.0, value))
    at_zero, model = (latens.NoisyICA(3, random_state=0).fit(rows) for rows in (silent, dead))  # ElboDecreased fails
    assert model.mean_[-1] == value
    np.testing.assert_array_equal(model.mixing_[-1], 0.0)
    np.testing.assert_array_equal(model.transform(dead), at_zero.transform(silent))
    assert model.elbo_ == at_zero.elbo_
    alive = dead + np.array([0.0] * 6 + [1e-3])
    np.testing.assert_allclose(model.transform(alive), model.transform(dead))
    np.save(tmp_path / "dead.npy", dead)
    scanned = latens.NoisyICA(3, random_state=0).fit(latens.scan(tmp_path / "dead.npy", block_rows=150))
    assert scanned.mean_[-1] == value
    assert scanned.elbo_ == pytest.approx(model.elbo_, abs=1e-6)
    dead[::7, -1] = np.nan
    assert latens.NoisyICA(3, random_state=0).fit(dead).mean_[-1] == value
