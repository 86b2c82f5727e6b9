"""Compiled passes over rows that each change the factor model which the next one meets.

    x ~ Normal(center, F'F + diag(noise))      F is `mean` (K, D), tau = 1 / noise
    V = (I + F diag(tau) F')^-1                covariance of a row's factors
    m = V F diag(tau) (x - center)             their mean

Products of K x K with K x D are left to BLAS. The model and the sums are changed in place. Serial, without the GIL.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import math

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import copy
from latens.array.kernels.row_matrices_numba import invert_rows, log_determinant_rows

__all__ = ["em_rows", "gradient_rows"]

LOG_2PI = math.log(2 * math.pi)
SGD, MOMENTUM, ADAGRAD = 0, 1, 2  # how a gradient becomes a step; 3 is Adam
KEPT_SHARE, KEPT_SHARE_OF_SQUARES, LEAST_DIVISOR = (
    0.9,
    0.999,
    1e-8,
)  # of earlier steps, and of earlier squared gradients
SUMS_IN_ANY_ORDER = {"reassoc", "contract"}  # sums in any order, or they are not vectorised


@nb.njit(cache=True, nogil=True, fastmath=SUMS_IN_ANY_ORDER)
def em_rows(x, count, warm_up, floor, center, mean, noise, zx, zz, xx):
    """F = H^-1 A after every row, with A = zx / t and H = V + zz / t; the sum of the rows' log densities.

    NaN if an H is not definite.
    """
    k, d = mean.shape
    tau, gram, gap, code = np.empty(d), np.empty((1, k, k)), np.empty(d), np.empty(k)
    scaled, spread, second, inverse = np.empty((k, d)), np.empty((1, k, k)), np.empty((1, k, k)), np.empty((1, k, k))
    level, score = _renew(mean, noise, tau, scaled, gram), 0.0
    for row in range(len(x)):
        age = count + row + 1.0
        score += _meet(x[row], age, level, center, mean, tau, gram, spread, gap, code, zx, zz, xx)
        if age <= warm_up:
            continue
        for i in range(k):
            for b in range(k):
                second[0, i, b] = spread[0, i, b] + zz[i, b] / age
        invert_rows(second, np.zeros((1, k)), inverse)
        if not inverse[0, 0, 0] > 0:
            return np.nan
        inverse /= age
        np.dot(inverse[0], zx, mean)
        np.dot(second[0], mean, scaled)
        for j in range(d):
            noise[j] = xx[j] / age
        for i in range(k):
            loading, product, known = mean[i], scaled[i], zx[i]
            for j in range(d):  # the whole quadratic: errors of the loadings enter it squared
                noise[j] += loading[j] * (product[j] - 2 / age * known[j])
        for j in range(d):
            noise[j] = max(noise[j], floor)
        level = _renew(mean, noise, tau, scaled, gram)
    return score


@nb.njit(cache=True, nogil=True, fastmath=SUMS_IN_ANY_ORDER)
def gradient_rows(x, count, warm_up, rate, rule, far, sound, center, mean, noise, zx, zz, xx, pace, squares):
    """A step up the gradient of log p(x) in F and log noise after every row; the sum of log densities, and `sound`.

    A step to loadings whose sizes sum to `far`, or to a noise outside (1 / far, far), is not taken, and no other after.
    `pace` and `squares` are what rules other than SGD remember of earlier gradients: (K + 1, D), the last row being
    that of the noise.
    """
    k, d = mean.shape
    tau, gram, gap, code = np.empty(d), np.empty((1, k, k)), np.empty(d), np.empty(k)
    scaled, spread, new, louder = np.empty((k, d)), np.empty((1, k, k)), np.empty((k, d)), np.empty(d)
    level, score = _renew(mean, noise, tau, scaled, gram), 0.0
    for row in range(len(x)):
        age = count + row + 1.0
        score += _meet(x[row], age, level, center, mean, tau, gram, spread, gap, code, zx, zz, xx)
        if age <= warm_up or not sound:
            continue
        left, size = gap - np.dot(code, mean), 0.0
        np.dot(spread[0], mean, new)
        for j in range(d):
            louder[j] = left[j] * left[j]
        for i in range(k):
            loading, there, pull = mean[i], new[i], code[i]
            for j in range(d):
                louder[j] += loading[j] * there[j]
                there[j] = (pull * left[j] - there[j]) * tau[j]
            _step(there, rate, rule, age - warm_up, pace, squares, i)
            for j in range(d):
                there[j] += loading[j]
                size += abs(there[j])
        for j in range(d):
            louder[j] = 0.5 * (louder[j] * tau[j] - 1)
        _step(louder, rate, rule, age - warm_up, pace, squares, k)
        sound = size < far
        for j in range(d):
            louder[j] = noise[j] * np.exp(louder[j])
            sound = sound and 1 / far < louder[j] < far
        if sound:
            for i in range(k):
                copy(new[i], mean[i])
            copy(louder, noise)
            level = _renew(mean, noise, tau, scaled, gram)
    return score, sound


@nb.njit(cache=True, nogil=True, fastmath=SUMS_IN_ANY_ORDER)
def _step(gradient, rate, rule, n_steps, pace, squares, i):
    """A gradient into the change that it brings, in place, as the `taken`-th step; its memory is row `i`.

    References: Duchi, Hazan & Singer (2011) on AdaGrad; Kingma & Ba (2015) on Adam.
    """
    if rule == SGD:
        for j in range(len(gradient)):
            gradient[j] *= rate
    elif rule == MOMENTUM:
        for j in range(len(gradient)):
            pace[i, j] = KEPT_SHARE * pace[i, j] + rate * gradient[j]
            gradient[j] = pace[i, j]
    elif rule == ADAGRAD:
        for j in range(len(gradient)):
            squares[i, j] += gradient[j] ** 2
            gradient[j] *= rate / (np.sqrt(squares[i, j]) + LEAST_DIVISOR)
    else:
        young, youth = 1 - KEPT_SHARE**n_steps, 1 - KEPT_SHARE_OF_SQUARES**n_steps
        for j in range(len(gradient)):
            pace[i, j] = KEPT_SHARE * pace[i, j] + (1 - KEPT_SHARE) * gradient[j]
            squares[i, j] = KEPT_SHARE_OF_SQUARES * squares[i, j] + (1 - KEPT_SHARE_OF_SQUARES) * gradient[j] ** 2
            gradient[j] = rate * pace[i, j] / young / (np.sqrt(squares[i, j] / youth) + LEAST_DIVISOR)


@nb.njit(cache=True, nogil=True, fastmath=SUMS_IN_ANY_ORDER)
def _renew(mean, noise, tau, scaled, gram):
    """What follows from loadings and noise: tau, F diag(tau) and F diag(tau) F' in place; the sum of log noise."""
    level, product = 0.0, 1.0
    for j in range(len(noise)):
        tau[j] = 1 / noise[j]
        if not 1e-100 < noise[j] < 1e100:
            level += np.log(noise[j])
            continue
        product *= noise[j]  # of as many as its range allows, so that logarithms are few
        if not 1e-200 < product < 1e200:
            level += np.log(product)
            product = 1.0
    for i in range(len(mean)):
        loading, into = mean[i], scaled[i]
        for j in range(len(noise)):
            into[j] = loading[j] * tau[j]
    np.dot(scaled, mean.T, gram[0])
    return level + np.log(product)


@nb.njit(cache=True, nogil=True, fastmath=SUMS_IN_ANY_ORDER)
def _meet(x, age, level, center, mean, tau, gram, spread, gap, code, zx, zz, xx):
    """The log density of one row under the model it meets; then it enters the mean and the sums.

    `spread` becomes V, `gap` the row less the mean that includes it, and `code` the m of that.
    """
    k, d = mean.shape
    log_spread, pull, square, share = np.empty(1), np.empty(d), 0.0, (age - 1) / age
    invert_rows(gram, np.ones((1, k)), spread)
    log_determinant_rows(spread, log_spread)
    for j in range(d):
        gap[j] = x[j] - center[j]
        pull[j] = gap[j] * tau[j]
        square += gap[j] * pull[j]
    drive = np.dot(mean, pull)
    np.dot(spread[0], drive, code)
    square -= np.dot(code, drive)
    for j in range(d):
        center[j] += gap[j] / age
        gap[j] *= share
        xx[j] += gap[j] * gap[j]
    code *= share
    for i in range(k):
        for b in range(k):
            zz[i, b] += code[i] * code[b]
        into, weight = zx[i], code[i]
        for j in range(d):
            into[j] += weight * gap[j]
    return 0.5 * (log_spread[0] - d * LOG_2PI - level - square)
