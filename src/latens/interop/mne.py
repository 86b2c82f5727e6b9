"""Recordings of MNE-Python as rows, and sources of noisy ICA as its ICA object.

An ICA of MNE divides each channel by a number, then has orthonormal directions P and a square matrix U:

    sources = U P_K (x / c - mean),   maps = P_K' U^-1

With c the standard deviation of each channel's noise, the least-squares inverse that `unmixing_` is has exactly this
form, U P_K being the pseudoinverse of mixing / c. The other rows of P span the rest, which `apply` keeps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latens.array import Floats
from latens.estimators.fitted_parts import fitted_parts
from latens.estimators.noisy_ica.estimator import NoisyICA
from latens.system.optional_imports import require

__all__ = ["from_mne", "to_mne_ica"]


def from_mne(inst: Any, picks: Any = "data") -> Floats:
    """Rows of a recording: time x channels, in the units of MNE, with NaN where it is annotated as bad.

    Parameters
    ----------
    inst : mne.io.Raw or mne.Epochs
        The epochs follow one another.
    picks : str, list or slice
        Channels as MNE picks them; the default are all data channels that are not marked as bad.

    Returns
    -------
    ndarray of shape (n_times, n_channels)
        An annotation that begins with "bad" makes all channels of its span NaN, or only those that it names. Spans
        that NaN covers are as good as absent to every model, and `impute` and `inverse_transform` can fill them.

    Examples
    --------
    ::

        import latens, mne
        raw = mne.io.read_raw_fif("rest_raw.fif")
        model = latens.NoisyICA(20).fit(latens.interop.from_mne(raw))
    """
    mne = require("mne", "mne")
    if isinstance(inst, mne.BaseEpochs):
        epochs = inst.get_data(picks=picks)  # (epochs, channels, times)
        return np.ascontiguousarray(np.swapaxes(epochs, 1, 2).reshape(-1, epochs.shape[1]))
    if not isinstance(inst, mne.io.BaseRaw):
        raise TypeError(f"from_mne got {type(inst).__name__}; expected mne.io.Raw or mne.Epochs.")
    chosen = inst.copy().pick(picks, exclude="bads")
    data = np.array(chosen.get_data().T, dtype=float, order="C")
    columns = {name: j for j, name in enumerate(chosen.ch_names)}
    for names, spans in _bad_spans(chosen).items():
        which = np.array([columns[name] for name in names or columns if name in columns], dtype=int)
        data[np.ix_(np.flatnonzero(spans), which)] = np.nan
    return data


def to_mne_ica(model: NoisyICA, info: Any) -> Any:
    """Return an `mne.preprocessing.ICA` with the sources of a fitted model, for MNE's plots, files and `apply`.

    Parameters
    ----------
    model : NoisyICA
        Fitted to rows whose columns are channels of `info`.
    info : mne.Info
        Of the recording: its channels are those of the fit, or its data channels that are not marked as bad are.

    Returns
    -------
    mne.preprocessing.ICA
        Its sources are `(X - mean_) @ unmixing_.T`; `apply` with `exclude` takes out what those sources add to each
        channel, `mixing_`, and keeps all else, noise included. Its maps are in units of each channel's noise:
        `get_components() * pre_whitener_` is `mixing_`.

    Examples
    --------
    ::

        ica = latens.interop.to_mne_ica(model, raw.info)
        clean = ica.apply(raw.copy(), exclude=[0])
    """
    mne = require("mne", "mne")
    if not isinstance(model, NoisyICA):
        raise TypeError(f"to_mne_ica got {type(model).__name__}; expected a fitted latens.NoisyICA.")
    if not hasattr(model, "mixing_"):
        raise ValueError("this NoisyICA is not fitted; call fit with the rows of the recording first.")
    info = mne.pick_info(info, _channels(mne, model, info))
    parts = fitted_parts(model)
    noise = parts.units.leave_direction(1 / np.sqrt(model.posterior_.loadings.tau))  # as `unmixing_` weighs channels
    maps = model.mixing_ / noise[:, None]  # (D, K)
    k = maps.shape[1]
    basis, sizes, turn = np.linalg.svd(maps, full_matrices=True)
    ica = mne.preprocessing.ICA(n_components=k if k > 1 else None, method="fastica", fit_params={})
    ica.method, ica.fit_params = "latens", {}
    ica.info, ica.ch_names, ica.current_fit = info, list(info["ch_names"]), "raw"
    ica.pre_whitener_, ica.pca_mean_ = noise[:, None], model.mean_ / noise
    ica.pca_components_ = basis.T
    ica.unmixing_matrix_ = turn.T / sizes
    ica.pca_explained_variance_ = 1 + np.concatenate([sizes**2, np.zeros(len(noise) - k)])
    ica.n_components_, ica.n_pca_components = k, None
    ica.n_samples_, ica.n_iter_ = round(parts.state.stats.n), int(model.n_iter_)
    ica.reject_ = None
    ica._update_mixing_matrix()
    ica._update_ica_names()
    return ica


def _bad_spans(raw: Any) -> dict[tuple[str, ...], Floats]:
    """(n_times,) masks of what annotations call bad, by the channels that they name; none: all channels."""
    groups: dict[tuple[str, ...], set[int]] = {}
    for i, text in enumerate(raw.annotations.description):
        if text.lower().startswith("bad"):
            groups.setdefault(tuple(raw.annotations.ch_names[i]), set()).add(i)
    spans = {}
    for names, which in groups.items():
        probe = raw.copy()
        probe.annotations.delete([i for i in range(len(raw.annotations)) if i not in which])
        spans[names] = np.isnan(probe.get_data(picks=[0], reject_by_annotation="NaN")[0])
    return spans


def _channels(mne: Any, model: NoisyICA, info: Any) -> list[int]:
    """Which channels of `info` the columns of the fit were."""
    names, d = list(info["ch_names"]), len(model.mixing_)
    if hasattr(model, "feature_names_in_") and set(model.feature_names_in_) <= set(names):
        return [names.index(name) for name in model.feature_names_in_]
    if len(names) == d:
        return list(range(d))
    blank = mne.EvokedArray(np.zeros((len(names), 1)), info, verbose="error")
    good = [
        names.index(name) for name in blank.pick("data", exclude="bads").ch_names
    ]  # by the rule that `from_mne` picks them
    if len(good) != d:
        raise ValueError(
            f"the model has {d} columns, info has {len(names)} channels, {len(good)} of them good data channels; "
            "give mne.pick_info(info, picks) with the channels that the fit saw."
        )
    return good
