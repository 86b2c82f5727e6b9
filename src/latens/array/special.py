"""Special functions that local steps need, for any array namespace.

Where the standard has the pieces they are used; digamma and log-gamma come from the
library the array belongs to, and this is the only file that knows those libraries by name.
"""

from __future__ import annotations

import importlib

import numpy as np
import scipy.special
from array_api_compat import array_namespace, is_cupy_array, is_numpy_array, is_torch_array

from latens.array import Array, Floats
from latens.array.transfer import is_on_gpu, namespace

__all__ = [
    "digamma",
    "expit",
    "gammaln",
    "inverse_trigamma",
    "logsumexp",
    "softmax_entropy",
    "softplus",
    "softplus_and_log",
    "stretched",
    "switch_entropy",
    "trigamma",
    "xlogx",
]

N_STEPS_OF_INVERSE = 12  # of Newton, after which the inverse of trigamma is known to rounding
MOST_TIMES_BEYOND = 10.0  # times a number, that a stretched step goes beyond it
LEAST_COMPILED = 2**13  # entries from which a compiled loop is worth loading a compiler for
LEAST_SOFTPLUS_ARGUMENT = -80.0  # below it softplus(x) = exp(x) would leave the range of single precision


def expit(x: Array) -> Array:
    """Logistic function; elsewhere than NumPy through log(1 + e^-x), so that both tails keep their digits."""
    if is_numpy_array(x):
        return scipy.special.expit(x)
    xp = array_namespace(x)
    return xp.exp(-xp.logaddexp(xp.zeros_like(x), -x))


def trigamma(x: Floats) -> Floats:
    """Second derivative of the log-gamma function, of arrays in this machine's memory."""
    return np.asarray(scipy.special.zeta(2.0, x))


def inverse_trigamma(value: Floats) -> Floats:
    """The positive arguments at which the trigamma function has these positive values.

    By Newton's steps on its reciprocal, which is convex and close to a line.

    >>> inverse_trigamma(trigamma(np.array([0.1, 3.0, 500.0]))).round(9).tolist()
    [0.1, 3.0, 500.0]
    """
    x = 0.5 + 1 / np.asarray(value, dtype=float)
    for _ in range(N_STEPS_OF_INVERSE):
        found = trigamma(x)
        x = x + found * (1 - found / value) / (-2 * scipy.special.zeta(3.0, x))
    return np.asarray(x)


def stretched(old: Floats, new: Floats, times: float) -> Floats:
    """Positive numbers so many times as far from `old` as `new`, in logarithms, up to MOST_TIMES_BEYOND times `new`."""
    further = np.clip((new / old) ** (times - 1), 1 / MOST_TIMES_BEYOND, MOST_TIMES_BEYOND)
    return np.asarray(new * further)


def softplus(x: Array) -> Array:
    """log(1 + e^x), by functions that every library has in vector form; `logaddexp` is none of them."""
    xp = array_namespace(x)
    positive = xp.where(x > 0, x, xp.zeros_like(x))
    positive += xp.log1p(xp.exp(-xp.abs(x)))
    return positive


def softplus_and_log(x: Array) -> tuple[Array, Array]:
    """softplus(x) and its logarithm, which is x itself where softplus is tiny."""
    xp = array_namespace(x)
    low = x < LEAST_SOFTPLUS_ARGUMENT
    if not bool(xp.any(low)):
        grown = softplus(x)
        return grown, xp.log(grown)
    grown = softplus(xp.where(low, xp.full_like(x, LEAST_SOFTPLUS_ARGUMENT), x))
    return grown, xp.where(low, x, xp.log(grown))


def xlogx(x: Array) -> Array:
    """x log x, 0 at 0."""
    if isinstance(x, np.ndarray):
        return -scipy.special.entr(x)
    xp = array_namespace(x)
    return x * xp.log(x + float(xp.finfo(x.dtype).smallest_normal))  # adds nothing but at 0


def softmax_entropy(x: Array, least_compiled: int = LEAST_COMPILED) -> tuple[Array, Array]:
    """exp(x) over the last axis, divided by its sum, and its entropy, without a logarithm per entry; x is written over.

    Divided, not subtracted, so that large x still add up to 1. Arrays of `least_compiled` entries and more take a
    compiled loop; callers that have loaded the compiler for other steps pass 0.
    """
    if is_on_gpu(x) and x.ndim == 2:
        from latens.array.kernels.row_posteriors.softmax_triton import MOST_COLUMNS, softmax_entropy_on_gpu

        if softmax_entropy_on_gpu is not None and 0 < x.shape[1] <= MOST_COLUMNS and x.shape[0]:
            found: tuple[Array, Array] = softmax_entropy_on_gpu(x)
            return found
    if isinstance(x, np.ndarray) and x.ndim == 2 and x.size >= least_compiled and x.T.flags.c_contiguous:
        from latens.array.kernels.row_posteriors.softmax_numba import N_SIDE, softmax_columns

        share, spread = np.empty_like(x.T), np.empty(x.shape[0], x.dtype)
        softmax_columns(x.T, share, spread, N_SIDE)
        return share.T, spread
    return softmax_entropy_plain(x)


def softmax_entropy_plain(x: Array) -> tuple[Array, Array]:
    xp = namespace(x)
    x -= xp.max(x, axis=-1, keepdims=True)
    grown = xp.exp(x)
    size = xp.sum(grown, axis=-1, keepdims=True)
    x *= grown
    entropy = xp.log(size) - xp.sum(x, axis=-1, keepdims=True) / size
    grown /= size
    return grown, entropy[..., 0]


def switch_entropy(on: Array) -> Array:
    """(n,), entropy of rows of switches that are on with chances (n, K), each by itself."""
    if isinstance(on, np.ndarray) and on.size >= LEAST_COMPILED and on.flags.c_contiguous:
        from latens.array.kernels.row_posteriors.softmax_numba import N_LANES, switch_entropies

        found = np.empty(len(on), on.dtype)
        switch_entropies(on, found, N_LANES)
        return found
    if is_on_gpu(on):
        from latens.array.kernels.row_posteriors.softmax_triton import MOST_COLUMNS, switch_entropy_on_gpu

        if switch_entropy_on_gpu is not None and 0 < on.shape[1] <= MOST_COLUMNS and on.shape[0]:
            there: Array = switch_entropy_on_gpu(on)
            return there
    return -namespace(on).sum(xlogx(on) + xlogx(1 - on), axis=1)


def logsumexp(x: Array) -> Array:
    """Over the last axis, which it keeps; -inf entries are absent terms."""
    xp = array_namespace(x)
    top = xp.max(x, axis=-1, keepdims=True)
    return top + xp.log(xp.sum(xp.exp(x - top), axis=-1, keepdims=True))


def digamma(x: Array) -> Array:
    return _from_library("digamma", x)


def gammaln(x: Array) -> Array:
    return _from_library("gammaln", x)


def _from_library(name: str, x: Array) -> Array:
    if is_numpy_array(x):
        return getattr(scipy.special, name)(x)
    if is_torch_array(x):
        return getattr(importlib.import_module("torch.special"), name)(x)
    if is_cupy_array(x):
        return getattr(importlib.import_module("cupyx.scipy.special"), name)(x)
    return array_namespace(x).asarray(getattr(scipy.special, name)(np.asarray(x)), dtype=x.dtype)
