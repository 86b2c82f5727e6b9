"""New samples on a published MOFA2 model: its factors are found from any of their views, without a refit.

Weights and levels are taken as known. The noise of Gaussian views is not always in such a file: it is then what the
factors leave of the data that the file holds. Bernoulli views have MOFA2's logistic link, counts its softplus.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.array import Floats
from latens.array.transfer import host
from latens.core import Rows
from latens.estimators.multi_view.findings import with_groups
from latens.estimators.multi_view.tables.output import as_given, filled
from latens.estimators.multi_view.tables.wide import WideTable, lay_out
from latens.families.gamma import Gamma
from latens.families.known_gamma import KnownGamma
from latens.families.offsets import Offsets
from latens.families.spike_slab import SpikeSlab
from latens.inference.local_fixed_point import local_fixed_point
from latens.models.likelihoods.bernoulli import Bernoulli
from latens.models.likelihoods.gaussian import Gaussian
from latens.models.likelihoods.interface import Likelihood
from latens.models.likelihoods.softplus_poisson import SoftplusPoisson
from latens.models.multi_view.coefficients import ViewPosterior
from latens.models.multi_view.model import MultiView, MultiViewPosterior
from latens.models.multi_view.view import View

if TYPE_CHECKING:
    from latens.interop.mofa2_reading import Mofa2Model

__all__ = ["impute", "transform"]

LIKELIHOODS: dict[str, Callable[[], Likelihood]] = {
    "gaussian": Gaussian,
    "bernoulli": Bernoulli,
    "poisson": SoftplusPoisson,
}
LEAST_NOISE = 1e-6  # of the variance of a feature


def transform(model: Mofa2Model, X: Any, return_std: bool, groups: Any) -> Any:
    """Factor values (n, K) of new samples, and their standard deviations."""
    views, q = _known(model)
    rows = _read(model, views, q, X, groups).rows
    local = views.curved(q, rows, local_fixed_point(views, q, rows))
    mean, variance = views.codes(rows, local)
    return (mean, np.sqrt(variance)) if return_std else mean


def impute(model: Mofa2Model, X: Any, return_std: bool, groups: Any) -> Any:
    """All views of new samples with what is missing filled in, and the standard deviations of that."""
    views, q = _known(model)
    table = _read(model, views, q, X, groups)
    mean, variance = views.impute(q, table.rows, local_fixed_point(views, q, table.rows))
    wide = [filled(table.rows, mean), filled(table.rows, np.sqrt(variance), spread=True)]
    answers = [as_given(part, model.layout_, X, table.row_names) for part in wide[: 1 + return_std]]
    return tuple(answers) if return_std else answers[0]


def _read(model: Mofa2Model, views: MultiView, q: MultiViewPosterior, X: Any, groups: Any) -> WideTable:
    """New samples as the wide table of the model; those of unknown group are put into the likeliest."""
    table = lay_out(X, groups=groups, layout=model.layout_)
    table = replace(table, rows=replace(table.rows, weight=None))
    if not model.layout_.groups:
        return table
    sizes = np.bincount(model.group_of_, minlength=len(model.layout_.groups)).astype(float)

    def bounds(rows: Rows) -> Any:
        return views.row_bounds(q, rows, local_fixed_point(views, q, rows))

    return replace(table, rows=with_groups(table.rows, sizes, bounds))


def _known(model: Mofa2Model) -> tuple[MultiView, MultiViewPosterior]:
    """The model of the file, and its posterior with all mass at what the file says."""
    k, n_groups = model.n_components_, max(1, len(model.layout_.groups))
    views, posteriors, start = [], {}, 0
    for name in model.layout_.views:
        w, level, kind = model.components_[name].T, model.intercepts_[name].T, model.likelihoods_[name]
        if kind not in LIKELIHOODS:
            raise ValueError(f"view {name!r} is {kind}, which MOFA2 does not have; its samples cannot be projected.")
        if kind == "poisson" and name in model.inclusion_:
            raise ValueError(
                f"view {name!r} holds counts with the logarithmic link of latens, of which a file of MOFA2 does not "
                "tell everything; save the model with latens.save, and ask latens.load(path)."
            )
        noise = _noise(model, name) if kind == "gaussian" else np.ones(len(w))
        views.append(View(name, start, start + len(w), LIKELIHOODS[kind]()))
        weights = SpikeSlab(np.ones_like(w), w, np.zeros_like(w), np.ones(k))
        posteriors[name] = ViewPosterior(
            weights, Offsets(level, np.zeros_like(level)), Gamma(np.ones(k), np.ones(k)), None, KnownGamma(1 / noise)
        )
        start += len(w)
    activity = np.ones((n_groups, k))
    if n_groups > 1:  # a factor may be strong in one group and weak in another
        squares = [np.mean(model.scores_[model.group_of_ == g] ** 2, axis=0) for g in range(n_groups)]
        activity = 1 / np.maximum(np.stack(squares), 1e-6)
    return MultiView(tuple(views), n_groups), MultiViewPosterior(posteriors, KnownGamma(activity))


def _noise(model: Mofa2Model, view: str) -> Floats:
    """(D,), variance of the noise of a Gaussian view: that of the file, or what factors leave of its data."""
    if view in model.noise_variance_:
        return np.asarray(model.noise_variance_[view])
    if view not in model.data_:
        raise ValueError(
            f"the file has neither the noise of view {view!r} nor its data, from which it could be estimated; save "
            "the model with its data (MOFA2: save_data = TRUE)."
        )
    data = host(model.data_[view])
    left = data - model.scores_ @ model.components_[view] - model.intercepts_[view][model.group_of_]
    usual = np.nanvar(data, axis=0)
    noise = np.maximum(np.nanmean(left**2, axis=0), LEAST_NOISE * np.where(usual > 0, usual, 1.0))
    # factor values are uncertain, and what is left of the data is the less for it
    w = model.components_[view]
    spread = np.linalg.inv(np.eye(len(w)) + (w / noise) @ w.T)
    return np.asarray(noise + np.einsum("kd,kl,ld->d", w, spread, w))
