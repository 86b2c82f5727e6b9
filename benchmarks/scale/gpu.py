"""Iterations on a CUDA device beside the floor of each model, in float32; `--quick`: small sizes, on the host too."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.scale.floors import FLOORS, Ceilings, Shape
from benchmarks.scale.subjects import SUBJECTS, timed_fit
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_most

__all__ = ["factor_analysis", "run"]

N_ITERATIONS = 12
N_COPIES = 8  # of each row: the host takes longer to draw a million rows than a device to fit them


def run(setting: Setting) -> list[Table]:
    """Each model's floor is printed before its fit, the measured time after it."""
    device = _device(setting)
    ceilings = _ceilings(device, setting)
    print(f"{device}: {ceilings.multiplications:.3g} multiplications and {ceilings.numbers:.3g} numbers a second")
    rows = []
    for name, subject in SUBJECTS.items():
        shape = subject.device if setting.name == "full" else Shape(2000, 40, 5)
        floor = FLOORS[name](shape.d, shape.k)
        least = 1000 * floor.seconds(shape.n, ceilings)
        print(f"{name}: {shape}, floor {least:.2f} ms ({floor.why})", flush=True)
        drawn = replace(shape, n=shape.n // N_COPIES)
        x = _repeated(_sent(subject.draw(drawn, np.random.default_rng(FIRST_SEED)), device))
        try:
            timed_fit(subject.make, shape.k, _first(x, shape.n // 10), 3)  # kernels are compiled, memory is taken
            timing = timed_fit(subject.make, shape.k, x, N_ITERATIONS)
        except RuntimeError as error:  # out of memory is one; the others are still to be measured
            rows.append(Row({"model": name, "floor ms": least, "error": str(error)[:80]}))
            print(f"{name}: {error}", flush=True)
            continue
        cells = {
            "model": name,
            "N": shape.n,
            "D": shape.d,
            "K": shape.k,
            "floor ms": least,
            "iteration ms": 1000 * timing.iteration,
            "x floor": 1000 * timing.iteration / least,
            f"{N_ITERATIONS} iterations and start s": timing.whole,
            "falls": timing.falls,
        }
        rows.append(Row(cells, {"x floor": at_most(3), "falls": at_most(0)} if device == "cuda" else {}))
        print(rows[-1].cells, flush=True)
        del x
    return [Table(f"One iteration beside its floor, float32 on {device}", rows, _notes(ceilings))]


def factor_analysis(setting: Setting) -> list[Table]:
    """A whole fit of factor analysis beside the Gram matrix it needs, and a default mixture."""
    import latens

    device = _device(setting)
    full = setting.name == "full"
    shape = Shape(10**6, 1000, 20) if full else Shape(2000, 40, 3)
    rng = np.random.default_rng(FIRST_SEED)
    codes = rng.standard_normal((shape.n, shape.k), dtype=np.float32)
    x = codes @ rng.standard_normal((shape.k, shape.d), dtype=np.float32)
    x += rng.standard_normal((1, shape.d), dtype=np.float32)
    there = _sent(x, device)
    there += 0.5 * _noise(there)
    latens.FactorAnalysis(shape.k, random_state=0).fit(there[: shape.n // 10])
    gram = _seconds(lambda: there.T @ there, device, 5)
    fit = _seconds(lambda: latens.FactorAnalysis(shape.k, random_state=0).fit(there), device, 3)
    cells = {"N": shape.n, "D": shape.d, "K": shape.k, "Gram s": gram, "fit s": fit, "3 Gram + .1 s": 3 * gram + 0.1}
    print(cells, flush=True)
    rows = [Row(cells, {"fit s": at_most(3 * gram + 0.1)} if device == "cuda" else {})]
    clusters = replace(shape, n=10**6 if full else 2000, d=20, k=20)
    y = _sent(SUBJECTS["mixture full"].draw(clusters, rng), device)
    began = time.perf_counter()
    model = latens.GaussianMixture(20, random_state=0).fit(y)
    mixture = Row(
        {"N": clusters.n, "D": 20, "K": 20, "fit s": time.perf_counter() - began, "iterations": model.n_iter_}
    )
    return [Table("Factor analysis in all", rows), Table("GaussianMixture(20), default settings", [mixture])]


def _device(setting: Setting) -> str:
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if setting.name == "full":
        raise SystemExit("no CUDA device; --quick runs small sizes on the host")
    return "cpu"


def _ceilings(device: str, setting: Setting) -> Ceilings:
    """A large product and a large copy in float32, as torch makes them by default (no TF32)."""
    import torch

    size = 8192 if setting.name == "full" else 256
    a, b = torch.randn(2, size, size, device=device)
    product = _seconds(lambda: a @ b, device, 10)
    source = torch.randn(2**28 if setting.name == "full" else 2**16, device=device)
    target = torch.empty_like(source)
    copy = _seconds(lambda: target.copy_(source), device, 10)
    return Ceilings(size**3 / product, 2 * source.numel() / copy)


def _seconds(call: Callable[[], Any], device: str, repeats: int) -> float:
    """Median wall seconds, the device at rest before and after."""
    import torch

    def wait() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    call()
    spent = []
    for _ in range(repeats):
        wait()
        began = time.perf_counter()
        call()
        wait()
        spent.append(time.perf_counter() - began)
    return float(np.median(spent))


def _sent(x: Any, device: str) -> Any:
    import torch

    if isinstance(x, dict):
        return {name: torch.asarray(view, device=device) for name, view in x.items()}
    return torch.asarray(x, device=device)


def _repeated(x: Any) -> Any:
    return {name: _repeated(view) for name, view in x.items()} if isinstance(x, dict) else x.repeat(N_COPIES, 1)


def _noise(x: Any) -> Any:
    import torch

    return torch.randn_like(x)


def _first(x: Any, n: int) -> Any:
    return {name: view[:n] for name, view in x.items()} if isinstance(x, dict) else x[:n]


def _notes(ceilings: Ceilings) -> list[str]:
    return [
        f"measured ceilings: {ceilings.multiplications / 1e12:.1f}e12 multiplications and {ceilings.numbers / 1e12:.2f}"
        "e12 numbers of 4 bytes a second",
        *(f"{name}: {make(10, 10).why}" for name, make in FLOORS.items()),
    ]
