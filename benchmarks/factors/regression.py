"""Bayesian linear regression beside scikit-learn's BayesianRidge."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import BayesianRidge

import latens
from benchmarks.clocks import fastest
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_least, at_most

__all__ = ["run"]


def run(setting: Setting) -> list[Table]:
    """Evidence reached, and time."""
    sizes = ((1_000, 20), (100_000, 50), (2_000, 500)) if setting.name == "full" else ((200, 5),)
    flat = {"alpha_1": 0, "alpha_2": 0, "lambda_1": 0, "lambda_2": 0}
    rows = []
    for n, d in sizes:
        rng = np.random.default_rng(FIRST_SEED)
        x = rng.normal(size=(n, d)) * rng.uniform(0.1, 3, d)
        y = x @ (rng.normal(size=d) * (rng.random(d) < 0.5)) + rng.normal(size=n)
        ours, peer = latens.BayesianLinearRegression().fit(x, y), BayesianRidge(**flat, compute_score=True).fit(x, y)
        # its own score mixes the precisions of one iteration with the weights of another
        theirs = latens.BayesianLinearRegression(float(peer.lambda_), float(peer.alpha_)).fit(x, y).elbo_
        cells = {
            "N": n,
            "D": d,
            "CPU ms": 1e3 * fastest(lambda x=x, y=y: latens.BayesianLinearRegression().fit(x, y), 3),
            "scikit-learn CPU ms": 1e3 * fastest(lambda x=x, y=y: BayesianRidge(**flat).fit(x, y), 3),
            "evidence above scikit-learn": ours.elbo_ - theirs,
            "above its own score": ours.elbo_ - peer.scores_[-1],
            "largest gap of weights": float(np.max(np.abs(ours.coef_ - peer.coef_)) / np.max(np.abs(peer.coef_))),
        }
        goals = {"evidence above scikit-learn": at_least(-1e-6), "largest gap of weights": at_most(1e-2)}
        rows.append(Row(cells, goals))
    return [Table("Evidence maximisation", rows)]
