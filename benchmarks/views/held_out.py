"""CPU time until hidden entries are predicted as well as mofapy2 predicts them at its end, case c.

One entry in ten of each view is hidden. Both are judged by what they say of hidden entries on average, with the same
formula: measurements are normal about it with the spread of the column's own training residuals, yes and no have it for
their chance, counts are Poisson with that mean. Ours is the CPU time of a whole default fit that says no less than
mofapy2 does at its own end; it may have been there before.
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

HIDDEN, FASTER, LEAST_CHANCE = 0.1, 5.0, 1e-4
Views = dict[str, np.ndarray]


def run(setting: Setting) -> list[Table]:
    if not is_installed():
        return [Table("Time until hidden entries are predicted", [], ["mofapy2 is not installed: pip install mofapy2"])]
    small = setting.name == "quick"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _ours(problem("c", 0, small=True), problem("c", 0, small=True).views)  # loads and compiles what there is
        rows = [_row(FIRST_SEED + number, small) for number in range(1 if small else 3)]
    return [Table("CPU time until hidden entries are predicted as by mofapy2 at its end, case c", rows)]


def _row(seed: int, small: bool) -> Row:
    p, rng = problem("c", seed, small), np.random.default_rng(seed)
    hidden = {name: rng.random(view.shape) < HIDDEN for name, view in p.views.items()}
    shown = {name: np.where(hidden[name], np.nan, view) for name, view in p.views.items()}
    seconds, expected = cpu_seconds(lambda: _ours(p, shown))
    theirs = mofapy2_factors(shown, p.truth.likelihoods, p.n_components, 0)
    kinds = p.truth.likelihoods
    ours = log_likelihood(expected, p.views, hidden, kinds)
    best = log_likelihood(_predicted(theirs, shown, kinds), p.views, hidden, kinds)
    cells: dict[str, Any] = {
        "seed": seed,
        "nats an entry": ours,
        "mofapy2's": best,
        "CPU s": seconds,
        "mofapy2 CPU s": theirs.seconds,
        "times faster": theirs.seconds / seconds if ours >= best else 0.0,
    }
    return Row(cells, {"times faster": at_least(FASTER)})


def _ours(p: Any, shown: Views) -> Views:
    model = latens.MultiViewFactorAnalysis(p.n_components, likelihoods=p.truth.likelihoods, random_state=0, n_jobs=1)
    model.fit(shown)
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
