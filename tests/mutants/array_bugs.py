"""Bugs of array functions and of compiled loops beside their plain twins: a part of the catalogue."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["ARRAY"]

ARRAY = (
    Mutant(
        "plain sweep over switches: a cause explains itself away",
        "array/kernels/on_off/sweeps.py",
        "others = xp.sum(on * gram[:, :, k], axis=1) - on[:, k] * cost[:, k]",
        "others = xp.sum(on * gram[:, :, k], axis=1)",
        "tests/array/kernels",
    ),
    Mutant(
        "states: pairs are counted once too often",
        "array/kernels/on_off/sweeps.py",
        "score -= 0.5 * pair_costs(bits, gram)",
        "score -= pair_costs(bits, gram)",
        "tests/array/kernels tests/contract/test_bound.py -k 'sweep or states or flip or binary-ml-exact'",
    ),
    Mutant(
        "listed states: a state counts twice",
        "array/kernels/on_off/sweeps.py",
        "np.tri(words.shape[1], k=-1) > 0",
        "np.tri(words.shape[1], k=-1) > 1",
        "tests/array/kernels",
    ),
    Mutant(
        "logistic parabola: its curvature is too small",
        "array/kernels/quadratic_bounds.py",
        "return xi, fall / (fall + 2) / (-2 * xi), fall",
        "return xi, fall / (fall + 2) / (-4 * xi), fall",
        "tests/array/kernels",
    ),
    Mutant(
        "count parabola: the curvature is that of smaller counts",
        "array/kernels/quadratic_bounds.py",
        "return 0.25 + 0.17 * y",
        "return 0.25 + 0.05 * y",
        "tests/array/kernels tests/contract/test_bound.py -k 'quadratic or softplus or views-counts'",
    ),
    Mutant(
        "compiled spike-and-slab sweep differs from its plain twin",
        "array/kernels/spike_slab.py",
        "logit = odds + 0.5 * (xp.log(precision[:, a] / stiff) + pull * slabs[a])",
        "logit = odds + 0.5 * (xp.log(stiff / precision[:, a]) + pull * slabs[a])",
        "tests/array/kernels",
    ),
    Mutant(
        "packed symmetric matrices: pairs off the diagonal count once",
        "array/packed_symmetric.py",
        "return np.where(rows == columns, 1.0, 2.0)",
        "return np.where(rows == columns, 1.0, 1.0)",
        "tests/array/test_packed_symmetric.py",
    ),
    Mutant(
        "softmax: entropies are those before division",
        "array/special.py",
        "entropy = xp.log(size) - xp.sum(x, axis=-1, keepdims=True) / size",
        "entropy = xp.log(size) - xp.sum(x, axis=-1, keepdims=True)",
        "tests/array/test_special.py",
    ),
)
