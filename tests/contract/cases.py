"""The contract table: one row per model. A new model adds its row here and gets every test of this folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from latens.core import Rows
from latens.families.gamma import Gamma
from latens.families.point_normal_gamma import PointNormalGamma
from latens.models.binary_factors.model import BinaryFactors, BinaryPosterior
from latens.models.binary_factors.posteriors import Automatic, Exact, MeanField, Truncated
from tests.contract.measurements import evidence
from tests.contract.models import class_cases, factor_cases, ica_cases, mixture_cases, noisy_or_cases, view_cases


@dataclass(frozen=True)
class Case:
    build: Callable[[int], Any]  # (d) -> Model
    start: Callable[..., Any]  # (model, k, x, rng) -> Q, away from the prior and from symmetry
    log_evidence: Callable[..., float]  # (model, q, rows) -> what the bound is below
    most_components: int = 2  # for which log_evidence is cheap
    points: bool = False  # whether the globals are point estimates, so that the evidence is a likelihood
    exact_rows: bool = False  # whether the row's posterior is exact given the globals
    hierarchical: bool = False  # whether a prior has a prior, so that q is not the prior even without data


def _start_binary(model: BinaryFactors, k: int, x: np.ndarray, rng: np.random.Generator) -> BinaryPosterior:
    q = model.prior(k)
    size = float(np.sqrt(np.mean(x**2)))
    mean = rng.normal(size=q.loadings.mean.shape) * size
    usage = q.usage.observe(rng.uniform(0.3, 2, k), rng.uniform(0.3, 2, k))
    if isinstance(q.loadings, PointNormalGamma):
        return BinaryPosterior(usage, replace(q.loadings, mean=mean, noise=np.full_like(q.loadings.noise, size**2)))
    weights = replace(q.loadings.weights, mean=mean, precision=q.loadings.weights.precision + 3 * np.eye(len(mean)))
    alpha = Gamma(rng.uniform(1, 3, len(mean)), rng.uniform(1, 3, len(mean)))
    return BinaryPosterior(usage, replace(q.loadings, weights=weights, alpha=alpha))


def binary(points: bool, e_step: Any, *, intercept: bool = False, diagonal: bool = False) -> Case:
    """One variant of `BinaryFactors`, with priors strong enough for their constants to matter."""
    return Case(
        build=lambda d: BinaryFactors(
            d,
            usage=(0.7, 1.2),
            noise=(2.3, 1.7),
            relevance=(2.4, 1.6),
            points=points,
            intercept=intercept,
            diagonal=diagonal,
            floor=1e-4,  # below it rounding of residuals shows: they come from sums of squares
            e_step=e_step,
        ),
        start=_start_binary,
        log_evidence=evidence.likelihood_at_the_point if points else evidence.binary_factors,
        most_components=1 if intercept and not points else 2,
        points=points,
        exact_rows=isinstance(e_step, Exact | Automatic),
        hierarchical=not points,
    )


STEPS = {"mean-field": MeanField(), "exact": Exact(), "truncated": Truncated(3), "auto": Automatic()}

CASES: dict[str, Case] = {
    **{f"binary-ml-{name}": binary(True, step) for name, step in STEPS.items()},
    **{f"binary-ard-{name}": binary(False, step) for name, step in STEPS.items()},
    **{
        f"binary-{prior}-{name}-{extra}": binary(prior == "ml", STEPS[name], **options)
        for prior in ("ml", "ard")
        for name, extra, options in [
            ("mean-field", "intercept", {"intercept": True}),
            ("mean-field", "diagonal", {"diagonal": True}),
            ("exact", "intercept", {"intercept": True}),
            ("exact", "diagonal", {"diagonal": True}),
            ("truncated", "intercept-diagonal", {"intercept": True, "diagonal": True}),
            ("mean-field", "intercept-diagonal", {"intercept": True, "diagonal": True}),
        ]
    },
    **{name: Case(**noisy_or_cases.options(**variant)) for name, variant in noisy_or_cases.VARIANTS.items()},
    **{name: Case(**noisy_or_cases.jensen_options(points)) for name, points in noisy_or_cases.JENSEN.items()},
    "factors-ml": Case(**factor_cases.options(points=True)),
    "factors-ard": Case(**factor_cases.options(points=False)),
    **{f"mixture-{kind}-{w}": Case(**mixture_cases.options(kind, w)) for kind, w in mixture_cases.GAUSSIAN},
    **{f"mixture-bernoulli-{w}": Case(**mixture_cases.binary_options(w)) for w in mixture_cases.WEIGHTS},
    **{name: Case(**class_cases.options(kinds)) for name, kinds in class_cases.VARIANTS.items()},
    **{name: Case(**ica_cases.options(**variant)) for name, variant in ica_cases.VARIANTS.items()},
    **{name: Case(**view_cases.options(**variant)) for name, variant in view_cases.VARIANTS.items()},
}

# point estimates that have no moves, and why
UNMOVED = {
    "factors-ml": "its moves are deletions, which a likelihood cannot judge",
    "ica-ml-heavy": "the same; sources as heavy as these are not tried with light tails",
}

# tests of `test_all_answers` that mean nothing for a case, and why
EXCUSED: dict[str, dict[str, str]] = {
    "test_the_predictive_density_adds_up_to_one_or_to_less_where_it_is_a_bound": {
        name: "an entry of a view is a count, or made of what another view was dealt: no grid of numbers lists them"
        for name in view_cases.VARIANTS
        if name not in ("views-gaussian", "views-binary")
    },
    "test_the_predictive_density_is_not_below_the_row_bound": {
        "factors-ard": "its density is that at the posterior means, which the bound does not limit",
    },
    "test_codes_and_imputations_have_moments_that_can_be": {
        "views-outliers": "noise of two degrees of freedom and fewer has no variance; its limits are tested instead",
    },
    "test_rows_are_drawn_about_the_reconstruction_of_their_codes": {
        name: "codes do not say which group a row is from" for name in view_cases.VARIANTS if "groups" in name
    },
    "test_a_row_that_shows_nothing_gets_the_codes_of_a_draw": {
        name: "its three listed states cannot be all there may be" for name in CASES if "truncated" in name
    },
}


def bound(model: Any, q: Any, stats: Any) -> float:
    return sum(model.data_terms(q, stats).values()) + sum(model.global_terms(q).values())


def size_of_terms(model: Any, q: Any, stats: Any) -> float:
    """The scale on which rounding happens."""
    return sum(map(abs, (*model.data_terms(q, stats).values(), *model.global_terms(q).values())))


def random_rows(rng: np.random.Generator, n: int, d: int, *, holes: bool, weighted: bool) -> Rows:
    """Rows with some structure, a unit of their own, many patterns of holes, and whole weights of which some are 0."""
    codes = rng.random((n, 2)) < rng.uniform(0.2, 0.6)
    x = codes @ rng.normal(size=(2, d)) * 2 + rng.normal(size=(n, d)) * rng.uniform(0.3, 1)
    x *= rng.uniform(0.5, 2)
    seen = rng.random((n, d)) < 0.7 if holes else None
    weight = rng.integers(0, 4, n).astype(float) if weighted else None
    if weight is not None:
        weight[0] = 2.0
    return Rows(x if seen is None else np.where(seen, x, 0.0), seen, weight)


def settled(model: Any, q: Any, rows: Rows, n_steps: int = 100) -> Any:
    """A local posterior at its fixed point."""
    local = model.local_step(q, rows)
    for _ in range(n_steps):
        local = model.local_step(q, rows, local)
    return local


def posterior_midway(case: Case, rows: Rows, k: int, rng: np.random.Generator, model: Any = None) -> tuple[Any, Any]:
    """A model and a posterior that has seen the rows once: neither the prior nor an optimum."""
    model = case.build(rows.x.shape[1]) if model is None else model
    q = case.start(model, k, np.asarray(rows.x), rng)
    return model, model.global_step(q, model.statistics(rows, model.local_step(q, rows)))
