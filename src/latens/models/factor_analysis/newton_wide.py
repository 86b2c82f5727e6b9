"""The profile likelihood of factor analysis where columns outnumber rows: nothing of size D x D.

A correlation matrix Z'Z with Z (R, D), R < D, has the eigenvectors Z'u / sqrt(w) of the R x R matrix ZZ'. With V those
of the factors (values w) and U those of the rest (values m), the Hessian of `newton` times x is

    (a + c) x + sum_k v_k (U ((g_k - m) t_k) - V V'(v_k x))         t_k = U'(v_k x),   g_k = m (2 - m - w_k) / (w_k - m)

where a is the diagonal of U m U', c that of VV', and vectors are multiplied entry by entry. A Newton step is found by
conjugate gradients on such products. O(R^2 D) for a point, O(R D K) for a product.

References: Nocedal & Wright (2006), chapter 7, on Newton steps by conjugate gradients.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, Self

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from latens.array import Floats

__all__ = ["Profile", "Root", "Step", "ThinPoint", "ThinStep"]

MOST_ROWS = 700  # beyond which a few leading eigenvectors come cheaper by Lanczos steps
LEAST_EIGENVALUE = 1e-10  # an eigenvalue below it bends the likelihood as 0 does
N_PRODUCTS = 200  # of conjugate gradients in one step


@dataclass(frozen=True)
class Root:
    """A covariance matrix Z'Z, given by the few rows of Z (R, D)."""

    rows: Floats

    def diagonal(self) -> Floats:
        return np.asarray(np.einsum("rd,rd->d", self.rows, self.rows))

    def __len__(self) -> int:
        return int(self.rows.shape[1])

    def leading(self, k: int) -> tuple[Floats, Floats]:
        """The k largest eigenvalues, ascending, and their vectors (D, k): 0 where there are fewer than k."""
        values, vectors = np.zeros(k), np.zeros((len(self), k))
        w, u = eigh(self.rows @ self.rows.T, driver="evd", check_finite=False)
        usable = min(k, int(np.count_nonzero(w > LEAST_EIGENVALUE * w[-1])))
        if usable:
            values[-usable:] = w[-usable:]
            vectors[:, -usable:] = self.rows.T @ (u[:, -usable:] / np.sqrt(w[-usable:]))
        return values, vectors


class Step(Protocol):
    def damped(self, damping: float) -> Floats: ...  # (D,), in log psi; 0 where the slope is


class Profile(ABC):
    """The likelihood at one psi, in units of a correlation matrix, with the best loadings given psi."""

    log_psi: Floats  # (D,)
    k: int

    @property
    @abstractmethod
    def factors(self) -> tuple[Floats, Floats]:
        """Those that explain more than noise: w (K',) and v (D, K'), the largest last."""

    @property
    @abstractmethod
    def trace(self) -> float:
        """Of psi^-1/2 S psi^-1/2."""

    @abstractmethod
    def at(self, log_psi: Floats) -> Self: ...

    @abstractmethod
    def step(self, slope: Floats) -> Step: ...

    @cached_property
    def height(self) -> float:
        w, _ = self.factors
        return float(self.log_psi.sum() + np.log(w).sum() + len(w) + self.trace - w.sum())

    @cached_property
    def gradient(self) -> Floats:
        w, v = self.factors
        return np.asarray(1 + v**2 @ (w - 1) - np.exp(-self.log_psi))

    @property
    def loadings(self) -> Floats:
        """(D, K), zero columns where the data support fewer factors."""
        w, v = self.factors
        found = np.exp(0.5 * self.log_psi)[:, None] * v * np.sqrt(w - 1)
        return np.hstack([found[:, ::-1], np.zeros((len(v), self.k - len(w)))])


@dataclass(frozen=True)
class ThinPoint(Profile):
    corr: Root
    log_psi: Floats  # (D,)
    k: int
    guess: Floats | None = None  # (R,), where Lanczos steps begin

    @cached_property
    def scaled(self) -> Floats:
        """(R, D), the root of psi^-1/2 S psi^-1/2."""
        return np.asarray(self.corr.rows * np.exp(-0.5 * self.log_psi))

    @cached_property
    def trace(self) -> float:
        return float(np.exp(-self.log_psi).sum())

    @property
    def is_whole(self) -> bool:
        """Whether all eigenvectors are at hand, and with them the exact Hessian."""
        return len(self.scaled) <= MOST_ROWS or 4 * self.k >= len(self.scaled)

    @cached_property
    def spectrum(self) -> tuple[Floats, Floats]:
        """Eigenvalues of the R x R matrix, the largest last, and its vectors: all of them, or the leading k."""
        z = self.scaled
        if self.is_whole:
            return eigh(z @ z.T, driver="evd", check_finite=False)
        n = len(z)
        product = LinearOperator((n, n), matvec=lambda u: z @ (u @ z), dtype=float)
        w, u = eigsh(product, self.k, which="LA", v0=np.ones(n) if self.guess is None else self.guess)
        order = np.argsort(w)
        return w[order], u[:, order]

    @cached_property
    def factors(self) -> tuple[Floats, Floats]:
        w, u = self.spectrum
        leading = slice(max(len(w) - self.k, 0), None)
        w, u = w[leading], u[:, leading]
        w, u = w[w > 1], u[:, w > 1]
        return w, self.scaled.T @ (u / np.sqrt(w))

    @cached_property
    def rest(self) -> tuple[Floats, Floats]:
        """The other values m (M,) that are not 0, and their vectors (D, M)."""
        w, u = self.spectrum
        others = slice(0, len(w) - len(self.factors[0]))
        w, u = w[others], u[:, others]
        w, u = w[w > LEAST_EIGENVALUE], u[:, w > LEAST_EIGENVALUE]
        return w, self.scaled.T @ (u / np.sqrt(w))

    def step(self, slope: Floats) -> ThinStep:
        return ThinStep(self, slope)

    def at(self, log_psi: Floats) -> Self:
        guess = None if self.is_whole else self.spectrum[1].sum(axis=1)
        return replace(self, log_psi=log_psi, guess=guess)

    @cached_property
    def left(self) -> tuple[Floats, Floats]:
        """(D,) twice: the variance that the factors leave, in units of psi; the part of each column that they span."""
        w, v = self.factors
        own = np.exp(-self.log_psi) if not self.is_whole else self.rest[1] ** 2 @ self.rest[0]
        return own if self.is_whole else np.maximum(own - v**2 @ w, 0.0), np.sum(v**2, axis=1)

    def bent(self, x: Floats) -> Floats:
        """The Hessian times x (D,)."""
        (w, v), (m, u), (a, c) = self.factors, self.rest, self.left
        at = v * x[:, None]
        gap = np.maximum(w - m[:, None], 1e-8 * w)
        inner = (m[:, None] * ((2 - m[:, None] - w) / gap - 1)) * (u.T @ at)
        return np.asarray((a + c) * x + np.sum(v * (u @ inner - v @ (v.T @ at)), axis=1))

    def surely_bent(self, x: Floats) -> Floats:
        """The part of the Hessian that is never negative, times x."""
        (w, v), (a, _) = self.factors, self.left
        at = v * x[:, None]
        there = self.scaled.T @ (self.scaled @ at) - (v * w) @ (v.T @ at)
        return np.asarray(a * x - np.sum(v * there, axis=1))


class ThinStep:
    """Newton's step where the Hessian is positive along all that is searched, that of its sure part elsewhere."""

    def __init__(self, point: ThinPoint, slope: Floats) -> None:
        self.point, (a, c) = point, point.left
        self.free = slope != 0
        self.unit = np.where(self.free, 1 / np.sqrt(np.maximum(a * (1 - c), 1e-6)), 0.0)
        self.slope = slope * self.unit
        self.near = min(0.1, float(np.max(np.abs(slope))))  # the nearer to the top, the more digits

    def damped(self, damping: float) -> Floats:
        inner = self._solved(self.point.bent, damping) if self.point.is_whole else None
        if inner is None:
            inner = self._solved(self.point.surely_bent, damping)
        if inner is None:
            return np.zeros_like(self.slope)  # going nowhere asks for more damping
        return np.asarray(-self.unit * inner)

    def _solved(self, times: Callable[[Floats], Floats], damping: float) -> Floats | None:
        """Conjugate gradients; None where the curvature is not positive."""
        x, left = np.zeros_like(self.slope), self.slope
        direction, size = left, float(left @ left)
        enough = (1e-2 * self.near) ** 2 * size
        for _ in range(N_PRODUCTS):
            if size <= enough:
                break
            bent = self.unit * times(self.unit * direction) + damping * direction
            curve = float(direction @ bent)
            if not curve > 0:
                return None
            x, left = x + size / curve * direction, left - size / curve * bent
            before, size = size, float(left @ left)
            direction = left + size / before * direction
        return x
