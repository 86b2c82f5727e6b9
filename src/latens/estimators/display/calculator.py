"""A fitted model as plain numbers, small enough for a page: what it takes to answer `transform` for one row.

Rows enter in model units, x = (value - origin) / scale, and entries that are not known drop out:

    codes       z = (P + sum_d G_d)^-1 sum_d (pull_d x_d - shift_d)                       factors, Gaussian views
    switches    log q(s) = odds's + sum_d (pull_d x_d - shift_d)'s - 1/2 s'(sum_d G_d) s + const, s in {0, 1}^K
    causes      the noisy-OR of `latens.array.kernels.noisy_or.states` over all states
    clusters    log q(k) = level_k + sum_d (a_dk + b_dk x_d + c_dk x_d^2), or a number for each level of column d
    joint       log q(k) = level_k - 1/2 (log |S_oo| + (x_o - m_o)'S_oo^-1 (x_o - m_o)), o the known entries
    regression  intercept + coef'value

Sums run over the known entries; symmetric matrices are their upper triangles, row by row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latens.array import Floats
from latens.array.linalg import log_determinant
from latens.array.packed_symmetric import pair_places, upper
from latens.core import Rows
from latens.estimators.multi_view.units import signs
from latens.models.binary_factors.model import BinaryFactors
from latens.models.factor_analysis.model import Factors
from latens.models.likelihoods.gaussian import Gaussian
from latens.models.mixture.features import look
from latens.models.mixture.model import Mixture
from latens.models.multi_view.model import MultiView
from latens.models.noisy_or.model import NoisyOrCauses

__all__ = ["calculator_of"]

MOST_SWITCHES = 10  # causes whose states are listed


def calculator_of(estimator: Any) -> dict[str, Any] | None:
    """Plain lists, numbers and texts; None where a model has no short answer."""
    check_is_fitted(estimator)
    model, q = estimator._model, estimator.posterior_
    match model:
        case Factors():
            w = q.loadings
            pull = (w.tau * w.mean).T
            return _codes(estimator, np.eye(q.n_components), w.grams, pull, pull * q.center[:, None])
        case BinaryFactors() if model.exact_local(q) and q.n_components <= MOST_SWITCHES:
            return _switches(estimator)
        case NoisyOrCauses() if model.exact_local(q) and q.n_components <= MOST_SWITCHES:
            return _causes(estimator)
        case Mixture() if q.clusters.joint:
            return _joint(estimator)
        case Mixture() if not getattr(q.clusters, "curved", None) and not estimator._is_exposed:
            return _clusters(estimator)
        case MultiView() if _is_plain(estimator):
            return _views(estimator)
    return None


def _head(estimator: Any, kind: str, names: Any = None) -> dict[str, Any]:
    """What all have: kind, columns, and from data units to those of the model."""
    units = estimator._units
    names = estimator._feature_names() if names is None else names
    scale = np.broadcast_to(np.asarray(units.scale, dtype=float), units.origin.shape)
    cut = getattr(estimator, "binarize", None)
    return {
        "kind": kind,
        "columns": [str(name) for name in names],
        "origin": _floats(units.origin),
        "scale": _floats(scale),
        "cut": None if cut is None else float(cut),
        "k": int(estimator.n_components_),
    }


def _floats(values: Any) -> list[float]:
    return [float(value) for value in np.ravel(np.asarray(values, dtype=float))]


def _codes(estimator: Any, prior: Floats, grams: Floats, pull: Floats, shift: Floats, **head: Any) -> dict[str, Any]:
    """From Grams (D, K, K), pulls and shifts (D, K)."""
    return _head(estimator, "codes", **head) | {
        "prior": _floats(upper(prior[None])),
        "gram": _floats(upper(grams)),
        "pull": _floats(pull),
        "shift": _floats(shift),
    }


def _switches(estimator: Any) -> dict[str, Any]:
    q = estimator.posterior_
    k, w = q.n_components, q.loadings
    grams = w.grams
    shift = grams[:, :k, k] if len(w.mean) > k else np.zeros((len(grams), k))
    log_on, log_off = q.usage.mean_log
    linear = _codes(estimator, np.zeros((k, k)), grams[:, :k, :k], (w.tau * w.mean).T[:, :k], shift)
    return linear | {"kind": "switches", "odds": _floats(log_on - log_off)}


def _causes(estimator: Any) -> dict[str, Any]:
    effects = estimator.posterior_.expected
    parts = ("profile", "odds", "theta", "leak", "dark", "dark_leak")
    return _head(estimator, "causes") | {name: _floats(getattr(effects, name)) for name in parts}


def _joint(estimator: Any) -> dict[str, Any]:
    q = estimator.posterior_
    clusters = q.clusters
    k, d = clusters.mean.shape
    covariance = np.broadcast_to(clusters.covariance, (k, d, d))
    level = q.weights.mean_log + 0.5 * (clusters.log_det + log_determinant(covariance) - d / clusters.strength)
    return _head(estimator, "joint") | {
        "level": _floats(level),
        "mean": _floats(clusters.mean),
        "covariance": _floats(upper(covariance)),
    }


def _clusters(estimator: Any) -> dict[str, Any]:
    """What each column alone says for each cluster, by asking about single entries."""
    q, kinds = estimator.posterior_, getattr(estimator, "columns_", None)
    k, d = q.clusters.mean.shape
    table: list[Any] = [None] * d
    curve = np.zeros((3, d, k))  # a, b and c
    for column in range(d):
        levels = () if kinds is None else kinds.levels[column]
        if kinds is not None and levels:
            densities = _log_densities(q.clusters, d, column, np.arange(float(len(levels))))
            names = [kinds.level_name(column, i) for i in range(len(levels))]
            table[column] = {"values": [float(level) for level in levels], "names": names, "said": _floats(densities)}
            continue
        at_0, at_1, below = _log_densities(q.clusters, d, column, np.array([0.0, 1.0, -1.0]))
        curve[:, column] = at_0, 0.5 * (at_1 - below), 0.5 * (at_1 + below) - at_0
    return _head(estimator, "clusters") | {
        "level": _floats(q.weights.mean_log),
        "curve": _floats(curve),
        "table": table,
    }


def _log_densities(clusters: Any, d: int, column: int, values: Floats) -> Floats:
    """(m, K), E[log p] of single entries."""
    x, seen = np.zeros((len(values), d)), np.zeros((len(values), d), dtype=bool)
    x[:, column], seen[:, column] = values, True
    return np.asarray(look(clusters, np.zeros(len(clusters.mean)), Rows(x, seen))[0])


def _is_plain(estimator: Any) -> bool:
    """Whether codes are normal given a row of numbers and nothing else."""
    layout, model = estimator.layout_, estimator._model
    gaussian = all(isinstance(view.likelihood, Gaussian) for view in model.views)
    return gaussian and not layout.groups and not layout.precise and estimator.posterior_.usage is None


def _views(estimator: Any) -> dict[str, Any]:
    q, layout = estimator.posterior_, estimator.layout_
    k, sign = q.n_components, signs(q)
    places = pair_places(k + 1)  # of products of the codes and of 1
    pairs = np.concatenate([q.views[name].noise.mean[:, None] * q.views[name].pairs for name in layout.views])
    pull = np.concatenate([q.views[name].scaled[:, :k] for name in layout.views])
    grams = pairs[:, places[:k, :k]] * sign[:, None] * sign
    names = [f"{view}: {name}" for view, own in zip(layout.views, layout.features, strict=True) for name in own]
    names = list(layout.features[0]) if len(layout.views) == 1 else names
    prior = np.diag(q.activity.mean[0])
    return _codes(estimator, prior, grams, pull * sign, pairs[:, places[:k, k]] * sign, names=names)
