"""Maximum likelihood of factor analysis on a covariance matrix, by Newton steps on the profile likelihood.

    -2/n log L(psi) = sum_d log psi_d + sum_{k <= K} (log w_k + 1) + sum_{m > K} w_m

with w the eigenvalues of psi^-1/2 S psi^-1/2 (those of the first K that exceed 1 count as factors) and v its
eigenvectors: given psi, the best loadings are psi^1/2 v_k sqrt(w_k - 1). In l = log psi,

    gradient_i    = sum_{m > K} (1 - w_m) v_im^2
    Hessian_ij    = (sum_m w_m v_im v_jm)(sum_m v_im v_jm)
                    + sum_{k <= K} v_ik v_jk sum_{m > K} (1 - w_m)(w_m + w_k) / (w_k - w_m) v_im v_jm

The first part alone is positive semi-definite, needs only the first K eigenvectors, and is what large problems use.
Columns are standardised first, so the answer follows any change of units. O(D^3) a step, about ten steps.

Of many columns and few factors the Hessian is close to the identity, and the step without it, psi = diag(S - LL'), cuts
the slope to about a tenth in O(D^2 K): these are taken as long as they do.

References: Joereskog (1967); Clarke (1970) on the Hessian; Lawley & Maxwell (1971).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from latens.array import Array, Floats
from latens.array.transfer import products_near
from latens.models.factor_analysis.newton_wide import Profile, Root, ThinPoint

__all__ = ["N_RISES", "best_rank", "leading", "most_likely"]

MOST_FULL = 300  # columns up to which all eigenvectors, and with them the exact Hessian, are cheap
MOST_DENSE = 700  # columns beyond which a few leading eigenvectors come cheaper by Lanczos steps
PAIRS_AT_ONCE = 2**17  # numbers of factors times directions without factors, in sums of a Hessian
N_STEPS = 200
LONGEST_STEP = 3.0  # e-folds of noise in one step
NEAR_FLOOR = 1e-9  # e-folds from the floor that are on it
LEAST_DAMPING, MOST_DAMPING = 1e-11, 1e8  # damping, in units of each column's curvature
FLAT_SLOPE = 1e-12  # largest slope, in nats per row and e-fold of noise, that is rounding
ROUGH_SLOPE = 1e-5  # the same, that is enough to compare numbers of factors by
OVERSHOOT_DAMPING = 1e-3  # below it a step that went too far is hardly any other
ROUGH_NATS = 0.02  # gain of a step at most, of which N_STILL in turn end such a comparison
N_STILL = 2
N_RISES = 2  # of the criterion for a number of factors, one after the other, beyond which none is looked for
FIRST_PLAIN_STEPS = 3  # steps without a Hessian that may go a long way before the slope falls
MOST_LEFT = 0.5  # of a step without a Hessian that is made up for in the next
SLOW_SHARE = 0.3  # of the slope left by a step without a Hessian from which on Newton's are cheaper
N_SPARE = 4  # vectors beside those that are refined, in which a factor that these lack would show
N_REFINEMENTS = 7  # products with a block of vectors, after which Lanczos steps are cheaper
QUICK_SHARE = 0.01  # of the error that a product of a block may leave where it is cheaper than Lanczos steps
ROUGH_ERROR = 1e-8  # of a block, for each e-fold of noise from the last point, that hides no slope of the next
LAST_ERROR = 1e-14  # of a block, in units of the largest eigenvalue and of sqrt(D), after which a product is enough

Times = Callable[[Floats], Floats]


@dataclass(frozen=True)
class _Point(Profile):
    """The profile likelihood at one log psi, for a correlation matrix."""

    corr: Floats  # (D, D)
    log_psi: Floats  # (D,)
    k: int
    times: Times | None = None  # corr times columns (D, .), where something makes these products faster
    guess: Floats | None = None  # (D, k), leading eigenvectors at a psi nearby
    stood_out: bool = False  # at that psi
    far: float = 0.0  # e-folds of noise from there, at the most

    @cached_property
    def stands_out(self) -> bool:
        """Whether, of many columns, every factor is so much stronger than the rest that a product tells them apart."""
        d = len(self.log_psi)
        if not _is_large(d, self.k):
            return False
        w, _ = self.spectrum
        return bool(QUICK_SHARE * w[0] > (self.trace - w.sum()) / (d - self.k))

    @cached_property
    def root(self) -> Floats:
        return np.asarray(np.exp(-0.5 * self.log_psi))

    @cached_property
    def scaled(self) -> Floats:
        return np.asarray(self.corr * self.root * self.root[:, None])

    @cached_property
    def spectrum(self) -> tuple[Floats, Floats]:
        """Eigenvalues and vectors, the largest last: all of them, or the leading k."""
        d = len(self.log_psi)
        if d <= MOST_FULL:
            return eigh(self.scaled, driver="evd", check_finite=False)
        refined = self._refined(self.guess) if self.stood_out and self.guess is not None else None
        if refined is not None:
            return refined
        if self.times is not None and _is_large(d, self.k):
            return _by_lanczos(self._product, d, self.k, self.guess)
        return leading(self.scaled, self.k, self.guess)

    def _product(self, columns: Floats) -> Floats:
        """psi^-1/2 S psi^-1/2 times columns (D,) or (D, .)."""
        root = self.root if columns.ndim == 1 else self.root[:, None]
        return np.asarray(root * (self.corr @ (root * columns) if self.times is None else self.times(root * columns)))

    @cached_property
    def factors(self) -> tuple[Floats, Floats]:
        w, v = self.spectrum
        w, v = w[len(w) - self.k :], v[:, v.shape[1] - self.k :]
        return w[w > 1], v[:, w > 1]

    def _refined(self, vectors: Floats) -> tuple[Floats, Floats] | None:
        """Leading eigenvalues and vectors by products with a block of vectors; None where these settle slowly."""
        d = len(self.log_psi)
        spare = np.cos(np.outer(np.arange(1, d + 1), np.arange(1, N_SPARE + 1)))  # like no eigenvector in particular
        block, left = np.linalg.qr(np.hstack([spare, vectors]))[0], np.inf
        for _ in range(N_REFINEMENTS):
            product = self._product(block)
            w, turn = eigh(block.T @ product, check_finite=False)
            w, turn = w[N_SPARE:], turn[:, N_SPARE:]
            v = block @ turn
            if left <= LAST_ERROR:
                return w, v
            before, left = left, float(np.max(np.linalg.norm(product @ turn - v * w, axis=0))) / (np.sqrt(d) * w[-1])
            if left <= ROUGH_ERROR * self.far:
                return w, v
            if left > QUICK_SHARE * before:
                return None
            block = np.linalg.qr(product)[0]
        return None

    @cached_property
    def trace(self) -> float:
        return float(np.sum(self.corr.diagonal() * self.root * self.root))

    @cached_property
    def curvature(self) -> Floats:
        """The part of the Hessian that is never negative."""
        w, v = self.factors
        left = np.eye(len(v)) - v @ v.T
        return np.asarray((self.scaled - (v * w) @ v.T) * left)

    @property
    def hessian(self) -> Floats:
        (values, vectors), (w, v) = self.spectrum, self.factors
        minor = len(values) - len(w)
        m, u = values[:minor], vectors[:, :minor]
        rest, at_once = np.zeros_like(self.corr), max(PAIRS_AT_ONCE // max(u.size, 1), 1)
        for start in range(0, len(w), at_once):
            wk, vk = w[start : start + at_once, None], v[:, start : start + at_once]
            share = (1 - m) * (m + wk) / np.maximum(wk - m, 1e-8 * wk)
            pairs = (vk[:, :, None] * u[:, None, :]).reshape(len(u), -1)  # a factor's times a direction's without
            rest += (pairs * share.ravel()) @ pairs.T
        return self.curvature + rest

    def step(self, slope: Floats) -> _Step:
        return _Step(self, slope)

    def at(self, log_psi: Floats) -> Self:
        guess = None if len(log_psi) <= MOST_DENSE else self.spectrum[1]
        far = float(np.max(np.abs(log_psi - self.log_psi)))
        return replace(self, log_psi=log_psi, guess=guess, stood_out=self.stands_out, far=far)


def most_likely(
    cov: Floats | Root,
    k: int,
    floor: Floats,
    share: Floats | float = 0.5,
    *,
    near: Array | None = None,
    rough: bool = False,
) -> tuple[Floats, Floats]:
    """Loadings (D, K) and noise (D,) of highest likelihood under noise >= floor > 0.

    `share` is the part of each variance that is noise at the start. Products with the matrix are made where `near` is,
    if that is on a GPU. `rough`: as exact as heights are compared, in fewer steps.
    """
    varies, size, corr, lowest = _standardised(cov, floor)
    loadings, noise = np.zeros((len(cov), k)), np.maximum(cov.diagonal(), floor)
    if not varies.any() or k == 0:
        return loadings, noise
    log_psi = np.broadcast_to(np.log(share), (len(cov),))[varies]
    limits = (ROUGH_SLOPE, OVERSHOOT_DAMPING) if rough else (FLAT_SLOPE, LEAST_DAMPING)
    point = _ascend(corr, min(k, len(size)), lowest, log_psi, *limits, near=near)
    loadings[varies, : point.k] = size[:, None] * point.loadings
    noise[varies] = size**2 * np.exp(point.log_psi)
    return loadings, noise


def best_rank(
    cov: Floats | Root, n: float, floor: Floats, most: int, criterion: str = "bic", *, near: Array | None = None
) -> int:
    """The number of factors with the smallest -2 log L + parameters log n.

    Looked for from none upwards, until it has risen twice. Parameters are loadings but for their rotation.
    "hannan-quinn" asks 2 log log n for a parameter: it too finds the true number as n grows, and sooner.
    """
    price = float(np.log(max(n, 2.0)) if criterion == "bic" else 2 * np.log(np.log(max(n, 3.0))))
    varies, _, corr, lowest = _standardised(cov, floor)
    d, log_psi, costs = len(corr), np.zeros(int(varies.sum())), [float(np.count_nonzero(varies)) * n]
    for k in range(1, min(most, d) + 1):
        point = _ascend(
            corr, k, lowest, np.minimum(log_psi, np.log(0.5)), ROUGH_SLOPE, still=2 * ROUGH_NATS / n, near=near
        )
        log_psi = point.log_psi
        costs.append(n * point.height + (d * k - 0.5 * k * (k - 1)) * price)
        if np.all(np.diff(costs[-N_RISES - 1 :]) > 0) and k >= N_RISES:
            break
    return int(np.argmin(costs))


def _standardised(cov: Floats | Root, floor: Floats) -> tuple[np.ndarray, Floats, Floats | Root, Floats]:
    """Which columns vary, their deviations, their correlations, the lowest log noise in those units."""
    variance = cov.diagonal()
    varies = variance > 2 * floor  # a constant column has no factors to share
    size, lowest = np.sqrt(variance[varies]), np.log(floor[varies] / variance[varies])
    if not isinstance(cov, Root):
        corr = (cov if varies.all() else cov[np.ix_(varies, varies)]) / size
        corr /= size[:, None]
        return varies, size, corr, lowest
    root = Root(cov.rows[:, varies] / size)
    # where all eigenvectors are cheap, damping by them is surest
    return varies, size, root.rows.T @ root.rows if len(root) <= MOST_FULL else root, lowest


def leading(matrix: Floats, k: int, guess: Floats | None = None) -> tuple[Floats, Floats]:
    """The k largest eigenvalues of a symmetric matrix, ascending, and their vectors (D, k), perhaps about a guess."""
    d = len(matrix)
    if _is_large(d, k):
        return _by_lanczos(lambda x: matrix @ x, d, k, guess)
    w, v = eigh(matrix, subset_by_index=[d - k, d - 1], check_finite=False)
    return w, v


def _by_lanczos(times: Times, d: int, k: int, guess: Floats | None) -> tuple[Floats, Floats]:
    """The same of a matrix (D, D) of which nothing but products with a vector are asked for."""
    start = np.ones(d) if guess is None else guess.sum(axis=1)
    w, v = eigsh(LinearOperator((d, d), matvec=times, dtype=float), k, which="LA", v0=start)
    order = np.argsort(w)
    return w[order], v[:, order]


def _is_large(d: int, k: int) -> bool:
    return d > MOST_DENSE and 4 * k < d


def _ascend(
    corr: Floats | Root,
    k: int,
    lowest: Floats,
    log_psi: Floats,
    flat: float = FLAT_SLOPE,
    overshoot_damping: float = LEAST_DAMPING,
    *,
    still: float = 0.0,
    near: Array | None = None,
) -> Profile:
    """Projected Newton steps, damped as needed; columns held at their floor wait until the slope frees them.

    Where a step went too far, the next is damped by `overshoot_damping` at least. They end where the slope is flat, or
    where two in turn have lowered the point by less than is `still`.
    """
    log_psi, damping = np.maximum(log_psi, lowest), LEAST_DAMPING
    point: Profile
    if isinstance(corr, Root):
        point = ThinPoint(corr, log_psi, k)
    else:
        start = _Point(corr, log_psi, k, products_near(corr, near) if _is_large(len(corr), k) else None)
        point = _ascend_plainly(start, lowest) if start.stands_out else start
    n_still = 0
    for _ in range(N_STEPS):
        slope = _free_slope(point, lowest)
        if np.max(np.abs(slope)) < flat or n_still == N_STILL:
            break
        step = point.step(slope)
        while damping < MOST_DAMPING:
            move = np.clip(step.damped(damping), -LONGEST_STEP, LONGEST_STEP)
            there = point.at(np.maximum(point.log_psi + move, lowest))
            if _is_better(there, point, slope, lowest):
                break
            damping = max(10 * damping, overshoot_damping)
        else:
            break
        n_still = n_still + 1 if 0 < still > point.height - there.height else 0
        point, damping = there, max(LEAST_DAMPING, damping / 100)
    return point


def _ascend_plainly(point: _Point, lowest: Floats) -> _Point:
    """Steps to psi = diag(S - LL') as long as each is better and leaves little of the slope.

    What such steps leave is mostly a multiple of the step before, and is added to it.
    """
    step, share = np.zeros_like(lowest), 0.0
    for n_steps in range(N_STEPS):
        slope = _free_slope(point, lowest)
        before, step = (
            step,
            np.log1p(-np.minimum(slope, 1 - np.exp(-LONGEST_STEP))),
        )  # the slope is 1 - diag(S - LL') / psi
        if n_steps >= FIRST_PLAIN_STEPS:
            share = float(np.clip(share + (step @ before) / (before @ before) * (1 - share), 0.0, MOST_LEFT))
        there = point.at(np.maximum(point.log_psi + np.clip(step / (1 - share), -LONGEST_STEP, LONGEST_STEP), lowest))
        if np.max(np.abs(slope)) < FLAT_SLOPE or not _is_better(there, point, slope, lowest):
            break
        left = np.max(np.abs(_free_slope(there, lowest))) / np.max(np.abs(slope))
        point = there
        if n_steps >= FIRST_PLAIN_STEPS and left > SLOW_SHARE:
            break
    return point


def _free_slope(point: Profile, lowest: Floats) -> Floats:
    """(D,), 0 where a column is held at its floor."""
    return np.where((point.log_psi <= lowest + NEAR_FLOOR) & (point.gradient > 0), 0.0, point.gradient)


def _is_better(there: Profile, here: Profile, slope: Floats, lowest: Floats) -> bool:
    """Lower by a part of what the slope promised; or flatter, where heights differ by rounding only."""
    # heights are sums of numbers as large as the inverse of the smallest noise
    resolution = 1e-15 * float(here.trace + np.sum(np.abs(here.log_psi)))
    if there.height <= here.height + 1e-4 * (slope @ (there.log_psi - here.log_psi)) - resolution:
        return True
    same = abs(there.height - here.height) <= resolution
    return bool(same and np.max(np.abs(_free_slope(there, lowest))) < 0.9 * np.max(np.abs(slope)))


def _is_definite(matrix: Floats) -> bool:
    try:
        cho_factor(matrix, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return True


class _Step:
    """Newton's step with every negative curvature turned round, in units of each column's own curvature.

    Where none is negative, as near the top, Cholesky's factors do what the eigenvectors would.
    """

    def __init__(self, point: _Point, slope: Floats) -> None:
        self.free, self.size = np.flatnonzero(slope), len(slope)
        inside = np.ix_(self.free, self.free)
        sure = point.curvature[inside]
        self.unit = 1 / np.sqrt(np.maximum(np.diagonal(sure), 1e-6))
        self.slope = slope[self.free] * self.unit
        exact = self.size <= MOST_FULL
        self.matrix = (point.hessian[inside] if exact else sure) * self.unit * self.unit[:, None]
        self.spectrum = eigh(self.matrix, check_finite=False) if exact and not _is_definite(self.matrix) else None

    def damped(self, damping: float) -> Floats:
        step = np.zeros(self.size)
        if self.spectrum is not None:
            values, vectors = self.spectrum
            inner = vectors @ ((self.slope @ vectors) / (np.abs(values) + damping))
        else:
            try:
                inner = cho_solve(cho_factor(self.matrix + damping * np.eye(len(self.free))), self.slope)
            except np.linalg.LinAlgError:
                return step  # going nowhere asks for more damping
        step[self.free] = -self.unit * inner
        return step
