"""The authors' own program for document 003, where it is installed, for comparison."""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module, util

import numpy as np

from latens.array import Floats

__all__ = ["Factors", "is_installed", "mofapy2_factors"]


@dataclass(frozen=True, eq=False)
class Factors:
    """What a fit found, whoever made it."""

    scores: Floats  # (n, K)
    components: Mapping[str, Floats]  # (K, D_m)
    elbo: Floats  # (n_iter,)
    seconds: float  # of processor time


def is_installed() -> bool:
    return util.find_spec("mofapy2") is not None


def mofapy2_factors(
    views: Mapping[str, Floats], likelihoods: Mapping[str, str], k: int, seed: int, iterations: int | None = None
) -> Factors:
    """mofapy2 with its defaults: spike-and-slab loadings, "fast" convergence, or so many iterations.

    It prints much, which is kept away.
    """
    clock = time.process_time()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        entry = import_module("mofapy2.run.entry_point").entry_point()
        entry.set_data_options()
        entry.set_data_matrix(
            [[np.array(view)] for view in views.values()],
            likelihoods=[likelihoods[name] for name in views],
            views_names=list(views),
        )
        entry.set_model_options(factors=k, spikeslab_weights=True, ard_weights=True)
        how_long = (
            {"iter": 1000}
            if iterations is None
            else {"iter": iterations, "convergence_mode": "slow", "startELBO": 1, "freqELBO": 1}
        )
        entry.set_train_options(**{"convergence_mode": "fast"} | how_long, seed=seed, verbose=False, quiet=True)
        entry.build()
        entry.run()
    nodes = entry.model.nodes
    weights = [np.asarray(node["E"]).T for node in nodes["W"].getExpectations()]
    elbo = np.asarray(entry.model.train_stats["elbo"], dtype=np.float64)
    return Factors(
        np.asarray(nodes["Z"].getExpectations()["E"]),
        dict(zip(views, weights, strict=True)),
        elbo[np.isfinite(elbo)],
        time.process_time() - clock,
    )
