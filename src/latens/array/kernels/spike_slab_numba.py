"""Compiled sweeps over spike-and-slab coefficients of sparse regressions, and the sums of products that they need.

Arrays have rows of the data along their last axis, (coefficients or products, rows): loops over some rows at once are
vectorised. Serial, and without the GIL, like all kernels; scratch is in double precision.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import (
    COMPILED,
    LARGEST_EXPONENT,
    copy,
    fill,
    log_beyond_one,
    log_normal,
    shrunk,
)
from latens.array.kernels.row_matrices_numba import inverse_of_square

__all__ = [
    "N_SIDE",
    "add_products",
    "axes_height",
    "climb_axes",
    "coefficient_pairs",
    "moment_pairs",
    "prior_sums",
    "spike_evidence",
    "spike_sweep",
    "subtract_listed",
]

N_SIDE = 128  # rows side by side in a sweep
LINE = 8  # numbers in a line of cache
N_SUMS = 8  # rows summed before they are written out
SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)
LARGEST_LOG_ODDS = 600.0  # beyond which a chance is the smallest there is
SMALLEST_CHANCE = float(np.exp(-LARGEST_EXPONENT))
SMALLEST_POWER = 1e-80  # of e, whose third power is still a normal number: log(1 + x) is x long before
LOG_ODDS_OF_CERTAIN = 40.0  # log odds of loadings that are in whatever their size
LARGEST_LOG_WIDTH = 300.0  # logarithm of a width
MOST_PAIRS = 20  # steps that tell how axes are curved
N_SMALL = 2  # steps that gain next to nothing, one after the other, where it ends
N_SHORTER = 20  # times a step is shortened
LEAST_SHARE = 1e-4  # of what its slope promises, that a step must gain
LEAST_COSINE = 1e-10  # cosine of a step and the change of slopes from which they tell a curvature


@nb.njit(**COMPILED)
def _lay(values, start, out):
    """Copies `values` from `start` on into `out`; a single value, which holds for all rows, fills it."""
    if values.shape[0] == 1:
        fill(values[0], out)
    else:
        copy(values[start:], out)


@nb.njit(**COMPILED)
def _weigh(gram, places, a, first, last, start, now, out):
    """sum_b gram_ab E[w_b] over coefficients b from `first` to `last`, into `out`; `now` holds the means E[w].

    Four terms at a time: the sum is what is read and written most. Entries are found by two indices, since Numba counts
    references to every row that is taken out of an array.
    """
    m, b = len(out), first
    for i in range(m):
        out[i] = 0.0
    while b + 4 <= last:
        p, q, r, s = places[a, b], places[a, b + 1], places[a, b + 2], places[a, b + 3]
        if gram.shape[1] == 1:
            g, h, u, v = gram[p, 0], gram[q, 0], gram[r, 0], gram[s, 0]
            for i in range(m):
                out[i] += (g * now[b, i] + h * now[b + 1, i]) + (u * now[b + 2, i] + v * now[b + 3, i])
        else:
            for i in range(m):
                out[i] += (gram[p, start + i] * now[b, i] + gram[q, start + i] * now[b + 1, i]) + (
                    gram[r, start + i] * now[b + 2, i] + gram[s, start + i] * now[b + 3, i]
                )
        b += 4
    while b < last:
        p = places[a, b]
        if gram.shape[1] == 1:
            g = gram[p, 0]
            for i in range(m):
                out[i] += g * now[b, i]
        else:
            for i in range(m):
                out[i] += gram[p, start + i] * now[b, i]
        b += 1


@nb.njit(**COMPILED)
def spike_sweep(drive, gram, places, scale, precision, bias, was, on, slab, variance, mean, square, gain, sums, n_side):
    """One pass of coordinate ascent over K spike-and-slab coefficients w = s v in each of n rows.

    Given are drive (K, n) and gram, packed (P, 1 or n) as `places` says, of the objective
    scale (drive'w - w' gram w / 2) of a row, scale (1 or n,), the precision of slabs (K, 1 or n), bias, which is the
    prior log odds of s plus half the logarithm of that precision, and the means E[w] before the pass, `was` (K, n).
    Written are (K, n) each: `on` E[s], `slab` and `variance` of v where it is on, `mean` E[w] and `square` E[w^2]; into
    `gain` (n,) the expected objective without its scale; and into `sums` (3, K) sums over rows of E[s], of the entropy
    of s plus E[s] log variance / 2, and of E[w^2].

    Products with coefficients before a, which the drive of a needs, are half of w' gram w: that takes no others.
    """
    k, n = on.shape
    now, given = np.empty((k, n_side)), np.empty(n_side)
    used, entropy, sizes = np.zeros((k, n_side)), np.zeros((k, n_side)), np.zeros((k, n_side))
    tau, prior, odds, gained = np.empty(n_side), np.empty(n_side), np.empty(n_side), np.empty(n_side)
    stiff, pulled, before, behind = np.empty(n_side), np.empty(n_side), np.empty(n_side), np.empty(n_side)
    log_width, logit, power = np.empty(n_side), np.empty(n_side), np.empty(n_side)
    up, at, width, second = np.empty(n_side), np.empty(n_side), np.empty(n_side), np.empty(n_side)
    for start in range(0, n, n_side):
        m = min(n_side, n - start)
        stop = start + m
        _lay(scale, start, tau[:m])
        fill(0.0, gained)
        for a in range(k):
            copy(was[a, start:], now[a, :m])
        for a in range(k):
            _lay(gram[places[a, a]], start, stiff[:m])
            _lay(precision[a], start, prior[:m])
            _lay(bias[a], start, odds[:m])
            _weigh(gram, places, a, 0, a, start, now, before[:m])
            _weigh(gram, places, a, a + 1, k, start, now, behind[:m])
            copy(drive[a, start:], given[:m])
            own, summed, spread, size = now[a], used[a], entropy[a], sizes[a]
            for i in range(m):
                pull = tau[i] * (given[i] - before[i] - behind[i])
                width[i] = 1.0 / (tau[i] * stiff[i] + prior[i])
                at[i] = pull * width[i]
                pulled[i] = pull * at[i]
            for i in range(m):
                log_width[i] = log_normal(width[i])
                logit[i] = odds[i] + 0.5 * (log_width[i] + pulled[i])
            for i in range(m):  # numbers below the normal ones take some processors a hundred times as long
                power[i] = shrunk(min(abs(logit[i]), LARGEST_LOG_ODDS))[0]
            for i in range(m):
                far = abs(logit[i]) > LARGEST_LOG_ODDS
                low = SMALLEST_CHANCE if far else power[i] / (1.0 + power[i])
                up[i] = low if logit[i] < 0 else 1.0 - low
                unsure = log_beyond_one(max(power[i], SMALLEST_POWER)) + low * min(abs(logit[i]), LARGEST_EXPONENT)
                spread[i] += unsure + 0.5 * up[i] * log_width[i]
            for i in range(m):
                new = up[i] * at[i]
                own[i] = new
                second[i] = up[i] * (at[i] * at[i] + width[i])
                gained[i] += new * (given[i] - before[i]) - 0.5 * stiff[i] * second[i]
                summed[i] += up[i]
                size[i] += second[i]
            copy(up, on[a, start:stop])
            copy(at, slab[a, start:stop])
            copy(width, variance[a, start:stop])
            copy(own, mean[a, start:stop])
            copy(second, square[a, start:stop])
        copy(gained, gain[start:stop])
    for a in range(k):
        sums[0, a] = used[a].sum()
        sums[1, a] = entropy[a].sum()
        sums[2, a] = sizes[a].sum()


@nb.njit(**COMPILED)
def subtract_listed(bounds, listed, values, whole, there, out):
    """out (P, n) = whole' there - values A', for whole (V, P), there (V, n) and a 0/1 matrix A in CSR form.

    Row i of A has its ones at listed[bounds[i] : bounds[i + 1]].
    """
    p, n_values = values.shape
    wide = (p + LINE - 1) // LINE * LINE
    raw = np.empty(n_values * wide + LINE)
    skip = (-(raw.ctypes.data // 8)) % LINE  # rows begin with a line of cache: what is read most is not read twice
    table = raw[skip : skip + n_values * wide].reshape((n_values, wide))
    table[:, p:] = 0.0
    for a in range(p):
        row = values[a]
        for j in range(n_values):
            table[j, a] = row[j]
    sums = np.empty((N_SUMS, wide))
    for start in range(0, out.shape[1], N_SUMS):
        stop = min(start + N_SUMS, out.shape[1])
        for i in range(start, stop):
            into = sums[i - start]
            fill(0.0, into)
            at, end = bounds[i], bounds[i + 1]
            while at + 4 <= end:  # four at a time: the sum is what is read and written most
                a, b, c, d = table[listed[at]], table[listed[at + 1]], table[listed[at + 2]], table[listed[at + 3]]
                for j in range(wide):
                    into[j] += (a[j] + b[j]) + (c[j] + d[j])
                at += 4
            while at < end:
                a = table[listed[at]]
                for j in range(wide):
                    into[j] += a[j]
                at += 1
        for a in range(p):
            for i in range(start, stop):
                total = whole[0, a] * there[0, i]
                for part in range(1, len(whole)):
                    total += whole[part, a] * there[part, i]
                out[a, i] = total - sums[i - start, a]


@nb.njit(**COMPILED)
def moment_pairs(mean, spread, out):
    """E[x_a x_b], a <= b, of columns with that mean; their first entries have a covariance (K, K, 1 or n)."""
    width, k = mean.shape[0], spread.shape[0]
    at = 0
    for a in range(width):
        left = mean[a]
        for b in range(a, width):
            right, into = mean[b], out[at]
            for i in range(len(into)):
                into[i] = left[i] * right[i]
            if b < k:
                both = spread[a, b]
                if both.shape[0] == 1:
                    for i in range(len(into)):
                        into[i] += both[0]
                else:
                    for i in range(len(into)):
                        into[i] += both[i]
            at += 1


@nb.njit(**COMPILED)
def add_products(left, right, width, out):
    """Entries a <= b of left right', of columns (K, L) each, added to such pairs of `width`; both (K, L, n)."""
    at = 0
    for a in range(left.shape[0]):
        for b in range(a, left.shape[0]):
            into = out[at + b - a]
            for m in range(left.shape[1]):
                own, other = left[a, m], right[b, m]
                for i in range(len(into)):
                    into[i] += own[i] * other[i]
        at += width - a


@nb.njit(**COMPILED)
def coefficient_pairs(mean, square, out):
    """E[w_a w_b], a <= b, of independent coefficients (K, D) with these means and second moments."""
    at = 0
    for a in range(mean.shape[0]):
        copy(square[a], out[at])
        left = mean[a]
        for b in range(a + 1, mean.shape[0]):
            at += 1
            right, into = mean[b], out[at]
            for i in range(len(into)):
                into[i] = left[i] * right[i]
        at += 1


@nb.njit(**COMPILED)
def spike_evidence(at, variance, ends, width, odds, by_place, by_width, by_odds):
    """sum log[(1 - share) Normal(at | 0, v) + share Normal(at | 0, v + width)] without log 2 pi / 2; its slopes.

    at and by_place (K, D), variance v (D,); the columns of block m end at ends[m], width and log odds of shares
    (M, K) are those of a block. Slopes are by `at`, log width and log odds.
    """
    total, start = 0.0, 0
    for m in range(len(ends)):
        for k in range(at.shape[0]):
            slab, chance = width[m, k], odds[m, k]
            small, _ = shrunk(abs(chance))
            none = max(chance, 0.0) + log_beyond_one(small)  # log(1 + e^chance)
            share = 1.0 / (1.0 + small) if chance > 0 else small / (1.0 + small)
            place, slope, value, wider, more = at[k], by_place[k], 0.0, 0.0, 0.0
            for d in range(start, ends[m]):
                v = variance[d]
                narrow, wide = 1.0 / v, 1.0 / (v + slab)
                square = place[d] * place[d]
                gap = chance + 0.5 * (square * (narrow - wide) + log_normal(v * wide))
                rest, _ = shrunk(abs(gap))
                inside = (1.0 if gap > 0 else rest) / (1.0 + rest)
                value += max(gap, 0.0) + log_beyond_one(rest) - 0.5 * (square * narrow + log_normal(v))
                slope[d] = -place[d] * (narrow + inside * (wide - narrow))
                wider += inside * (square * wide - 1.0) * wide
                more += inside
            n = ends[m] - start
            total += value - n * none
            by_width[m, k], by_odds[m, k] = 0.5 * slab * wider, more - n * share
        start = ends[m]
    return total


@nb.njit(**COMPILED)
def prior_sums(drive, gram, places, scale, mean, alpha, odds, out, n_side):
    """Sums over n loadings of a coefficient that tell how their evidence changes with log odds and log precision.

    Rows, and what is given of them, are those of `spike_sweep`, with the means E[w] (K, n) where they are now; alpha
    and odds are of the prior of the first coefficients. Given the others, a loading has the objective h w - g w^2 / 2.
    It is in with chance s, and a = alpha E[w^2] if it is. Into `out` (5, coefficients): sums of s, s (1 - a),
    s (1 - s), s (1 - s) (1 - a), and the second derivative by log alpha.
    """
    k, n = mean.shape
    before, behind, given = np.empty(n_side), np.empty(n_side), np.empty(n_side)
    stiff, tau = np.empty(n_side), np.empty(n_side)
    chances, rests, slopes = np.empty(n_side), np.empty(n_side), np.empty(n_side)
    fill(0.0, out.reshape(-1))
    for start in range(0, n, n_side):
        m = min(n_side, n - start)
        _lay(scale, start, tau[:m])
        for a in range(len(alpha)):
            _lay(gram[places[a, a]], start, stiff[:m])
            _weigh(gram, places, a, 0, a, start, mean[:, start:], before[:m])
            _weigh(gram, places, a, a + 1, k, start, mean[:, start:], behind[:m])
            copy(drive[a, start:], given[:m])
            precision, bias = alpha[a], odds[a] + 0.5 * log_normal(alpha[a])
            for i in range(m):
                pull, width = tau[i] * (given[i] - before[i] - behind[i]), 1.0 / (tau[i] * stiff[i] + precision)
                slab = pull * width
                square = slab * slab
                logit = bias + 0.5 * (log_normal(width) + pull * slab)
                power, _ = shrunk(abs(logit))
                low = power / (1.0 + power)
                size = precision * (square + width)
                chances[i] = low if logit < 0 else 1.0 - low
                rests[i] = 1.0 - size
                slopes[i] = size - precision * precision * width * (width + 2.0 * square)  # d size / d log alpha
            into, odd, doubts, both, curve = 0.0, 0.0, 0.0, 0.0, 0.0
            for i in range(m):
                chance, rest = chances[i], rests[i]
                doubt = chance * (1.0 - chance)
                into += chance
                odd += chance * rest
                doubts += doubt
                both += doubt * rest
                curve += 0.25 * doubt * rest * rest - 0.5 * chance * slopes[i]
            out[0, a] += into
            out[1, a] += odd
            out[2, a] += doubts
            out[3, a] += both
            out[4, a] += curve


@nb.njit(**COMPILED)
def _dot(a, b):
    first, second, third, fourth, n = 0.0, 0.0, 0.0, 0.0, len(a) - len(a) % 4  # four sums wait less than one
    for d in range(0, n, 4):
        first += a[d] * b[d]
        second += a[d + 1] * b[d + 1]
        third += a[d + 2] * b[d + 2]
        fourth += a[d + 3] * b[d + 3]
    for d in range(n, len(a)):
        first += a[d] * b[d]
    return (first + second) + (third + fourth)


@nb.njit(**COMPILED)
def axes_height(mean, variance, ends, dense, second, n, weight, x, slopes):
    """The objective of `models.multi_view.turns` at x: axes, log widths and log odds, one after the other.

    Its gradient goes into `slopes`. mean (K, D), variance (D,), ends and dense (M,), second (K, K). Minus infinity
    where axes are singular.
    """
    (k, d), blocks, square = mean.shape, len(ends), mean.shape[0] ** 2
    mixing, back, moved = x[:square].reshape(k, k), np.empty((k, k)), np.zeros((k, k))
    volume, _ = inverse_of_square(mixing, back)
    if not np.isfinite(volume):
        return -np.inf
    half, usual, spread = np.zeros((k, k)), 0.0, 0.0
    for i in range(k):
        usual += second[i, i] / k
        for j in range(k):
            for a in range(k):
                half[i, a] += back[i, j] * second[j, a]
    for i in range(k):
        for j in range(k):
            for a in range(k):
                moved[i, a] += half[i, j] * back[a, j]
        spread += moved[i, i]
    at, by_place = np.zeros((k, d)), np.empty((k, d))
    for a in range(k):
        clear = np.sqrt(moved[a, a] / usual)
        for i in range(k):
            times, row = clear * mixing[i, a], mean[i]
            for j in range(d):
                at[a, j] += times * row[j]
    width, odds = np.empty((blocks, k)), np.empty((blocks, k))
    by_width, by_odds = np.empty((blocks, k)), np.empty((blocks, k))
    even = 0.0  # shares are not known to be 0 or 1
    for m in range(blocks):
        for a in range(k):
            log_width, chance = x[square + m * k + a], x[square + (blocks + m) * k + a]
            width[m, a] = np.exp(min(max(log_width, -LARGEST_LOG_WIDTH), LARGEST_LOG_WIDTH))
            odds[m, a] = LOG_ODDS_OF_CERTAIN if dense[m] > 0 else chance
            even -= abs(chance) + 2 * np.log1p(np.exp(-abs(chance)))
    value = spike_evidence(at, variance, ends, width, odds, by_place, by_width, by_odds)
    for a in range(k):
        clear, own = np.sqrt(moved[a, a] / usual), moved[a, a]
        for i in range(k):
            slopes[i * k + a] = weight * clear * _dot(mean[i], by_place[a]) - n * back[a, i]
        times = weight * _dot(by_place[a], at[a]) / own - 1.0
        for i in range(k):
            half[a, i] = times * moved[a, i]
    for i in range(k):
        for a in range(k):
            for j in range(k):
                slopes[i * k + a] -= back[j, i] * half[j, a]
    for m in range(blocks):
        for a in range(k):
            place = square + m * k + a
            slopes[place] = weight * by_width[m, a]
            chance = x[place + blocks * k]
            slopes[place + blocks * k] = (0.0 if dense[m] > 0 else weight * by_odds[m, a]) - np.tanh(0.5 * chance)
    return weight * value + even - 0.5 * spread - n * volume


@nb.njit(**COMPILED)
def climb_axes(mean, variance, ends, dense, second, n, weight, x, fixed, n_steps, close):
    """Up to n_steps of the limited-memory BFGS method from x, in place; the height that is reached.

    The first `fixed` numbers of x stay. It ends after a few steps that gain less than `close`.
    """
    size = len(x)
    slopes, trial, beyond, way = np.zeros(size), np.empty(size), np.empty(size), np.empty(size)
    steps, changes, inverse = np.empty((MOST_PAIRS, size)), np.empty((MOST_PAIRS, size)), np.empty(MOST_PAIRS)
    share, n_pairs, last, small = np.empty(MOST_PAIRS), 0, 0, 0
    height = axes_height(mean, variance, ends, dense, second, n, weight, x, slopes)
    if not np.isfinite(height):
        return height
    fill(0.0, slopes[:fixed])
    for _ in range(n_steps):
        copy(slopes, way)
        for back in range(n_pairs):
            i = (last - 1 - back) % MOST_PAIRS
            share[i] = inverse[i] * _dot(steps[i], way)
            for j in range(size):
                way[j] -= share[i] * changes[i, j]
        if n_pairs:
            i = (last - 1) % MOST_PAIRS
            times = 1.0 / (inverse[i] * _dot(changes[i], changes[i]))
        else:
            times = 1.0 / max(np.sqrt(_dot(slopes, slopes)), SMALLEST_NORMAL)
        for j in range(size):
            way[j] *= times
        for back in range(n_pairs - 1, -1, -1):
            i = (last - 1 - back) % MOST_PAIRS
            times = share[i] - inverse[i] * _dot(changes[i], way)
            for j in range(size):
                way[j] += times * steps[i, j]
        rise, length, found = _dot(way, slopes), 1.0, -np.inf
        if not rise > 0:
            break
        for _ in range(N_SHORTER):
            for j in range(size):
                trial[j] = x[j] + length * way[j]
            found = axes_height(mean, variance, ends, dense, second, n, weight, trial, beyond)
            if found > height + LEAST_SHARE * length * rise:
                break
            # where the parabola through both heights and the slope has its top
            bend = 2.0 * (height + length * rise - found)
            length *= min(max(length * rise / bend, 0.1), 0.5) if np.isfinite(bend) and bend > 0 else 0.1
        if not found > height:
            if not n_pairs:
                break
            n_pairs = 0  # what was kept leads astray: once more along the slopes
            continue
        fill(0.0, beyond[:fixed])
        i, curve = last % MOST_PAIRS, 0.0
        for j in range(size):
            steps[i, j], changes[i, j] = trial[j] - x[j], slopes[j] - beyond[j]
            curve += steps[i, j] * changes[i, j]
        if curve > LEAST_COSINE * np.sqrt(_dot(steps[i], steps[i]) * _dot(changes[i], changes[i])):
            inverse[i], last, n_pairs = 1.0 / curve, last + 1, min(n_pairs + 1, MOST_PAIRS)
        gain, height = found - height, found
        copy(trial, x)
        copy(beyond, slopes)
        small = small + 1 if gain < close else 0
        if small == N_SMALL:
            break
    return height
