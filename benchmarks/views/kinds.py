"""Views of each kind, beside an oracle that knows loadings and levels: factors recovered, hidden entries predicted.

The oracle looks for the codes of each sample alone, by Newton's method on the exact likelihood, and predicts with their
normal approximation; nothing of it is the library's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, gammaln, log_expit, logsumexp
from scipy.stats import norm, t

import latens
from benchmarks.records import answers
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Count, Row, Table, Value, at_least
from latens.estimators.fitted_parts import fitted_parts

__all__ = ["run"]

N, K, HIDDEN = 1_000, 3, 0.1
WIDTHS = {"full": (50, 200), "quick": (20,)}
FREEDOM, SIZE = 4.0, 2.0  # of Student's t, of negative binomials
N_LEVELS, N_DRAWS = 4, 200  # of a category, and of codes by which the oracle predicts levels
NEAR, CLOSE, SEEN = 0.02, 0.03, 0.8  # of R2, of nats an entry, and R2 of the oracle from which it counts
NODES, MASSES = np.polynomial.hermite_e.hermegauss(30)
LOG_MASSES = np.log(MASSES / MASSES.sum())

Density = Callable[[Any, Any], Any]  # log p(y | eta)


def run(setting: Setting) -> list[Table]:
    widths, kinds = WIDTHS[setting.name], [*TRUTHS, "categorical"]
    rows = [_row(kind, d, setting) for d in widths for kind in kinds if setting.asks_for(f"{kind} {d}")]
    return [Table(f"Views of each kind beside an oracle, N = {N}, {K} factors, 10 % hidden", rows)]


def _row(kind: str, d: int, setting: Setting) -> Row:
    n_sets = 1 if setting.name == "quick" else 10
    answer = answers(setting.results / "kinds" / f"{kind}-{d}.jsonl", partial(judged, kind, d), n_sets, setting.jobs)
    ours, oracle, nats, best = (np.array(part) for part in zip(*answer, strict=True))
    counts = oracle >= SEEN
    good = (ours >= oracle - NEAR) | ~counts
    near = nats >= best - CLOSE
    cells: dict[str, Value] = {
        "kind": kind,
        "columns": d,
        "R2": float(ours.mean()),
        "oracle's R2": float(oracle.mean()),
        "recovered": Count(int(good.sum()), len(answer)),
        "nats": float(nats.mean()),
        "oracle's nats": float(best.mean()),
        "predicted": Count(int(near.sum()), len(answer)),
    }
    return Row(cells, {"recovered": at_least(0.9), "predicted": at_least(0.9)})


def judged(kind: str, d: int, number: int) -> tuple[float, float, float, float]:
    """R2 of the fit and of the oracle, and log probabilities of hidden entries by both, of one data set."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare = contest_of_levels if kind == "categorical" else partial(contest, kind)
        return compare(d, FIRST_SEED + number)


def contest(kind: str, d: int, seed: int) -> tuple[float, float, float, float]:
    rng = np.random.default_rng(seed)
    z, w = rng.normal(size=(N, K)), 0.6 * rng.normal(size=(K, d))
    draw, density, level = TRUTHS[kind]
    b = level(d, rng)
    y = draw(z @ w + b, rng)
    hidden = rng.random(y.shape) < HIDDEN
    shown = np.where(hidden, np.nan, y)
    model = latens.MultiViewFactorAnalysis(2 * K, likelihoods={"v": kind}, random_state=0, n_jobs=1).fit({"v": shown})
    mean, spread = oracle_codes(density, y, ~hidden, w, b)
    eta, variance = mean @ w + b, np.einsum("kd,nkl,ld->nd", w, spread, w)
    best = expected(density, y[hidden], eta[hidden], variance[hidden])
    return recovery(z, model.scores_), recovery(z, mean), predicted(model, kind, shown, y, hidden), best


def oracle_codes(density: Density, y: Any, seen: Any, w: Any, b: Any) -> tuple[Any, Any]:
    """Modes (n, K) and covariances (n, K, K) of the codes, derivatives by differences."""
    z, h = np.zeros((len(y), K)), 1e-3
    for _ in range(30):
        eta = z @ w + b
        up, at, down = (density(y, eta + step) for step in (h, 0.0, -h))
        slope, bend = seen * (up - down) / (2 * h), seen * np.maximum(-(up - 2 * at + down) / h**2, 1e-3)
        precision = np.einsum("kd,nd,ld->nkl", w, bend, w) + np.eye(K)
        step = np.linalg.solve(precision, (slope @ w.T - z)[..., None])[..., 0]
        z = z + np.clip(step, -1, 1)
    return z, np.linalg.inv(precision)


def contest_of_levels(d: int, seed: int) -> tuple[float, float, float, float]:
    """The same of categories whose levels have predictors of their own, and softmax of them for chances."""
    rng = np.random.default_rng(seed)
    z, w = rng.normal(size=(N, K)), 0.6 * rng.normal(size=(K, d, N_LEVELS))
    b = 0.5 * rng.normal(size=(d, N_LEVELS))
    eta = np.tensordot(z, w, axes=1) + b
    y = np.argmax(eta + rng.gumbel(size=eta.shape), axis=2).astype(float)
    hidden = rng.random(y.shape) < HIDDEN
    shown = np.where(hidden, np.nan, y)
    fit = latens.MultiViewFactorAnalysis(2 * K, likelihoods={"v": "categorical"}, random_state=0, n_jobs=1)
    model = fit.fit({"v": shown})
    mean, spread = oracle_codes_of_levels(y, ~hidden, w, b)
    half = np.linalg.cholesky(spread)
    draws = [mean + np.einsum("nkl,nl->nk", half, rng.normal(size=mean.shape)) for _ in range(N_DRAWS)]
    terms = np.stack([log_chances(y, np.tensordot(each, w, axes=1) + b)[hidden] for each in draws])
    best = float(np.mean(logsumexp(terms, axis=0) - np.log(N_DRAWS)))
    ours = predicted(model, "categorical", shown, y, hidden)
    return recovery(z, model.scores_), recovery(z, mean), ours, best


def log_chances(y: Any, eta: Any) -> Any:
    """(n, d), of the levels that entries have."""
    own = np.take_along_axis(eta, y.astype(int)[..., None], axis=2)[..., 0]
    return own - logsumexp(eta, axis=2)


def oracle_codes_of_levels(y: Any, seen: Any, w: Any, b: Any) -> tuple[Any, Any]:
    """Modes (n, K) and covariances (n, K, K) of the codes by Newton's method; softmax is log-concave."""
    z, one_hot = np.zeros((len(y), K)), np.eye(N_LEVELS)[y.astype(int)]
    for _ in range(30):
        eta = np.tensordot(z, w, axes=1) + b
        chance = np.exp(eta - logsumexp(eta, axis=2, keepdims=True)) * seen[..., None]
        slope = np.einsum("ndc,kdc->nk", (one_hot * seen[..., None]) - chance, w) - z
        middle = np.einsum("ndc,kdc->nkd", chance, w)
        square = np.einsum("ndc,kdc,ldc->nkl", chance, w, w, optimize=True)
        precision = square - np.einsum("nkd,nld->nkl", middle, middle) + np.eye(K)
        z = z + np.clip(np.linalg.solve(precision, slope[..., None])[..., 0], -1, 1)
    return z, np.linalg.inv(precision)


def expected(density: Density, y: Any, eta: Any, variance: Any) -> float:
    """Mean over entries of log E p(y | eta), eta being normal."""
    sd = np.sqrt(np.maximum(variance, 0))
    terms = np.stack([density(y, eta + node * sd) for node in NODES])
    return float(np.mean(logsumexp(terms + LOG_MASSES[:, None], axis=0)))


def expected_counts(y: Any, eta: Any, variance: Any) -> float:
    """The same of Poisson counts, with nodes about the mode of the integrand: noise is far wider than what y tells."""
    x = np.log(y + 0.5)
    for _ in range(30):
        x = x + np.clip((y - np.exp(x) - (x - eta) / variance) / (np.exp(x) + 1 / variance), -1, 1)
    sd = 1 / np.sqrt(np.exp(x) + 1 / variance)
    points = [x + node * sd for node in NODES]
    terms = [
        _log_poisson(y, at) + norm.logpdf(at, eta, np.sqrt(variance)) - norm.logpdf(at, x, sd)  # as weights of nodes
        for at in points
    ]
    return float(np.mean(logsumexp(np.stack(terms) + LOG_MASSES[:, None], axis=0)))


def recovery(z: Any, codes: Any) -> float:
    design = np.column_stack([codes, np.ones(len(z))])
    left = z - design @ np.linalg.lstsq(design, z, rcond=None)[0]
    return float(1 - np.sum(left**2) / np.sum((z - z.mean(axis=0)) ** 2))


def predicted(model: Any, kind: str, shown: Any, y: Any, hidden: Any) -> float:
    """Mean log probability of hidden entries under a fit."""
    if kind in ("categorical", "ordinal"):
        chances = model.impute_proba({"v": shown})["v"]
        log_chance = np.empty(y.shape)
        for j, (own, levels) in enumerate(zip(chances.values(), model.levels_["v"].values(), strict=True)):
            place = np.array([levels.index(value) if value in levels else 0 for value in y[:, j]])
            log_chance[:, j] = np.log(np.maximum(own[np.arange(len(y)), place], 1e-300))
        return float(log_chance[hidden].mean())
    parts, q, scale = fitted_parts(model), model.posterior_, 1.0
    rows = parts.units.enter(model._rows_of_fit({"v": shown}))
    local = parts.model.local_step(q, rows)
    for _ in range(50):
        local = parts.model.local_step(q, rows, local)
    ((view, (eta, variance, columns)),) = parts.model.predictors(q, rows, local)
    tau = np.broadcast_to(columns.noise.mean, eta.shape)[hidden]
    if view.likelihood.has_unit:
        scale = float(np.ravel(parts.units.scale)[0])
        y = (y - parts.units.origin) / scale
    eta, variance, y = eta[hidden], variance[hidden], y[hidden]
    if kind == "gaussian":
        return float(np.mean(norm.logpdf(y, eta, np.sqrt(variance + 1 / tau)))) - np.log(scale)
    if kind == "student":
        nu = columns.parameters.value

        def heavy(a: Any, b: Any) -> Any:
            return t.logpdf((a - b) * np.sqrt(tau), nu) + 0.5 * np.log(tau)

        return expected(heavy, y, eta, variance) - np.log(scale)
    if kind == "bernoulli":
        return expected(_log_yes, y, eta, variance)
    counts = view.likelihood
    log_mean = eta + np.log(counts.middle(np.zeros(shown.shape), columns))[hidden]
    noise = np.broadcast_to(counts.dispersion(columns.noise), shown.shape)[hidden]
    gamma = np.broadcast_to(counts.ratio > 0, shown.shape)[hidden]

    def negative(a: Any, b: Any) -> Any:
        return _log_negative(a, b, 1 / noise[gamma])

    found = gamma.sum() * expected(negative, y[gamma], log_mean[gamma], variance[gamma])
    rest, wide = ~gamma, variance + noise
    if rest.any():
        found += rest.sum() * expected_counts(y[rest], (log_mean - 0.5 * noise)[rest], wide[rest])
    return float(found / len(y))


def _log_yes(y: Any, eta: Any) -> Any:
    return np.where(y > 0, log_expit(eta), log_expit(-eta))


def _log_poisson(y: Any, eta: Any) -> Any:
    return y * eta - np.exp(np.minimum(eta, 50)) - gammaln(y + 1)


def _log_negative(y: Any, eta: Any, size: Any) -> Any:
    """Of mean e^eta."""
    psi = eta - np.log(size)
    level = gammaln(y + size) - gammaln(size) - gammaln(y + 1)
    return level + y * log_expit(psi) + size * log_expit(-psi)


CUTS = np.array([-1.2, 0.0, 1.2])


def _log_step(y: Any, eta: Any) -> Any:
    """Ordered logit, P(y <= c) = sigmoid(cut_c - eta)."""
    low = expit(np.append(CUTS, np.inf)[y.astype(int)] - eta)
    high = expit(np.append(-np.inf, CUTS)[y.astype(int)] - eta)
    return np.log(np.maximum(low - high, 1e-300))


def _normal_levels(d: int, rng: np.random.Generator) -> Any:
    return 0.5 * rng.normal(size=d)


def _flat(d: int, rng: np.random.Generator) -> Any:
    return np.zeros(d)


def _log_means(d: int, rng: np.random.Generator) -> Any:
    return rng.uniform(-0.5, 3.0, d)  # counts of .6 to 20


# how entries are drawn, their log density, and levels of eta
TRUTHS: dict[str, tuple[Callable[..., Any], Density, Callable[..., Any]]] = {
    "gaussian": (lambda eta, rng: eta + rng.normal(size=eta.shape), lambda y, eta: norm.logpdf(y, eta), _normal_levels),
    "student": (
        lambda eta, rng: eta + rng.standard_t(FREEDOM, size=eta.shape),
        lambda y, eta: t.logpdf(y - eta, FREEDOM),
        _normal_levels,
    ),
    "bernoulli": (lambda eta, rng: (rng.random(eta.shape) < expit(eta)).astype(float), _log_yes, _normal_levels),
    "ordinal": (
        lambda eta, rng: np.sum(rng.random(eta.shape)[..., None] > expit(CUTS - eta[..., None]), axis=-1).astype(float),
        _log_step,
        _flat,
    ),
    "poisson": (lambda eta, rng: rng.poisson(np.exp(eta)).astype(float), _log_poisson, _log_means),
    "negative-binomial": (
        lambda eta, rng: rng.poisson(np.exp(eta) * rng.gamma(SIZE, 1 / SIZE, eta.shape)).astype(float),
        lambda y, eta: _log_negative(y, eta, SIZE),
        _log_means,
    ),
}
