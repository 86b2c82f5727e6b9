"""Log density of held-out rows beside maximum likelihood and scikit-learn's variational mixture, the same K for all."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.mixture import BayesianGaussianMixture
from sklearn.mixture import GaussianMixture as PlainMixture

import latens
from benchmarks.clocks import ROOT
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, Value, at_least

__all__ = ["run"]

K = 8
N_SPLITS = 10


def run(setting: Setting) -> list[Table]:
    splits = N_SPLITS if setting.name == "full" else 1
    rows = [_row(name, x, kind, splits) for name, x in _data().items() for kind in ("full", "diag")]
    notes = [
        f"nats per held-out row, mean over {splits} splits 70:30, at most K = {K} clusters; maximum likelihood: best "
        "of 3 starts; goal: at most .02 below the better of the two"
    ]
    return [Table("Held-out log density", rows, notes)]


def _row(name: str, x: np.ndarray, kind: str, splits: int) -> Row:
    scores: dict[str, list[float]] = {"latens": [], "maximum likelihood": [], "scikit-learn VB": []}
    sizes = []
    for seed in range(FIRST_SEED, FIRST_SEED + splits):
        order = np.random.default_rng(seed).permutation(len(x))
        train, asked = x[order[: int(0.7 * len(x))]], x[order[int(0.7 * len(x)) :]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model: Any = latens.GaussianMixture(K, covariance_type=kind, random_state=seed, n_jobs=1).fit(train)
            plain = PlainMixture(K, covariance_type=kind, n_init=3, random_state=seed % 2**31).fit(train)
            peer = BayesianGaussianMixture(
                n_components=K, covariance_type=kind, max_iter=500, n_init=3, random_state=seed % 2**31
            ).fit(train)
        scores["latens"].append(model.score(asked))
        scores["maximum likelihood"].append(plain.score(asked))
        scores["scikit-learn VB"].append(peer.score(asked))
        sizes.append(model.n_components_)
    mean = {way: float(np.mean(values)) for way, values in scores.items()}
    above = mean["latens"] - max(mean["maximum likelihood"], mean["scikit-learn VB"])
    cells: dict[str, Value] = {"data": f"{name}, {kind}", **mean, "above the better": above, "K found": np.mean(sizes)}
    return Row(cells, {"above the better": at_least(-0.02)})


def _data() -> dict[str, np.ndarray]:
    sets = {"iris": load_iris().data, "wine": load_wine().data}
    folder = Path(os.environ.get("LATENS_DATA") or ROOT.parent / "shared" / "data") / "signals"
    for name in ("faithful", "galaxies"):
        path = folder / f"{name}.csv"
        if path.is_file():
            table = np.genfromtxt(path, delimiter=",", names=True)
            columns = [table[column] for column in table.dtype.names or ()]
            columns = [column for column in columns if not np.isnan(column).any() and len(set(np.diff(column))) > 1]
            sets[name] = np.column_stack(columns)
    for d, k, n in ((2, 5, 400), (10, 8, 2000), (20, 8, 3000)):
        sets[f"{k} clusters in {d} columns"], _ = latens.datasets.make_mixture(
            n, n_components=k, n_features=d, spread=2.5, shape="any", random_state=FIRST_SEED
        )
    return sets
