"""Inclusion probabilities of sparse factors beside how often loadings are in: truths drawn from the prior's spikes.

Rules, written before the run: 200 data sets of 40 columns and 3 factors each, on none of which anything was chosen
(with 40 the standard error of a fifth is as large as what is allowed), shares of loadings that are in drawn from their
uniform prior, sizes from a normal, the number of factors told; factors matched by their values. Rows
are drawn from the model's own likelihoods, counts with a dispersion of .003 or so. Fits are default fits, which look
for axes (until now they did without, `moves=False`), but keep all factors. Stated probabilities are put into fifths of
[0, 1]; a fifth with at least 100 loadings must be within .08 of the share that is truly in, whose standard error,
clustered by data set, stands beside it. Stated by the fit (`inclusion_`), by its rows asked anew
(`inclusion_probabilities`), and by Gibbs draws from other starts.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

import latens
from benchmarks.records import answers, slug
from benchmarks.setting import Setting
from benchmarks.tables import Row, Table, at_most
from latens.families.known_gamma import KnownGamma
from latens.models.likelihoods.counts import PoissonCounts
from latens.models.likelihoods.interface import Columns

__all__ = ["run"]

N_SETS, D, K, FEWEST, WITHIN = 200, 40, 3, 100, 0.08
UNTOUCHED = 83_000  # data sets before it were looked at while the draws were written
CASES = tuple((kind, n) for kind in ("gaussian", "bernoulli", "poisson") for n in (100, 400))
TAU = (3.0, 1e-2)  # shape and rate of the inverse dispersion of counts


def run(setting: Setting) -> list[Table]:
    """Every kind of view, with few and with many samples."""
    n_sets, rows = N_SETS if setting.name == "full" else 1, []
    for which, (kind, n) in enumerate(CASES):
        name = f"{kind}, N = {n}"
        if setting.asks_for(name):
            results = setting.results / "intervals" / f"inclusion-{slug(name)}.jsonl"
            sets = answers(results, partial(judged, which), n_sets, setting.jobs)
            rows += [row for how in ("fit", "rows", "gibbs") for row in _rows(name, how, sets)]
    return [Table("Inclusion probabilities beside what is in", rows)]


def _rows(name: str, how: str, sets: list[dict[str, Any]]) -> list[Row]:
    pairs = [(*pair, which) for which, one in enumerate(sets) for pair in one.get(how, [])]
    if not pairs:
        return [Row({"view": name, "stated by": how, "fifth": "not available"})]
    stated, truth, of_set = np.array(pairs).T
    rows = []
    for low in np.linspace(0.0, 0.8, 5):
        inside = (stated >= low) & (stated < low + 0.2 + (low > 0.7))
        if not inside.any():
            continue
        cells: dict[str, Any] = {
            "view": name,
            "stated by": how,
            "fifth": f"{low:.1f} to {low + 0.2:.1f}",
            "loadings": int(inside.sum()),
            "stated": float(stated[inside].mean()),
            "true": float(truth[inside].mean()),
        }
        gaps = (truth - stated)[inside] - (cells["true"] - cells["stated"])
        cells["s.e."] = float(np.sqrt(np.sum(np.bincount(of_set[inside].astype(int), gaps) ** 2)) / inside.sum())
        cells["apart"] = abs(cells["stated"] - cells["true"])
        rows.append(Row(cells, {"apart": at_most(WITHIN)} if inside.sum() >= FEWEST else {}))
    return rows


def judged(which: int, number: int) -> dict[str, list[tuple[float, float]]]:
    """Of one data set: stated probability and truth of every loading, by the fit, by its rows and by draws."""
    kind, n = CASES[which]
    rng = np.random.default_rng([UNTOUCHED + number, 7, which])
    z, on = rng.normal(size=(n, K)), rng.random((K, D)) < rng.random((K, 1))
    eta = z @ (on * rng.normal(size=(K, D)))
    if kind == "gaussian":
        x = eta + rng.normal(size=eta.shape)
    elif kind == "bernoulli":
        x = (rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(float)
    else:
        dispersion = KnownGamma(rng.gamma(TAU[0], size=D) / TAU[1])
        x = PoissonCounts(np.zeros(D)).draw(0.4 * eta + 1, Columns(dispersion), rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.MultiViewFactorAnalysis(K, likelihoods={"x": kind}, prune=False, random_state=0).fit({"x": x})
        codes = np.asarray(model.transform({"x": x}))
        found: dict[str, Any] = {"fit": np.asarray(model.inclusion_["x"]), "gibbs": None}
        found["rows"] = model.inclusion_probabilities({"x": x})["x"]
        if kind != "poisson":
            found["gibbs"] = model.sample_posterior(200, method="gibbs", X={"x": x})["inclusion"]["x"].mean(axis=0)
    together = np.abs(np.corrcoef(codes.T, z.T)[:K, K:])
    ours, theirs = linear_sum_assignment(-np.nan_to_num(together))
    return {
        how: []
        if stated is None
        else [(float(p), float(t)) for p, t in zip(np.ravel(stated[ours]), np.ravel(on[theirs]), strict=True)]
        for how, stated in found.items()
    }
