"""CPU time until hidden entries are predicted as well as mofapy2 predicts them at its end, case c.

One entry in ten of each view is hidden. Both are judged by what they say of hidden entries on average, with the same
formula: measurements are normal about it with the spread of the column's own training residuals, yes and no have it for
their chance, counts are Poisson with that mean. Ours is the CPU time of the shortest of fits of 1, 2, 3, 5, 10, 20, ...
iterations that says no less than mofapy2 does at its own end, its start included: from random codes, as mofapy2 starts,
and from the usual start, which tries ten others first. Moves are left out, since mofapy2 has none.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm, poisson

import latens
from benchmarks.clocks import cpu_seconds
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_least
from benchmarks.views.problems import problem
from latens.experiments.mofapy2_peer import is_installed, mofapy2_factors

__all__ = ["run"]

STEPS = (1, 2, 3, 5, 10, 20, 40, 80, 160, 320, 640)
HIDDEN, FASTER, LEAST_CHANCE = 0.1, 5.0, 1e-4
Views = dict[str, np.ndarray]


def run(setting: Setting) -> list[Table]:
    if not is_installed():
        return [Table("Time until hidden entries are predicted", [], ["mofapy2 is not installed: pip install mofapy2"])]
    small = setting.name == "quick"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = problem("c", 0, small=True)
        for init in ("random", "auto"):
            _ours(first, _shown(first.views, _hidden(first.views, 0)), 5, init)  # loads and compiles what there is
        rows = [row for number in range(1 if small else 5) for row in _rows(FIRST_SEED + number, small)]
    return [Table("CPU time until hidden entries are predicted as by mofapy2 at its end, case c", rows)]


def _rows(seed: int, small: bool) -> list[Row]:
    p = problem("c", seed, small)
    hidden = _hidden(p.views, seed)
    shown = _shown(p.views, hidden)
    theirs, kinds = mofapy2_factors(shown, p.truth.likelihoods, p.n_components, 0), p.truth.likelihoods
    best = log_likelihood(_predicted(theirs, shown, kinds), p.views, hidden, kinds)
    rows = []
    for init in ("random", "auto"):
        for steps in STEPS:
            seconds, expected = cpu_seconds(lambda steps=steps, init=init: _ours(p, shown, steps, init))
            ours = log_likelihood(expected, p.views, hidden, kinds)
            if ours >= best:
                break
        cells: dict[str, Any] = {
            "seed": seed,
            "start": init,
            "iterations": steps,
            "nats an entry": ours,
            "mofapy2's": best,
            "CPU s": seconds,
            "mofapy2 CPU s": theirs.seconds,
            "times faster": theirs.seconds / seconds if ours >= best else 0.0,
        }
        rows.append(Row(cells, {"times faster": at_least(FASTER)} if init == "random" else {}))
    return rows


def _hidden(views: Views, seed: int) -> Views:
    rng = np.random.default_rng(seed)
    return {name: rng.random(view.shape) < HIDDEN for name, view in views.items()}


def _shown(views: Views, hidden: Views) -> Views:
    return {name: np.where(hidden[name], np.nan, view) for name, view in views.items()}


def _ours(p: Any, shown: Views, steps: int, init: str = "random") -> Views:
    model = latens.MultiViewFactorAnalysis(p.n_components, likelihoods=p.truth.likelihoods, random_state=0, n_jobs=1)
    model.set_params(moves=False, max_iter=steps, init=init).fit(shown)
    return {name: np.asarray(view) for name, view in model.inverse_transform(model.scores_).items()}


def _predicted(found: Any, shown: Views, kinds: dict[str, str]) -> Views:
    """What mofapy2's factors say: measurements about their means, and its links of yes and no and of counts."""
    out = {}
    for name, view in shown.items():
        eta = found.scores @ found.components[name]
        if kinds[name] == "gaussian":
            out[name] = eta + np.nanmean(view, axis=0)
        else:
            out[name] = expit(eta) if kinds[name] == "bernoulli" else np.logaddexp(0, eta)
    return out


def log_likelihood(expected: Views, views: Views, hidden: dict[str, Any], kinds: dict[str, str]) -> float:
    """Nats an entry, over the hidden entries of all views."""
    terms = []
    for name, y in views.items():
        mean, out = expected[name], hidden[name]
        if kinds[name] == "gaussian":
            residual = np.where(out, np.nan, y - mean)
            sd = np.broadcast_to(np.sqrt(np.nanmean(residual**2, axis=0)), y.shape)
            each = norm.logpdf(y, mean, sd)
        elif kinds[name] == "bernoulli":
            chance = np.clip(mean, LEAST_CHANCE, 1 - LEAST_CHANCE)
            each = np.log(np.where(y > 0, chance, 1 - chance))
        else:
            each = poisson.logpmf(y, np.maximum(mean, LEAST_CHANCE))
        terms.append(each[out])
    return float(np.concatenate(terms).mean())
