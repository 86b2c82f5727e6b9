"""How well sources are separated, over noise levels and kinds of sources."""

from __future__ import annotations

import warnings
from collections import defaultdict

import numpy as np

import latens
from benchmarks.clocks import cpu_seconds
from benchmarks.peers.separation import METHODS
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Count, Row, Table, at_least, at_most

__all__ = ["equal_noise", "large", "low_noise", "number", "unequal_noise"]

MOST_SEEDS = 20
FRESH = FIRST_SEED + 10_000  # seeds before it were seen while deletions were tuned


def low_noise(setting: Setting) -> list[Table]:
    """Student-t sources of 3 degrees of freedom, 100 iterations at most."""
    rows = []
    for snr in (0.0, 20.0, 30.0, 40.0):
        found = _contest(setting, snr=snr, noise="equal", max_iter=100)
        mean = {name: float(np.mean(values["Amari"])) for name, values in found.items()}
        ratio = mean["latens"] / mean["FA, then FastICA"]
        goals = {"ratio": at_most(1.1)} if snr == 0 else {"latens": at_most(0.02)}
        rows.append(Row({"SNR (dB)": snr, **mean, "ratio": ratio}, goals))
    note = "mean Amari distance; ratio: latens over FA, then FastICA; t3, N = 2000, D = 10, K = 3, 100 iterations"
    return [Table("Student-t sources, equal noise", rows, [note])]


def unequal_noise(setting: Setting) -> list[Table]:
    rows = []
    for kind in ("student", "laplace", "uniform", "mixed"):
        found = _contest(setting, d=16, k=4, snr=0.0, noise="unequal", kind=kind)
        mean = {name: float(np.mean(values["correlation"])) for name, values in found.items()}
        over = {f"over {name}": mean["latens"] - mean[name] for name in ("FastICA", "FA, then FastICA")}
        goals = {"over FastICA": at_least(0.2), "over FA, then FastICA": at_least(0.0)} if kind == "student" else {}
        rows.append(Row({"sources": kind, **mean, **over, "CPU s": float(np.mean(found["latens"]["CPU"]))}, goals))
    note = (
        "mean correlation with the true sources, over paired seeds; log-normal noise variances, N = 2000, D = 16, K = 4"
    )
    return [Table("Unequal noise, 0 dB", rows, [note])]


def equal_noise(setting: Setting) -> list[Table]:
    rows = []
    for kind in ("student", "laplace", "uniform"):
        for snr in (-5.0, 0.0, 10.0):
            found = _contest(setting, d=16, k=4, snr=snr, noise="equal", kind=kind)
            mean = {name: float(np.mean(values["correlation"])) for name, values in found.items()}
            cells = {"sources": kind, "SNR (dB)": snr, **mean, "over FastICA": mean["latens"] - mean["FastICA"]}
            cells["four sources"] = Count(sum(k == 4 for k in found["latens"]["K"]), len(found["latens"]["K"]))
            light = Count(int(sum(found["latens"]["light"])), 4 * len(found["latens"]["light"]))
            goals = {"over FastICA": at_least(-0.01)}
            if kind == "uniform" and snr > -5:
                goals["sub-Gaussian"] = at_least(0.9)
            rows.append(Row({**cells, "sub-Gaussian": light}, goals))
    return [
        Table(
            "Equal noise",
            rows,
            ["mean correlation with the true sources; K = 4 is given, an upper bound to latens; N = 2000, D = 16"],
        )
    ]


def number(setting: Setting) -> list[Table]:
    """Of sources, from an upper bound of 10 or one that the data choose."""
    rows = []
    for d, k, start, snr, kind in (
        (16, 4, 10, 0.0, "student"),
        (10, 3, None, 10.0, "student"),
        (16, 4, 10, 5.0, "mixed"),
    ):
        hits, cpu, n = 0, [], min(setting.n_seeds, MOST_SEEDS)
        for seed in range(FRESH, FRESH + n):
            x, _ = latens.datasets.make_ica(2000, d, k, sources=kind, snr=snr, noise="unequal", random_state=seed)
            model = latens.NoisyICA(start, random_state=seed)
            seconds, _ = cpu_seconds(lambda x=x, model=model: model.fit(x))
            cpu.append(seconds)
            hits += model.n_components_ == k
        cells = {"sources": kind, "D": d, "K": k, "from": str(start), "SNR (dB)": snr}
        rows.append(Row({**cells, "exact": Count(hits, n), "CPU s": float(np.mean(cpu))}, {"exact": at_least(0.9)}))
    return [Table("Number of sources, unequal noise", rows, ["N = 2000"])]


def large(setting: Setting) -> list[Table]:
    """One fit of many rows."""
    n = 100_000 if setting.name == "full" else 5_000
    x, truth = latens.datasets.make_ica(n, 32, 8, snr=10.0, noise="unequal", random_state=FRESH)
    model = latens.NoisyICA(8, moves=False, random_state=0, n_jobs=1)
    seconds, _ = cpu_seconds(lambda: model.fit(x))
    amari = latens.metrics.amari_distance(model.unmixing_, truth.mixing)
    cells = {
        "N": n,
        "K": 8,
        "iterations": model.n_iter_,
        "CPU s": seconds,
        "CPU s an iteration": seconds / model.n_iter_,
    }
    return [Table("Many rows", [Row({**cells, "Amari": amari})])]


def _contest(
    setting: Setting,
    *,
    d: int = 10,
    k: int = 3,
    snr: float,
    noise: str,
    kind: str = "student",
    max_iter: int = 500,
) -> dict[str, dict[str, list[float]]]:
    """Amari distances and correlations of all methods on the same data."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for seed in range(FRESH, FRESH + min(setting.n_seeds, MOST_SEEDS)):
        x, truth = latens.datasets.make_ica(2000, d, k, sources=kind, snr=snr, noise=noise, random_state=seed)
        model = latens.NoisyICA(k, max_iter=max_iter, tol=1e-6 if max_iter == 100 else 1e-5, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # 100 iterations may be all that is allowed
            seconds, _ = cpu_seconds(lambda x=x, model=model: model.fit(x))
        answers = {name: method(x, k, seed) for name, method in METHODS.items()}
        answers["latens"] = model.unmixing_, model.transform(x)
        for name, (unmixing, sources) in answers.items():
            if len(unmixing) == k:
                found[name]["Amari"].append(latens.metrics.amari_distance(unmixing, truth.mixing))
            found[name]["correlation"].append(latens.metrics.source_correlation(sources, truth.sources))
        found["latens"]["CPU"].append(seconds)
        found["latens"]["K"].append(model.n_components_)
        found["latens"]["light"].append(float(np.sum(model.levels_ > 0)))
    return found
