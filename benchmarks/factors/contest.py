"""Likelihood, covariance and time of factor analysis: exact, streamed, with few rows, with holes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.decomposition import FactorAnalysis as Peer

import latens
from benchmarks.clocks import cpu_seconds, fastest
from benchmarks.factors.likelihood import by_em, by_lbfgs, log_likelihood
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_least, at_most
from latens.families.low_rank import LowRankNormal
from latens.metrics import covariance_distance, gaussian_kl

__all__ = ["few_rows", "holes", "likelihood", "speed", "streams"]

K = 10
SPECTRA = ((1.0, 10.0), (1.0, 100.0), (1.0, 10_000.0))


def likelihood(setting: Setting) -> list[Table]:
    """How far below the best of L-BFGS and 1,500 steps of EM."""
    sizes = ((100, 100_000), (1000, 20_000)) if setting.name == "full" else ((30, 2_000),)
    rows = []
    for d, n in sizes:
        for spectrum in SPECTRA:
            x, truth = _data(n, d, spectrum, 0)
            cov = np.cov(x.T, bias=True)
            best = max(log_likelihood(cov, n, *way) for way in (by_lbfgs(cov, K), by_em(cov, K, 1500)))
            ours_s, ours = cpu_seconds(lambda x=x: latens.FactorAnalysis(K, n_jobs=1).fit(x))
            ml = covariance_distance(ours, truth)
            peers: dict[str, Any] = {"randomized": Peer(K, random_state=0)}
            if d <= 100:
                peers["lapack"] = Peer(K, svd_method="lapack")
            cells: dict[str, Any] = {"D": d, "T": n, "spectrum": f"{spectrum[1]:g}"}
            cells |= {"nats below best": best - _height(cov, n, ours), "CPU s": ours_s}
            for name, peer in peers.items():
                seconds, fitted = cpu_seconds(lambda x=x, peer=peer: peer.fit(x))
                cells |= {
                    f"{name}: below": best - _height(cov, n, fitted),
                    f"{name}: distance / ours": covariance_distance(fitted.get_covariance(), truth) / ml,
                    f"{name}: CPU s": seconds,
                }
            rows.append(Row(cells, {"nats below best": at_most(0.1)}))
    return [Table("One pass: log-likelihood below the best of L-BFGS and 1,500 EM steps, K = 10", rows)]


def streams(setting: Setting) -> list[Table]:
    """`transport` over exact maximum likelihood, and online EM as printed."""
    sizes = ((100, 20_000), (1000, 20_000)) if setting.name == "full" else ((30, 1_000),)
    rows = []
    for d, n in sizes:
        for spectrum in SPECTRA:
            x, truth = _data(n, d, spectrum, 1)
            exact = latens.FactorAnalysis(K, solver="exact").fit(x)
            seconds, stream = cpu_seconds(
                lambda x=x: latens.FactorAnalysis(K, solver="transport", random_state=0).fit(x)
            )
            online = latens.FactorAnalysis(K, solver="online-em", random_state=0)
            online_s = fastest(lambda x=x, online=online: online.fit(x), 2)  # the first may compile
            cells = {
                "D": d,
                "T": n,
                "spectrum": f"{spectrum[1]:g}",
                "distance / ML": covariance_distance(stream, truth) / covariance_distance(exact, truth),
                "KL / ML": gaussian_kl(truth, stream) / gaussian_kl(truth, exact),
                "CPU s": seconds,
                "online EM: distance / ML": covariance_distance(online, truth) / covariance_distance(exact, truth),
                "us a row": 1e6 * online_s / n,
            }
            rows.append(Row(cells, {"distance / ML": at_most(1.03), "KL / ML": at_most(1.15)}))
    return [Table("Streams in O(D K) memory over exact maximum likelihood, K = 10", rows)]


def few_rows(setting: Setting) -> list[Table]:
    """Relevance determination where rows are few: KL from the truth over the better of ML and independence."""
    cases = [(100, n) for n in (30, 100, 300, 1000)] + [(1000, n) for n in (30, 150, 500, 1000)]
    n_seeds, cases = (20, cases) if setting.name == "full" else (2, [(30, 30), (30, 200)])
    rows = []
    for d, n in cases:
        losses = []
        for seed in range(n_seeds):
            x, truth = _data(n, d, SPECTRA[seed % 3], 100 + seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fits = [latens.FactorAnalysis(K, prior=prior).fit(x) for prior in ("ard", "ml")]
            diagonal = LowRankNormal(x.mean(axis=0), np.zeros((1, d)), x.var(axis=0))
            losses.append([*(gaussian_kl(truth, fit) for fit in fits), gaussian_kl(truth, diagonal)])
        ard, ml, diagonal = np.mean(losses, axis=0)
        cells = {"D": d, "T": n, "seeds": n_seeds, "ard": ard, "ML": ml, "diagonal": diagonal}
        rows.append(Row(cells | {"ard / better": ard / min(ml, diagonal)}, {"ard / better": at_most(1.02)}))
    return [Table("Few rows: mean KL from the truth in nats, spectra in turn, K = 10", rows)]


def speed(setting: Setting) -> list[Table]:
    """A whole fit over the time of the Gram matrix alone, and over scikit-learn."""
    n, d = (100_000, 100) if setting.name == "full" else (5_000, 30)
    x, _ = _data(n, d, SPECTRA[0], 2)
    gram = fastest(lambda: x.T @ x, 5)
    ours = fastest(lambda: latens.FactorAnalysis(K, n_jobs=1).fit(x), 5)
    model = latens.FactorAnalysis(K, n_jobs=1).fit(x)
    peer_s, peer = cpu_seconds(lambda: Peer(K, random_state=0).fit(x))
    cells = {"N": n, "D": d, "CPU s": ours, "over Gram": ours / gram, "scikit-learn CPU s": peer_s}
    cells |= {"faster": peer_s / ours, "nats above scikit-learn": n * (model.score(x) - peer.score(x))}
    goals = {"over Gram": at_most(2.5), "faster": at_least(30), "nats above scikit-learn": at_least(0)}
    return [Table("A fit over the time of x.T @ x", [Row(cells, goals)])]


def holes(setting: Setting) -> list[Table]:
    """Entries missing at random: covariance distance over that of complete rows."""
    n, d = (20_000, 30) if setting.name == "full" else (1_000, 10)
    x, truth = latens.datasets.make_factor_model(n, n_features=d, n_components=3, random_state=FIRST_SEED + 3)
    full = covariance_distance(latens.FactorAnalysis(3).fit(x), truth)
    rows = []
    for share in (0.1, 0.2, 0.3):
        gappy = np.where(np.random.default_rng(FIRST_SEED).random(x.shape) < share, np.nan, x)
        seconds, batch = cpu_seconds(lambda gappy=gappy: latens.FactorAnalysis(3).fit(gappy))
        stream = latens.FactorAnalysis(3)
        for at in range(0, n, 1000):
            stream.partial_fit(gappy[at : at + 1000])
        cells = {"missing": share, "complete": full, "fit": covariance_distance(batch, truth)}
        rows.append(Row(cells | {"stream": covariance_distance(stream, truth), "fit CPU s": seconds}))
    return [Table(f"Missing entries: distance from the true covariance, T = {n}, D = {d}, K = 3", rows)]


def _data(n: int, d: int, spectrum: tuple[float, float], seed: int) -> tuple[np.ndarray, Any]:
    return latens.datasets.make_factor_model(
        n, n_features=d, n_components=K, spectrum=spectrum, random_state=FIRST_SEED + seed
    )


def _height(cov: np.ndarray, n: int, model: Any) -> float:
    return log_likelihood(cov, n, model.components_.T, model.noise_variance_)
