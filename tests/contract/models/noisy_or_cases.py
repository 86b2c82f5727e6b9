"""Noisy-OR in the contract table, and its exact evidence by counting who may have lit which one."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from scipy.special import betaln, gammaln, logsumexp

from latens.core import Rows
from latens.families.beta import Beta
from latens.families.dirichlet import Dirichlet
from latens.families.gamma import Gamma
from latens.families.point_beta import PointBeta
from latens.families.point_dirichlet import PointDirichlet
from latens.families.point_gamma import PointGamma
from latens.models.noisy_or.jensen import JensenNoisyOr, RatePosterior
from latens.models.noisy_or.model import CausePosterior, NoisyOrCauses
from tests.contract.measurements.evidence import observed, states

PRIORS = {"profiles": 1.4, "usage": (0.7, 1.2), "strength": (0.8, 1.3), "leak": (0.9, 2.1)}
VARIANTS = {
    f"noisy-or-{prior}-{name}-{n_profiles}": {"points": prior == "ml", "most_exact": most, "n_profiles": n_profiles}
    for prior in ("ml", "ard")
    for name, most in (("exact", 12), ("truncated", 0))
    for n_profiles in (1, 2)
}
JENSEN = {"noisy-or-ml-jensen": True, "noisy-or-ard-jensen": False}


class Cut:
    """A model of other rows before the contract's real ones: it sees what `see` makes of them, or which are above 0."""

    def __init__(self, model: Any, see: Any = None) -> None:
        self.model, self.see = model, see or ones_of

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def local_step(self, q: Any, batch: Rows, warm: Any = None) -> Any:
        return self.model.local_step(q, self.see(batch), warm)

    def statistics(self, batch: Rows, local: Any) -> Any:
        return self.model.statistics(self.see(batch), local)

    def codes(self, batch: Rows, local: Any) -> Any:
        return self.model.codes(self.see(batch), local)

    def log_predictive(self, q: Any, batch: Rows, local: Any) -> Any:
        return self.model.log_predictive(q, self.see(batch), local)

    def row_bounds(self, q: Any, batch: Rows, local: Any) -> Any:
        return self.model.row_bounds(q, self.see(batch), local)

    def impute(self, q: Any, batch: Rows, local: Any) -> Any:
        return self.model.impute(q, self.see(batch), local)

    def candidates(self, q: Any, stats: Any, sample: Rows, rng: Any, limit: int) -> Iterator[Any]:
        return self.model.candidates(q, stats, self.see(sample), rng, limit)


def ones_of(rows: Rows) -> Rows:
    xp = array_namespace(rows.x)
    return replace(rows, x=xp.astype(rows.x > 0, rows.x.dtype))


def options(**variant: Any) -> dict[str, Any]:
    return {
        "build": lambda d: Cut(NoisyOrCauses(d, n_states=3, most_profiles=3, **PRIORS, **variant)),
        "start": start,
        "log_evidence": likelihood_at_the_point if variant["points"] else log_evidence,
        "points": variant["points"],
        "exact_rows": variant["most_exact"] > 0,
    }


def start(model: Any, k: int, x: np.ndarray, rng: np.random.Generator) -> CausePosterior:
    d, p = model.n_features, model.n_profiles
    shapes = ((p, k), (k, d), (d,))
    if model.points:
        usage, causes, leak = (PointBeta.of(rng.uniform(0.1, 0.8, shape)) for shape in shapes)
        return CausePosterior(PointDirichlet(rng.dirichlet(np.full(p, 3.0))), usage, causes, leak)
    usage, causes, leak = (Beta(rng.uniform(0.5, 3, shape), rng.uniform(0.5, 3, shape)) for shape in shapes)
    return CausePosterior(Dirichlet(rng.uniform(0.5, 3, p)), usage, causes, leak)


def row_log_joints(q: Any, x: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """(n, 2^K), log p(row, code) at the point estimates q."""
    codes = states(q.n_components)
    chance = np.prod(np.where(codes[:, None] > 0, q.usage.mean, 1 - q.usage.mean), axis=2) @ q.profiles.mean
    dark = (1 - q.leak.mean) * np.prod(np.where(codes[:, :, None] > 0, 1 - q.causes.mean, 1.0), axis=1)  # (C, D)
    each = np.log(np.where(x[:, None] > 0, 1 - dark, dark))
    return np.log(chance) + np.where(seen[:, None], each, 0.0).sum(axis=2)


def likelihood_at_the_point(model: Any, q: Any, rows: Rows) -> float:
    return float(logsumexp(row_log_joints(q, *observed(ones_of(rows))), axis=1).sum())


def log_evidence(model: Any, q: Any, rows: Rows) -> float:
    """log p(rows) with every probability integrated: a sum over all codes, profiles and attributions."""
    x, seen = observed(ones_of(rows))
    n, k = len(x), q.n_components
    total = []
    for flat in itertools.product((0, 1), repeat=n * k):
        codes = np.array(flat).reshape(n, k)
        columns = sum(_column_evidence(model, codes[seen[:, j]], x[seen[:, j], j]) for j in range(x.shape[1]))
        total.append(_codes_evidence(model, codes) + columns)
    return float(logsumexp(total))


def _codes_evidence(model: Any, codes: np.ndarray) -> float:
    """log p(codes): Dirichlet over profiles, Beta over usage, a sum over who has which profile."""
    n, p, (a, b) = len(codes), model.n_profiles, model.usage
    alpha, total = model.profiles, []
    for who in itertools.product(range(p), repeat=n):
        label = np.array(who)
        size = np.bincount(label, minlength=p)
        value = gammaln(p * alpha) - gammaln(p * alpha + n) + np.sum(gammaln(alpha + size) - gammaln(alpha))
        for c in range(p):
            on = codes[label == c].sum(axis=0)
            value += np.sum(betaln(a + on, b + size[c] - on) - betaln(a, b))
        total.append(value)
    return float(logsumexp(total))


def _column_evidence(model: Any, codes: np.ndarray, x: np.ndarray) -> float:
    """log p(column | codes): every way in which the leak and the causes that are on may have made it."""
    n, k = codes.shape
    ways: Counter[tuple[int, ...]] = Counter({(0,) * (k + 1): 1})
    for row, value in zip(codes, x, strict=True):
        fresh: Counter[tuple[int, ...]] = Counter()
        free = [(0, 1), *((0, 1) if on else (0,) for on in row)]
        for lit in itertools.product(*free):
            if max(lit) == value:
                for counts, times in ways.items():
                    fresh[tuple(np.add(counts, lit))] += times
        ways = fresh
    tries = [n, *codes.sum(axis=0)]
    priors = [model.leak, *[model.strength] * k]
    return float(
        logsumexp(
            [
                np.log(times)
                + sum(
                    betaln(a + c, b + t - c) - betaln(a, b) for c, t, (a, b) in zip(counts, tries, priors, strict=True)
                )
                for counts, times in ways.items()
            ]
        )
    )


def jensen_options(points: bool) -> dict[str, Any]:
    return {
        "build": lambda d: Cut(
            JensenNoisyOr(d, usage=(0.7, 1.2), rate=(0.8, 1.3), leak=(0.9, 2.1), points=points, n_inner=10)
        ),
        "start": jensen_start,
        "log_evidence": jensen_likelihood if points else jensen_evidence,
        "points": points,
    }


def jensen_start(model: Any, k: int, x: np.ndarray, rng: np.random.Generator) -> RatePosterior:
    d = model.n_features
    if model.points:
        rates = (PointGamma(rng.uniform(0.1, 1.5, shape)) for shape in ((k, d), (d,)))
        return RatePosterior(PointBeta.of(rng.uniform(0.2, 0.7, k)), *rates)
    gammas = (Gamma(rng.uniform(0.5, 3, shape), rng.uniform(1, 4, shape)) for shape in ((k, d), (d,)))
    return RatePosterior(Beta(rng.uniform(0.5, 3, k), rng.uniform(0.5, 3, k)), *gammas)


def jensen_likelihood(model: Any, q: RatePosterior, rows: Rows) -> float:
    return likelihood_at_the_point(model, q.points, rows)


def jensen_evidence(model: Any, q: RatePosterior, rows: Rows) -> float:
    """log p(rows), rates integrated: every one is 1 - e^-rate, so a column is a signed sum of exponentials."""
    x, seen = observed(ones_of(rows))
    n, k, (a, b) = len(x), q.n_components, model.usage
    total = []
    for flat in itertools.product((0, 1), repeat=n * k):
        codes = np.array(flat).reshape(n, k)
        on = codes.sum(axis=0)
        value = float(np.sum(betaln(a + on, b + n - on) - betaln(a, b)))
        for j in range(x.shape[1]):
            value += np.log(_signed_sum(model, codes[seen[:, j]], x[seen[:, j], j]))
        total.append(value)
    return float(logsumexp(total))


def _signed_sum(model: Any, codes: np.ndarray, x: np.ndarray) -> float:
    exposure = np.hstack([np.ones((len(codes), 1)), codes])  # the leak is always there
    shapes = [model.leak, *[model.rate] * codes.shape[1]]
    answer = 0.0
    for chosen in itertools.product(*[(0, 1) if value else (1,) for value in x]):
        times = np.array(chosen) @ exposure
        sign = (-1.0) ** sum(c for c, value in zip(chosen, x, strict=True) if value)
        answer += sign * np.prod([(r / (r + t)) ** s for t, (s, r) in zip(times, shapes, strict=True)])
    return float(answer)
