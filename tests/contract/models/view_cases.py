"""Rows of the contract table for multi-view factor analysis, and the evidence their bounds are below.

The contract's columns are dealt out to views; what a view holds is made of the real numbers it was dealt.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.legendre import leggauss
from scipy.special import betaln, expit, gammaln, logsumexp
from scipy.stats import norm, qmc

from latens.core import Rows
from latens.families.beta import Beta
from latens.families.gamma import Gamma
from latens.families.offsets import Offsets
from latens.families.spike_slab import SpikeSlab
from latens.models.likelihoods.bernoulli import Bernoulli
from latens.models.likelihoods.counts import Counts, NegativeBinomial, PoissonCounts
from latens.models.likelihoods.gaussian import Gaussian
from latens.models.likelihoods.measured import Measured
from latens.models.likelihoods.ordered_logit import Cuts, OrderedLogit
from latens.models.likelihoods.softplus_poisson import SoftplusPoisson
from latens.models.likelihoods.student import Student
from latens.models.multi_view.model import MultiView, MultiViewPosterior, View
from latens.models.multi_view.view import COVARIATES, GROUP, precision_of
from tests.contract.measurements.evidence import LOG_2PI, observed
from tests.contract.models.noisy_or_cases import Cut

KINDS = {
    "gaussian": Gaussian(),
    "student": Student(),
    "bernoulli": Bernoulli(),
    "softplus": SoftplusPoisson(),
    "measured": Measured(),
}
COUNTS = {"poisson": PoissonCounts, "negative-binomial": NegativeBinomial}  # the first columns of a view are rare
VARIANTS: dict[str, dict[str, Any]] = {
    "views-gaussian": {"kinds": ("gaussian", "gaussian")},
    "views-binary": {"kinds": ("bernoulli",)},
    "views-counts": {"kinds": ("poisson",), "rare": 0.5},
    "views-rare-counts": {"kinds": ("negative-binomial",), "rare": 1.0},
    "views-common-counts": {"kinds": ("negative-binomial",), "rare": 0.0},
    "views-scales": {"kinds": ("ordinal",)},
    "views-mixed": {"kinds": ("gaussian", "bernoulli", "poisson")},
    "views-outliers": {"kinds": ("student", "gaussian")},
    "views-dense": {"kinds": ("gaussian", "poisson"), "sparse": False},
    "views-groups": {"kinds": ("gaussian", "bernoulli"), "groups": 2},
    "views-scales-groups": {"kinds": ("gaussian", "ordinal"), "groups": 2},
    "views-covariates": {"kinds": ("gaussian", "bernoulli"), "covariates": 1},
    "views-precision": {"kinds": ("measured", "gaussian")},
    "views-sparse-codes": {"kinds": ("gaussian", "poisson"), "usage": (1.4, 0.9)},
    "views-sparse-codes-groups": {"kinds": ("bernoulli", "gaussian"), "groups": 2, "usage": (1.4, 0.9)},
}
NOISE, RELEVANCE, INCLUSION, OFFSET, ACTIVITY = (2.3, 1.7), (2.4, 1.6), (1.3, 0.8), 0.7, (2.1, 1.9)
SLOPE = 1.3  # prior precision of the coefficient of a covariate


def likelihood_of(kind: str, d: int, rare: float) -> Any:
    if kind == "ordinal":  # four levels in the first column, three in the others
        values = np.array([[-2.0, -1.0, 0.0, 1.0], *[[-1.0, 0.0, 1.0, 1.0]] * (d - 1)])
        return OrderedLogit(values, np.array([[0.1, 0.4, 0.3, 0.2], *[[0.5, 0.3, 0.2, 0.0]] * (d - 1)]))
    return KINDS[kind] if kind in KINDS else COUNTS[kind]((np.arange(d) < rare * d).astype(float))


def build(
    d: int,
    kinds: tuple[str, ...],
    sparse: bool = True,
    groups: int = 1,
    usage: Any = None,
    rare: float = 0.5,
    covariates: int = 0,
) -> Cut:
    ends = [round(d * i / len(kinds)) for i in range(len(kinds) + 1)]
    views = tuple(
        View(
            f"v{i}",
            start,
            stop,
            likelihood_of(kind, stop - start, rare),
            noise=NOISE,
            relevance=RELEVANCE,
            inclusion=INCLUSION if sparse else None,
            offset=OFFSET,
            slope=SLOPE,
            precision_unit=0.25 if kind == "measured" else 1.0,
        )
        for i, (kind, start, stop) in enumerate(zip(kinds, ends, ends[1:], strict=False))
        if stop > start
    )
    model = MultiView(views, groups, ACTIVITY if groups > 1 else None, usage, covariates)

    def see(rows: Rows) -> Rows:
        """Cut, counted, and with a group, which is whether the first number is above its usual, or with a covariate."""
        xp = array_namespace(rows.x)
        parts = [_made(rows.x[:, view.columns], view.likelihood.name) for view in views]
        aux = {
            precision_of(view.name): 4 * (0.5 + xp.abs(rows.x[:, view.columns]))
            for view in views
            if view.knows_precision
        }
        if groups > 1:
            aux[GROUP] = xp.astype(rows.x[:, 0] > 0.5, rows.x.dtype)
        if covariates:
            aux[COVARIATES] = 1.5 * xp.sin(3 * rows.x[:, :1] + 0.4)
        return replace(rows, x=xp.concat(parts, axis=1), aux=aux)

    return Cut(model, see)


def _made(x: Any, kind: str) -> Any:
    xp = array_namespace(x)
    if kind == "bernoulli":
        return xp.astype(x > 0, x.dtype)
    if kind == "ordinal":
        return xp.clip(xp.floor(x), xp.asarray([-2.0, *[-1.0] * (x.shape[1] - 1)], dtype=x.dtype), 1.0)
    return xp.floor(xp.abs(x)) if kind in ("poisson", "negative-binomial") else x


def start(model: Any, k: int, x: np.ndarray, rng: np.random.Generator) -> MultiViewPosterior:
    prior = model.prior(k)
    views = {}
    for name, p in prior.views.items():
        shape, g = p.weights.on.shape, p.offsets.mean.shape
        on = rng.uniform(0.2, 0.9, shape) if isinstance(p.theta, Beta) else np.ones(shape)
        weights = SpikeSlab(on, rng.normal(size=shape), rng.uniform(0.1, 1, shape), rng.uniform(0.5, 1, k))
        theta = Beta(rng.uniform(0.5, 3, k), rng.uniform(0.5, 3, k)) if isinstance(p.theta, Beta) else p.theta
        noise = p.noise.observe(rng.uniform(1, 3, shape[0]), rng.uniform(1, 3, shape[0]))
        alpha = Gamma(rng.uniform(1, 3, k), rng.uniform(1, 3, k))
        offsets = Offsets(0.3 * rng.normal(size=g), rng.uniform(0.1, 1, g))
        views[name] = replace(p, weights=weights, offsets=offsets, alpha=alpha, theta=theta, noise=noise)
    a = prior.activity
    size = a.mean.shape
    usage = prior.usage and prior.usage.observe(rng.uniform(1, 3, size), rng.uniform(1, 3, size))
    return MultiViewPosterior(views, a.observe(rng.uniform(1, 3, size), rng.uniform(1, 3, size)), usage)


def log_evidence(model: Any, q: Any, rows: Rows) -> float:
    """log p(rows) for one factor: codes by quasi-random draws; given them views are independent, and columns too."""
    rows = model.see(rows)
    if rows.weight is not None:  # a row that counts twice is given twice, with what is known of it
        times = np.asarray(rows.weight).astype(int)
        rows = replace(rows.take(np.repeat(np.arange(len(rows)), times)), weight=None)
    x, seen = observed(rows)
    group = rows.aux[GROUP].astype(int) if model.n_groups > 1 else np.zeros(len(x), int)
    u = rows.aux[COVARIATES][:, 0] if model.n_covariates else np.zeros(len(x))
    z = _draws(len(x))  # (S, N)
    if any(isinstance(view.likelihood, Counts | Student) for view in model.views):
        z = z[:32]  # their dispersion, or noise, is integrated as well
    if model.n_groups > 1:
        a = _gamma_draws(model.n_groups)[: len(z)]  # (S, G)
        z = z / np.sqrt(a[:, group])
    if model.usage is not None:
        rho = np.random.default_rng(6).beta(*model.usage, size=(len(z), model.n_groups))
        z = z * (np.random.default_rng(8).random(z.shape) < rho[:, group])
    level = np.zeros(len(z))
    for view in model.views:
        known = view.given_precision(rows)
        p = q.views[view.name].parameters
        level += _view_evidence(view, z, x[:, view.columns], seen[:, view.columns], group, u, known, p)
    return float(logsumexp(level) - np.log(len(z)))


@cache
def _draws(n: int, size: int = 2**9) -> np.ndarray:
    return norm.ppf(qmc.Sobol(n, seed=7).random(size) * (1 - 2e-12) + 1e-12)


@cache
def _gamma_draws(g: int, size: int = 2**9) -> np.ndarray:
    return np.random.default_rng(5).gamma(ACTIVITY[0], 1 / ACTIVITY[1], size=(size, g))


def _log_gamma_grid(shape: float, rate: float, size: int = 13) -> tuple[np.ndarray, np.ndarray]:
    """Values of a Gamma variable on a grid of logarithms, and the log mass of each."""
    grid = np.linspace(-5.5, 3.5, size)
    mass = shape * np.log(rate) - gammaln(shape) + shape * grid - rate * np.exp(grid) + np.log(grid[1] - grid[0])
    return np.exp(grid), mass


def _view_evidence(
    view: Any,
    z: np.ndarray,
    y: np.ndarray,
    seen: np.ndarray,
    group: np.ndarray,
    u: np.ndarray,
    known: np.ndarray | None,
    parameters: Any,
) -> np.ndarray:
    """(S,), log p(y | z), with loadings, offsets, noise, alpha and theta integrated; parameters are points.

    So is the coefficient of the covariate u (N,), 0 where there is none.
    """
    alpha, alpha_mass = _log_gamma_grid(*RELEVANCE)
    column = _gaussian_column if view.likelihood.name == "gaussian" else _other_column
    kinds: list[Any] = [view.likelihood.name] * y.shape[1]
    if isinstance(view.likelihood, Student):
        kinds = [("student", parameters.value)] * y.shape[1]
    fixed = 0.0
    if isinstance(parameters, Cuts):
        rows_of_cuts = zip(parameters.values, parameters.top.astype(int), strict=True)
        kinds = [("ordinal", own[:n], view.likelihood.values[d]) for d, (own, n) in enumerate(rows_of_cuts)]
        fixed = parameters.log_prior()
    if isinstance(view.likelihood, Counts):
        kinds = ["rare" if rare else "common" for rare in view.likelihood.rare]
    taus = [None] * y.shape[1] if known is None else known.T
    pairs = [
        column(kinds[d], z, y[s, d], group[s], u[s], s, alpha, None if tau is None else tau[s])
        for d, (s, tau) in enumerate(zip(seen.T, taus, strict=True))
    ]
    off, on = (np.array(part) for part in zip(*pairs, strict=True))  # (D, S), (D, S, A)
    if view.inclusion is None:
        return fixed + logsumexp(on.sum(axis=0) + alpha_mass, axis=1)
    theta, width = (0.5 * (part + shift) for part, shift in zip(leggauss(16), (1, 0), strict=True))
    a, b = INCLUSION
    theta_mass = np.log(width) + (a - 1) * np.log(theta) + (b - 1) * np.log1p(-theta) - betaln(a, b)
    mixed = np.logaddexp(np.log(theta) + on[..., None], np.log1p(-theta) + off[:, :, None, None])  # (D, S, A, T)
    return fixed + logsumexp(mixed.sum(axis=0) + alpha_mass[:, None] + theta_mass, axis=(1, 2))


def _gaussian_column(
    kind: str,
    z: np.ndarray,
    y: np.ndarray,
    group: np.ndarray,
    u: np.ndarray,
    seen: np.ndarray,
    alpha: np.ndarray,
    known: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """log p(y | z) without the loading (S,), and with it for every alpha (S, A)."""
    tau, mass = _log_gamma_grid(*NOISE)
    z, same = z[:, seen], (group[:, None] == group[None]).astype(float)
    eye = np.eye(len(y))
    shared = same / OFFSET + np.outer(u, u) / SLOPE
    base = shared + eye / tau[:, None, None]  # (T, N, N)
    if known is not None:
        base, mass = (shared + np.diag(1 / known))[None], np.zeros(1)

    def density(cov: np.ndarray) -> np.ndarray:
        solved = np.linalg.solve(cov, np.broadcast_to(y[:, None], (*cov.shape[:-1], 1)))[..., 0]
        return -0.5 * (solved @ y + np.linalg.slogdet(cov)[1] + len(y) * LOG_2PI)

    if not len(y):
        return np.zeros(len(z)), np.zeros((len(z), len(alpha)))
    off = logsumexp(density(base) + mass)
    # rank one more: log|C + zz'/alpha| and its quadratic form
    inverse = np.linalg.inv(base)
    pulled = np.einsum("sn,tnm->stm", z, inverse)
    grown = np.einsum("stm,sm->st", pulled, z)[:, None] / alpha[:, None]  # (S, A, T)
    reached = (pulled @ y)[:, None] ** 2 / alpha[:, None]
    on = density(base) - 0.5 * (np.log1p(grown) - reached / (1 + grown))
    return np.full(len(z), off), logsumexp(on + mass, axis=2)


def log_counts(kind: str, y: Any, eta: Any, tau: Any) -> Any:
    """log p(y | eta, tau) of a rare or common column of counts."""
    if kind == "rare":
        tau = np.asarray(tau)
        return gammaln(y + tau) - gammaln(tau) - gammaln(y + 1) + y * eta - (y + tau) * np.logaddexp(0, eta)
    eta, y, tau = (np.asarray(part, float)[..., None] for part in (eta, y, tau))
    x = np.where(y > 0, np.log(y + 0.5), eta)  # to the mode of y x - e^x - tau (x - eta)^2 / 2
    for _ in range(60):
        grown = np.exp(x)
        x = x - np.clip((grown - y + tau * (x - eta)) / (grown + tau), -1, 1)
    nodes, mass = hermegauss(30)
    width = 1.1 / np.sqrt(np.exp(x) + tau)
    at = x + width * nodes
    terms = y * at - np.exp(np.minimum(at, 50.0)) - gammaln(y + 1) - 0.5 * tau * (at - eta) ** 2
    terms = terms + 0.5 * np.log(tau) + np.log(width) + 0.5 * nodes**2
    return logsumexp(terms + np.log(mass / mass.sum()), axis=-1)


@cache
def _count_table(kind: str, y: float, tau: float) -> np.ndarray:
    return np.asarray(log_counts(kind, np.full(len(ETAS), y), ETAS, np.full(len(ETAS), tau)))


ETAS = np.linspace(-30, 30, 6001)


def _other_column(
    kind: Any,
    z: np.ndarray,
    y: np.ndarray,
    group: np.ndarray,
    u: np.ndarray,
    seen: np.ndarray,
    alpha: np.ndarray,
    known: Any,
) -> tuple[np.ndarray, np.ndarray]:
    if kind not in ("rare", "common") and kind[0] != "student":
        return _column_at(kind, z, y, group, u, seen, alpha, 1.0)
    taus, mass = _log_gamma_grid(*NOISE, size=7)
    pairs = [_column_at(kind, z, y, group, u, seen, alpha, float(tau)) for tau in taus]
    off, on = (np.array(part) for part in zip(*pairs, strict=True))
    return logsumexp(off + mass[:, None], axis=0), logsumexp(on + mass[:, None, None], axis=0)


def _column_at(
    kind: Any,
    z: np.ndarray,
    y: np.ndarray,
    group: np.ndarray,
    u: np.ndarray,
    seen: np.ndarray,
    alpha: np.ndarray,
    tau: float,
) -> tuple[np.ndarray, np.ndarray]:
    """log p(y | z, tau) without the loading (S,), and with it for every alpha (S, A)."""
    nodes, mass = hermegauss(14 if kind[0] == "student" else 10)
    log_mass = np.log(mass / mass.sum())
    z = z[:, seen]

    def entries(eta: np.ndarray, y: np.ndarray) -> np.ndarray:  # (..., N)
        if kind[0] == "student":
            nu = kind[1]
            level = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(np.pi * nu / tau)
            return level - 0.5 * (nu + 1) * np.log1p(tau * (y - eta) ** 2 / nu)
        if kind[0] == "ordinal":
            _, cuts, values = kind
            ends, at = np.concatenate([[-np.inf], cuts, [np.inf]]), np.searchsorted(values[: len(cuts) + 1], y)
            return np.log(np.maximum(expit(ends[at + 1] - eta) - expit(ends[at] - eta), 1e-300))
        if kind == "bernoulli":
            return np.log(np.maximum(expit(np.where(y > 0, eta, -eta)), 1e-300))
        if kind in ("rare", "common"):
            tables = [np.interp(eta[..., n], ETAS, _count_table(kind, float(y[n]), tau)) for n in range(len(y))]
            return np.stack(tables, axis=-1)
        rate = np.logaddexp(0, eta)
        return y * np.log(np.maximum(rate, 1e-300)) - rate - gammaln(y + 1)

    def groups(eta: np.ndarray) -> np.ndarray:
        """Sum over groups of log E over the group's own offset; eta (..., N) lacks it."""
        total = np.zeros(eta.shape[:-1])
        for g in np.unique(group):
            own = group == g
            levels = entries(eta[..., None, own] + (nodes / np.sqrt(OFFSET))[:, None], y[own]).sum(axis=-1)
            total += logsumexp(levels + log_mass, axis=-1)
        return total

    def integrated(eta: np.ndarray) -> np.ndarray:
        """The same, and over the coefficient of the covariate."""
        if not u.any():
            return groups(eta)
        slopes = [groups(eta + slope * u) for slope in nodes / np.sqrt(SLOPE)]
        return logsumexp(np.stack(slopes, axis=-1) + log_mass, axis=-1)

    if not len(y):
        return np.zeros(len(z)), np.zeros((len(z), len(alpha)))
    off = np.full(len(z), integrated(np.zeros(len(y))))
    on = np.empty((len(z), len(alpha)))
    for i, precision in enumerate(alpha):
        levels = integrated(z[:, None, :] * (nodes / np.sqrt(precision))[:, None])  # (S, W)
        on[:, i] = logsumexp(levels + log_mass, axis=1)
    return off, on


def options(**variant: Any) -> dict[str, Any]:
    """Of a `Case`."""
    return {
        "build": lambda d: build(d, **variant),
        "start": start,
        "log_evidence": log_evidence,
        "most_components": 1,
        "exact_rows": all(kind in ("gaussian", "measured") for kind in variant["kinds"]) and "usage" not in variant,
        "hierarchical": True,
    }
