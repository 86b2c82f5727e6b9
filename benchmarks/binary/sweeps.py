"""One mean-field E step: inner products once and K^2 a row and sweep, over N x D residuals for every cause.

The source's form costs the same in every sweep and is linear in N: it is timed on some of the rows and scaled.
Ours is timed on all rows, from codes that are all undecided; the product X W' counts wherever a line says so.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import logit

from benchmarks.binary.problem import draw_undecided, problem_of
from benchmarks.clocks import fastest
from benchmarks.data import Sums
from benchmarks.peers import source
from benchmarks.peers.source import Factors, Floats
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Goal, Row, Table, Value, at_least
from latens.array.kernels.on_off.sweeps import switches
from latens.models.binary_factors.posteriors import Switches

__all__ = ["run"]

N_SWEEPS = 20
GOALS = {32: 30.0, 64: 150.0}  # by the number of causes


def run(setting: Setting) -> list[Table]:
    return [_size(n, d, k, n_timed, setting.n_repeats) for n, d, k, n_timed in setting.sizes]


def _size(n: int, d: int, k: int, n_timed: int, repeats: int) -> Table:
    sums = draw_undecided(n, d, k)
    begin = np.random.default_rng(FIRST_SEED).uniform(0.25, 0.75, size=(n, k))
    theirs, gap = _source(sums, begin[:n_timed], 1 + repeats)

    def timed(call: Callable[[], object]) -> float:
        return fastest(call, repeats)

    def sweeping(n_sweeps: int, tol: float) -> float:
        return timed(lambda: switches(drive, gram, begin, n_sweeps, tol))

    drive, gram = evidence(sums, sums.x)
    product = timed(lambda: evidence(sums, sums.x))
    one, five, all_ = (sweeping(n_sweeps, 0.0) for n_sweeps in (1, 5, N_SWEEPS))
    resting = sweeping(N_SWEEPS, 1e-5)
    whole = timed(_model_step(sums, begin))
    scaled = theirs * n / n_timed
    goal = {"ratio": at_least(GOALS[k])} if k in GOALS else {}
    rows = [
        _row("one more sweep (of the second to fifth)", scaled, (five - one) / 4, goal),
        _row("first sweep, with the pull of all codes before it", scaled, one),
        _row("first sweep, X W' counted too", scaled, product + one),
        _row(f"{N_SWEEPS} sweeps of all rows, X W' counted", N_SWEEPS * scaled, product + all_, goal),
        _row(f"{N_SWEEPS} sweeps, rows rest at 1e-5, X W' counted", N_SWEEPS * scaled, product + resting),
        _row("the same by the model's local step, block by block", N_SWEEPS * scaled, whole),
    ]
    notes = [
        f"X W' {product:.3f} s; source timed on {n_timed} rows ({theirs:.2f} s a sweep)",
        f"largest difference of codes after {1 + repeats} sweeps of each: {gap:.1e}",
    ]
    return Table(f"Mean-field E step, N = {n}, D = {d}, K = {k}", rows, notes)


def evidence(sums: Sums, x: Floats) -> tuple[Floats, Floats]:
    """What rows say for each cause (n, K), and what pairs of causes cost (1, K, K)."""
    w, tau = sums.components, 1 / sums.noise_variance
    gram = tau * (w @ w.T)
    return x @ (tau * w.T) + (logit(sums.usage) - 0.5 * np.diag(gram)), gram[None]


def _model_step(sums: Sums, begin: Floats) -> Callable[[], object]:
    """The E step that an iteration of `fit` takes."""
    problem = problem_of(sums, N_SWEEPS)
    ends = np.cumsum([len(block) for block in problem.blocks])
    warm = [Switches(codes) for codes in np.split(begin, ends[:-1])]
    return lambda: [problem.model.local_step(problem.q, *pair) for pair in zip(problem.blocks, warm, strict=True)]


def _source(sums: Sums, begin: Floats, n_sweeps: int) -> tuple[float, float]:
    """CPU seconds of one sweep of the source's form, the least of several, and how far ours is from it after them."""
    x, codes = sums.x[: len(begin)], begin.copy()
    factors = Factors(np.ascontiguousarray(sums.components.T), sums.noise_variance**0.5, sums.usage)
    squares = np.sum(sums.components**2, axis=1)
    seconds = fastest(lambda: source.sweep(x, factors, squares, codes), n_sweeps)
    mine = switches(*evidence(sums, x), begin, n_sweeps, 0.0)
    return seconds, float(np.max(np.abs(mine - codes)))


def _row(what: str, theirs: float, mine: float, goals: dict[str, Goal] | None = None) -> Row:
    cells: dict[str, Value] = {"what": what, "source CPU s": theirs, "latens CPU s": mine, "ratio": theirs / mine}
    return Row(cells, goals or {})
