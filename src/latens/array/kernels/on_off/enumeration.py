"""All 2^K states of K switches, row by row: compiled for NumPy arrays, the plain array form for everything else.

log p(z | row) = drive'z - 1/2 sum_{j != k} gram_jk z_j z_k + const          z in {0, 1}^K
"""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from latens.array import Array
from latens.array.kernels.on_off.sweeps import score_states
from latens.array.special import softmax_entropy
from latens.array.states import all_states
from latens.array.transfer import like

__all__ = ["second_moments", "state_chances", "switch_moments"]


def state_chances(drive: Array, gram: Array) -> tuple[Array, Array]:
    """(n, 2^K), the chance of every state, and their entropies (n,); `gram` is (1 or n, K, K)."""
    n, k = drive.shape
    if not is_numpy_array(drive):
        return softmax_entropy(score_states(like(all_states(k)[None], drive), drive, gram))
    from latens.array.kernels.on_off.enumeration_numba import chance_rows

    chance, entropy = np.empty((n, 2**k), drive.dtype), np.empty(n, drive.dtype)
    chance_rows(np.ascontiguousarray(drive), np.ascontiguousarray(gram), chance, entropy)
    return chance, entropy


def switch_moments(drive: Array, gram: Array) -> tuple[Array, Array, Array]:
    """E[z] (n, K), E[z z'] (n, K, K) and entropies (n,), without keeping chances; NumPy arrays only."""
    from latens.array.kernels.on_off.enumeration_numba import moment_rows

    n, k = drive.shape
    mean, second, entropy = np.empty((n, k), drive.dtype), np.empty((n, k, k), drive.dtype), np.empty(n, drive.dtype)
    moment_rows(np.ascontiguousarray(drive), np.ascontiguousarray(gram), mean, second, entropy)
    return mean, second, entropy


def second_moments(chance: Array, k: int) -> Array:
    """(n, K, K), E[z z'] of chances of all states (n, 2^K)."""
    if is_numpy_array(chance):
        from latens.array.kernels.on_off.enumeration_numba import second_rows

        second = np.empty((len(chance), k, k), chance.dtype)
        second_rows(np.ascontiguousarray(chance), second)
        return second
    bits, xp = like(all_states(k)[None], chance), array_namespace(chance)
    return xp.matrix_transpose(bits * chance[:, :, None]) @ bits
