"""Rows of the contract table for latent classes, and the evidences their bounds are below.

The contract's columns are of the kinds of a case in turn; what a column holds is made of its real numbers. Given the
labels columns are independent, and each has an evidence in closed form, written here with SciPy's distributions or
as a chain of predictive chances.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from scipy.special import betaln, gammaln, logsumexp
from scipy.stats import gamma, nbinom, norm, t

from latens.array.transfer import like
from latens.core import Rows
from latens.families.bernoulli_columns import BernoulliColumns
from latens.families.beta import Beta
from latens.families.categorical_columns import CategoricalColumns
from latens.families.gamma import Gamma
from latens.families.mixed_columns import MixedColumns
from latens.families.negative_binomial_columns import SIZES, NegativeBinomialColumns
from latens.families.normal_columns import NormalColumns
from latens.families.poisson_columns import PoissonColumns
from latens.families.student_columns import FREEDOMS, StudentColumns
from latens.models.mixture.model import Memberships, Mixture, MixturePosterior
from tests.contract.measurements.evidence import observed
from tests.contract.models import mixture_cases
from tests.contract.models.noisy_or_cases import Cut

N_LEVELS = 3
COUNTS = (np.arange(40_000) + 0.5) / 1.7
LISTED = {
    "bernoulli": (-1.0, 1.0),
    "categorical": (-1.0, 0.0, 1.0),
    "ordinal": (-1.0, 0.0, 1.0),
    "poisson": COUNTS[:400],
    "negative-binomial": COUNTS,
}
VARIANTS = {
    "classes-levels": ("categorical",),
    "classes-counts": ("poisson",),
    "classes-overdispersed": ("negative-binomial", "bernoulli"),
    "classes-mixed": ("rounded", "categorical", "negative-binomial", "bernoulli", "poisson", "ordinal"),
    "classes-outliers": ("student", "bernoulli"),
}
STEP = 0.7  # of rounded columns


def prior(kind: str, d: int) -> Any:
    """Of one class, strong enough for its constants to matter."""
    wide = np.linspace(1.2, 2.1, d)[None]
    if kind == "gaussian":
        return _normals(d)
    if kind == "rounded":
        return replace(_normals(d), rounding=np.full(d, STEP**2 / 12))
    if kind == "student":
        return StudentColumns.prior(_normals(d))
    if kind == "bernoulli":
        return BernoulliColumns(Beta(0.5 * wide, 0.9 * wide))
    if kind in ("categorical", "ordinal"):
        counts = np.linspace(0.4, 1.3, N_LEVELS * d)[None]
        return CategoricalColumns(counts, (N_LEVELS,) * d, kind == "ordinal")
    if kind == "poisson":
        return PoissonColumns(Gamma(0.8 * wide, 0.7 * wide))
    return NegativeBinomialColumns.prior(0.9 * wide[0], 0.6 * wide[0])


def _normals(d: int) -> NormalColumns:
    return NormalColumns(
        np.linspace(-0.4, 0.5, d)[None], np.array([[0.6]]), np.array([[1.7]]), np.linspace(1.2, 2.1, d)[None]
    )


def kinds_of(d: int, kinds: tuple[str, ...]) -> list[str]:
    return [kinds[i % len(kinds)] for i in range(d)]


def build(d: int, kinds: tuple[str, ...], weights: str) -> Cut:
    each = kinds_of(d, kinds)
    columns = {kind: tuple(i for i in range(d) if each[i] == kind) for kind in dict.fromkeys(each)}
    parts = {kind: prior(kind, len(at)) for kind, at in columns.items()}
    model = Mixture(mixture_cases.WEIGHTS[weights](), MixedColumns(parts, columns))

    def see(rows: Rows) -> Rows:
        xp = array_namespace(rows.x)
        x = xp.stack([made(rows.x[:, i], kind) for i, kind in enumerate(each)], axis=1)
        return replace(rows, x=x if rows.seen is None else xp.where(rows.seen, x, xp.zeros_like(x)))

    return Listed(model, see, LISTED.get(each[-1]))


class Listed(Cut):
    """The model before the contract's rows, with real numbers of which each value of the last column is made."""

    def __init__(self, model: Any, see: Any, listed: Any) -> None:
        super().__init__(model, see)
        self.listed = listed


def made(x: Any, kind: str) -> Any:
    """What a column of that kind holds where the contract has real numbers."""
    xp = array_namespace(x)
    if kind in ("gaussian", "student", "rounded"):
        return x
    if kind == "bernoulli":
        return xp.astype(x > 0, x.dtype)
    if kind in ("categorical", "ordinal"):
        return xp.astype(x > -0.3, x.dtype) + xp.astype(x > 0.6, x.dtype)
    return xp.floor(xp.abs(x) * like(1.7, x))


def start(model: Any, k: int, x: np.ndarray, rng: np.random.Generator) -> MixturePosterior:
    """From memberships drawn at random."""
    local = Memberships(rng.dirichlet(np.full(k, 0.5), len(x)))
    return model.global_step(model.prior(k), model.statistics(Rows(np.asarray(x, float)), local))


def log_evidence(model: Any, q: MixturePosterior, rows: Rows) -> float:
    x, seen = observed(model.see(rows))
    k, each = q.n_components, []
    for labels in itertools.product(range(k), repeat=len(x)):
        counts = np.bincount(np.array(labels, int), minlength=k).astype(float)
        level = mixture_cases.log_labels(model.weights, counts)
        for kind, at in model.clusters.columns.items():
            part = model.clusters.parts[kind]
            for i, place in enumerate(at):
                groups = [x[(np.array(labels) == j) & seen[:, place], place] for j in range(k)]
                level += _column_evidence(kind, part, i, groups)
        each.append(level)
    return float(logsumexp(each))


def _column_evidence(kind: str, part: Any, i: int, groups: list[np.ndarray]) -> float:
    if kind == "negative-binomial":
        on, off = part.on[0, i], part.off[0, i]
        each = [sum(_given_size(group, size, 1 + size * on, off) for group in groups) for size in SIZES]
        return float(logsumexp(each) - np.log(len(SIZES)))
    if kind == "student":
        rate = float(part.normal.rate[0, i * len(FREEDOMS)])
        middle = float(part.normal.mean[0, i * len(FREEDOMS)])
        each = [sum(_heavy(tuple(group), nu, middle, rate) for group in groups) for nu in FREEDOMS]
        return float(logsumexp(each) - np.log(len(FREEDOMS)))
    if kind == "rounded":
        return sum(_rounded(part, i, group) for group in groups)
    return sum(_chain(kind, part, i, group) for group in groups)


def _rounded(part: Any, i: int, values: np.ndarray) -> float:
    """Log evidence of exp(E[log Normal(u)]), u uniform about each value: below that of where the values lie."""
    m, b, shape, rate = part.mean[0, i], part.strength[0, 0], part.shape[0, 0], part.rate[0, i]
    n = len(values)
    middle = (b * m + values.sum()) / (b + n)
    left = np.sum((values - middle) ** 2 + STEP**2 / 12) + b * (m - middle) ** 2
    after = shape + n / 2
    noise = gammaln(after) - gammaln(shape) + shape * np.log(rate) - after * np.log(rate + left / 2)
    return float(noise + 0.5 * (np.log(b / (b + n)) - n * np.log(2 * np.pi)))


@cache
def _heavy(values: tuple[float, ...], nu: float, middle: float, rate: float) -> float:
    """Log evidence of t distributed entries of one cluster, summed over a grid of log tau and of mu given tau."""
    if not values:
        return 0.0
    log_tau, z = np.linspace(-9, 6, 151)[:, None], np.linspace(-9, 9, 181)
    tau = np.exp(log_tau)
    mu = middle + z / np.sqrt(0.6 * tau)
    level = gamma.logpdf(tau, 1.7, scale=1 / rate) + log_tau + norm.logpdf(z)
    for value in values:
        level = level + t.logpdf((value - mu) * np.sqrt(tau), nu) + 0.5 * log_tau
    return float(logsumexp(level) + np.log(0.1 * 0.1))


def _given_size(y: np.ndarray, size: float, on: float, off: float) -> float:
    base = np.sum(gammaln(y + size) - gammaln(size) - gammaln(y + 1))
    return float(base + betaln(on + size * len(y), off + y.sum()) - betaln(on, off))


def _chain(kind: str, part: Any, i: int, values: np.ndarray) -> float:
    """Each entry's predictive density or chance given the entries before it."""
    level = 0.0
    if kind == "gaussian":
        m, b, shape, rate = part.mean[0, i], part.strength[0, 0], part.shape[0, 0], part.rate[0, i]
        for value in values:
            level += t.logpdf(value, 2 * shape, m, np.sqrt(rate / shape * (1 + 1 / b)))
            m, b, shape, rate = (
                m + (value - m) / (b + 1),
                b + 1,
                shape + 0.5,
                rate + 0.5 * (value - m) ** 2 * b / (b + 1),
            )
    elif kind == "poisson":
        shape, rate = part.rate.shape[0, i], part.rate.rate[0, i]
        for value in values:
            level += nbinom.logpmf(value, shape, rate / (rate + 1))
            shape, rate = shape + value, rate + 1
    else:
        counts = (
            np.array([part.chance.off[0, i], part.chance.on[0, i]])
            if kind == "bernoulli"
            else part.counts[0, N_LEVELS * i : N_LEVELS * (i + 1)].copy()
        )
        for value in values.astype(int):
            level += np.log(counts[value] / counts.sum())
            counts[value] += 1
    return float(level)


def options(kinds: tuple[str, ...], weights: str = "dirichlet") -> dict[str, Any]:
    """Of a `Case`."""
    return {
        "build": lambda d: build(d, kinds, weights),
        "start": start,
        "log_evidence": log_evidence,
        "exact_rows": True,
    }
