"""Held-out documents: causes with profiles beside a mixture of Bernoullis; sizes chosen on validation rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat
from scipy.sparse import csr_array

import latens
from benchmarks.clocks import ROOT, cpu_seconds
from benchmarks.setting import Setting
from benchmarks.tables import Row, Table, at_least

__all__ = ["default", "run"]

NAME = "text/20news_w100.mat"
N_TEST, N_VALIDATION = 3000, 2500
SIZES = ((40, 1), (40, 20), (40, 30), (40, 50), (60, 30), (60, 50))  # causes, profiles
ABSENT = f"no file {NAME}; set LATENS_DATA to the folder of data sets"
MIXTURE = -13.842  # 40 Bernoulli components, on the same split


def run(setting: Setting) -> list[Table]:
    X = _documents()
    if X is None:
        return [Table("Held-out text", [], [ABSENT])]
    order = np.random.default_rng(0).permutation(X.shape[0])
    learn, test = X[order[:-N_TEST]], X[order[-N_TEST:]]
    sizes = SIZES if setting.name == "full" else ((5, 2),)
    if setting.name != "full":
        learn, test = learn[:3000], test[:300]
    part, validation = learn[:-N_VALIDATION], learn[-N_VALIDATION:]
    rows, scores = [], {}
    for k, p in sizes:
        model, seconds = _fitted(part, k, p)
        scores[k, p] = model.score(validation)
        cells = {"causes": k, "profiles": p, "alive": model.n_components_, "validation": scores[k, p], "CPU s": seconds}
        rows.append(Row(cells))
    best = max(scores, key=lambda size: scores[size])
    model, seconds = _fitted(learn, *best)
    answer = model.score(test)
    final = Row(
        {"method": f"latens, K = {best[0]}, {best[1]} profiles", "held out": answer, "CPU s": seconds},
        {"held out": at_least(MIXTURE)},
    )
    peer = Row({"method": "Bernoulli mixture, 40 components (recorded)", "held out": MIXTURE})
    notes = ["noisy-OR: exact for rows of few ones, for the others a lower bound, summed over the best states"]
    return [
        Table("20news_w100, sizes chosen on validation rows, nats per row", rows),
        Table("20news_w100, nats per held-out row", [final, *_mixture(learn, test), peer], notes),
    ]


def default(setting: Setting) -> list[Table]:
    """All documents, nothing chosen but the number of causes."""
    X = _documents()
    if X is None:
        return [Table("All documents", [], [ABSENT])]
    rows, k = (X, 40) if setting.name == "full" else (X[:1000], 8)
    model = latens.NoisyOr(k, random_state=0, n_jobs=1)
    seconds, _ = cpu_seconds(lambda: model.fit(rows))
    cells = {"causes": k, "alive": model.n_components_, "profiles": model.n_profiles_, "CPU s": seconds}
    row = Row({**cells, "bound, nats per row": model.elbo_ / rows.shape[0]})
    return [Table("20news_w100, all documents, default settings", [row])]


def _documents() -> csr_array | None:
    path = Path(os.environ.get("LATENS_DATA") or ROOT.parent / "shared" / "data") / NAME
    return csr_array(loadmat(path)["documents"].T.tocsr().astype(float)) if path.is_file() else None


def _fitted(rows: csr_array, k: int, p: int) -> tuple[Any, float]:
    model = latens.NoisyOr(k, n_profiles=p, n_init=1, moves=False, tol=2e-4, max_iter=150, random_state=0, n_jobs=1)
    seconds, _ = cpu_seconds(lambda: model.fit(rows))
    return model, seconds


def _mixture(learn: csr_array, test: csr_array) -> list[Row]:
    model = latens.BernoulliMixture(40, random_state=0, n_jobs=1)
    seconds, _ = cpu_seconds(lambda: model.fit(learn))
    return [Row({"method": "latens.BernoulliMixture(40)", "held out": model.score(test), "CPU s": seconds})]
