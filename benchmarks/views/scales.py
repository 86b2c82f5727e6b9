"""Scales: simulated items beside an oracle that knows loadings and thresholds, and questionnaires with hidden cells.

`simulated` has even and skewed items, few and many. `real` hides a tenth of the cells of scales that come with
statsmodels, five times, and compares views of the same cells as scales, measurements and categories: log loss of the
level (of measurements the mass up to half the way to the next level) and errors in standard deviations of the columns.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm

import latens
from benchmarks.clocks import cpu_seconds
from benchmarks.mixed.tables import of_statsmodels
from benchmarks.records import answers
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Count, Row, Table, Value, at_least, at_most
from benchmarks.views.kinds import CLOSE, NEAR, SEEN, expected, predicted, recovery

__all__ = ["real", "simulated"]

N, HIDDEN, COVERAGE = 1_000, 0.1, 0.9
CUTS = np.linspace(-1.8, 1.8, 4)  # of five levels
WIDTHS = {"full": ((50, 3), (50, 6), (200, 3), (200, 6)), "quick": ((20, 3),)}  # columns and factors
MOST_ROWS = 1_500
ANES = ("TVnews", "selfLR", "ClinLR", "DoleLR", "PID", "educ", "income")
FAIR = ("rate_marriage", "religious", "educ", "occupation", "occupation_husb")
LIFE = ("age", "yrs_married", "children")
TABLES = {"anes96": ("anes96", ANES), "fair": ("fair", FAIR), "fair, all": ("fair", (*FAIR, *LIFE))}


def simulated(setting: Setting) -> list[Table]:
    cases = [(d, k, skewed) for d, k in WIDTHS[setting.name] for skewed in (False, True)]
    return [Table(f"Scales of five levels beside an oracle, N = {N}, 10 % hidden", [_row(*c, setting) for c in cases])]


def _row(d: int, k: int, skewed: bool, setting: Setting) -> Row:
    name, n_sets = f"{d}-{k}-{'skewed' if skewed else 'even'}", 1 if setting.name == "quick" else 10
    found = answers(setting.results / "scales" / f"{name}.jsonl", partial(_judged, d, k, skewed), n_sets, setting.jobs)
    ours, oracle, nats, best, held, number, cpu = (np.array(part) for part in zip(*found, strict=True))
    cells: dict[str, Value] = {
        "columns": d,
        "factors": k,
        "items": "skewed" if skewed else "even",
        "R2": float(ours.mean()),
        "oracle's R2": float(oracle.mean()),
        "recovered": Count(int(np.sum((ours >= oracle - NEAR) | (oracle < SEEN))), len(found)),
        "number right": Count(int(np.sum(number == k)), len(found)),
        "nats": float(nats.mean()),
        "oracle's nats": float(best.mean()),
        "predicted": Count(int(np.sum(nats >= best - CLOSE)), len(found)),
        "90 % limits hold": float(held.mean()),
        "CPU s": float(np.median(cpu)),
    }
    goals = {"recovered": at_least(0.9), "predicted": at_least(0.9), "90 % limits hold": at_most(0.95)}
    return Row(cells, goals)


def _judged(d: int, k: int, skewed: bool, number: int) -> tuple[float, ...]:
    """R2 of fit and oracle, log chances of hidden entries by both, what limits hold, factors found and CPU seconds."""
    rng = np.random.default_rng(FIRST_SEED + number)
    z, w = rng.normal(size=(N, k)), 0.6 * rng.normal(size=(k, d))
    cuts = CUTS + (rng.uniform(1, 2.5, (d, 1)) * rng.choice([-1, 1], (d, 1)) if skewed else np.zeros((d, 1)))
    eta = z @ w
    y = np.sum((eta + rng.logistic(size=eta.shape))[..., None] > cuts, axis=2).astype(float)
    hidden = rng.random(y.shape) < HIDDEN
    shown = np.where(hidden, np.nan, y)
    model, seconds = _fitted("ordinal", shown, 2 * k)
    mean, spread = _oracle_codes(y, ~hidden, w, cuts)
    at, variance = mean @ w, np.einsum("kd,nkl,ld->nd", w, spread, w)
    own = np.broadcast_to(cuts, (len(y), *cuts.shape))[hidden]
    best = expected(lambda a, b: _log_level(a, b, own), y[hidden], at[hidden], variance[hidden])
    nats = predicted(model, "ordinal", shown, y, hidden)
    return (
        *(recovery(z, model.scores_), recovery(z, mean), nats, best),
        *(_held(model, shown, y, hidden), model.n_components_, seconds),
    )


def _fitted(kind: str, shown: Any, most: int | None = None) -> tuple[Any, float]:
    model = latens.MultiViewFactorAnalysis(most, likelihoods={"v": kind}, random_state=0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, _ = cpu_seconds(lambda: model.fit({"v": shown}))
    return model, seconds


def _held(model: Any, shown: Any, y: Any, hidden: Any) -> float:
    """The share of hidden cells within limits of a coverage of 90 %."""
    _, low, high = (part["v"] for part in model.impute({"v": shown}, coverage=COVERAGE))
    return float(np.mean(((y >= low) & (y <= high))[hidden]))


def _log_level(y: Any, eta: Any, cuts: Any) -> Any:
    """log P(y | eta) of an ordered logit; cuts (..., C - 1) stand before those of each entry."""
    ends = np.full((*cuts.shape[:-1], 1), np.inf)
    every, at = np.concatenate([-ends, cuts, ends], axis=-1), y.astype(int)[..., None]
    every = np.broadcast_to(every, (*y.shape, every.shape[-1]))
    low, high = (np.take_along_axis(every, at + side, axis=-1)[..., 0] for side in (0, 1))
    return np.log(np.maximum(expit(high - eta) - expit(low - eta), 1e-300))


def _oracle_codes(y: Any, seen: Any, w: Any, cuts: Any) -> tuple[Any, Any]:
    """Modes (n, K) and covariances (n, K, K) of the codes, by Newton's method on the exact likelihood."""
    ends = np.full((len(cuts), 1), np.inf)
    every, place, column = np.concatenate([-ends, cuts, ends], axis=1), y.astype(int), np.arange(y.shape[1])
    z = np.zeros((len(y), len(w)))
    for _ in range(30):
        above, below = (expit(sign * (every[column, place + side] - z @ w)) for side, sign in ((0, 1), (1, -1)))
        bend = seen * (above * (1 - above) + below * (1 - below))
        precision = np.einsum("kd,nd,ld->nkl", w, bend, w, optimize=True) + np.eye(len(w))
        step = np.linalg.solve(precision, ((seen * (above - below)) @ w.T - z)[..., None])[..., 0]
        z = z + np.clip(step, -1, 1)
    return z, np.linalg.inv(precision)


def real(setting: Setting) -> list[Table]:
    rows = []
    for name, (source, columns) in TABLES.items():
        path = setting.results / "real-scales" / f"{name}.jsonl"
        n_masks = 1 if setting.name == "quick" else 5
        found = answers(path, partial(_filled, source, columns), n_masks, setting.jobs)
        for kind in ("ordinal", "gaussian", "categorical"):
            nats, error, held, number, cpu = np.mean([each[kind] for each in found], axis=0)
            cells: dict[str, Value] = {
                "table": name,
                "kind": kind,
                "factors": float(number),
                "nats": float(nats),
                "error": float(error),
                "90 % limits hold": float(held) if kind != "categorical" else None,
                "CPU s": float(cpu),
            }
            rows.append(Row(cells, {"90 % limits hold": at_most(0.95)} if kind == "ordinal" else {}))
    return [Table("Hidden cells of real scales, five masks of a tenth", rows)]


def _filled(source: str, columns: tuple[str, ...], number: int) -> dict[str, tuple[float, ...]]:
    """Nats, errors, what limits hold, factors and CPU seconds of one mask by kind of view."""
    y, rng = (
        of_statsmodels(source)[list(columns)].to_numpy(float)[:MOST_ROWS],
        np.random.default_rng(FIRST_SEED + number),
    )
    hidden = rng.random(y.shape) < HIDDEN
    hidden[hidden.all(axis=1)] = False
    shown, found = np.where(hidden, np.nan, y), {}
    spread = np.nanstd(shown, axis=0)
    for kind in ("ordinal", "gaussian", "categorical"):
        model, seconds = _fitted(kind, shown)
        if kind == "gaussian":
            mean, std = (part["v"] for part in model.impute({"v": shown}, return_std=True))
            nats = _mass_of_levels(shown, y, mean, std)[hidden].mean()
        else:
            chances = model.impute_proba({"v": shown})["v"].values()
            levels = [np.array(own) for own in model.levels_["v"].values()]
            mean = np.column_stack([own @ values for own, values in zip(chances, levels, strict=True)])
            nats = predicted(model, kind, shown, y, hidden)
        error = np.sqrt(np.mean(((mean - y) / spread)[hidden] ** 2))
        held = 1.0 if kind == "categorical" else _held(model, shown, y, hidden)
        found[kind] = (float(nats), float(error), held, float(model.n_components_), seconds)
    return found


def _mass_of_levels(shown: Any, y: Any, mean: Any, std: Any) -> Any:
    """(n, D), log of a normal's mass from half the way to the level before to half the way to the next."""
    masses = np.empty(y.shape)
    for d in range(y.shape[1]):
        levels = np.unique(shown[~np.isnan(shown[:, d]), d])
        ends = np.concatenate([[-np.inf], 0.5 * (levels[1:] + levels[:-1]), [np.inf]])
        at, sd = np.clip(np.searchsorted(levels, y[:, d]), 0, len(levels) - 1), np.maximum(std[:, d], 1e-9)
        low, high = ((ends[at + side] - mean[:, d]) / sd for side in (0, 1))
        masses[:, d] = np.log(np.maximum(norm.cdf(high) - norm.cdf(low), 1e-300))
    return masses
