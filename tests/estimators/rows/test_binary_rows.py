"""Rows of 0 and 1: what is cut, what is refused, what stays sparse."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

import latens
from latens.core import Rows, blocks
from latens.errors import ValuesCut
from latens.estimators.rows.sampling import filled, sample_rows
from latens.estimators.rows.units import Units
from latens.estimators.rows.validation import binary_rows

X = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])


def test_zeros_and_ones_pass_without_a_word_or_a_copy() -> None:
    rows = Rows(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert binary_rows(rows, 0.5) is rows
        assert binary_rows(rows, None) is rows


def test_a_cut_may_be_above_one() -> None:
    with pytest.warns(ValuesCut, match=r"^3 value\(s\)"):  # two were above 1, and a 1 is below the cut
        cut = binary_rows(Rows(np.array([[5.0, 1.0], [2.0, 0.0]])), 2.0)
    assert np.array_equal(cut.x, [[1.0, 0.0], [0.0, 0.0]])


def test_holes_stay_holes_and_other_values_are_cut() -> None:
    seen = np.array([[True, False], [True, True]])
    with pytest.warns(ValuesCut, match=r"^2 value\(s\)"):
        cut = binary_rows(Rows(np.array([[0.9, 0.0], [0.1, 1.0]]), seen), 0.5)
    assert np.array_equal(cut.x, [[1.0, 0.0], [0.0, 1.0]])
    assert cut.seen is seen


def test_sparse_rows_are_cut_where_they_are_stored() -> None:
    given = csr_array(np.array([[0.9, 0.0], [0.1, 1.0]]))
    with pytest.warns(ValuesCut, match=r"^2 value\(s\)"):
        cut = binary_rows(Rows(given), 0.5)
    assert cut.x.nnz == 2
    assert np.array_equal(cut.x.toarray(), [[1.0, 0.0], [0.0, 1.0]])
    assert sorted(given.data) == [0.1, 0.9, 1.0]


def test_sparse_rows_slice_sample_and_count_like_dense_ones() -> None:
    many = np.tile(X, (20, 1))
    dense, sparse = Rows(many), Rows(csr_array(many))
    assert np.array_equal(sparse[3:9].x.toarray(), many[3:9])
    assert np.array_equal(sparse.mask, dense.mask)
    assert np.array_equal(sparse.observed, dense.observed)
    assert np.array_equal(sparse.counts, dense.counts)
    for one, two in zip(sparse.ones, dense.ones, strict=True):
        assert np.array_equal(one, two)
    few, also = sample_rows(sparse, 3), sample_rows(dense, 3)
    assert isinstance(few.x, csr_array)
    assert np.array_equal(few.x.toarray(), also.x)
    assert np.array_equal(filled(few), filled(also))
    assert sum(len(block) for block in blocks(sparse, 10**6)) == len(many)
    assert len(blocks(sparse, 10**6)) > 1


def test_binary_rows_get_no_origin_and_no_unit() -> None:
    frame = Units.of(Rows(csr_array(X)), centred=False, scaled=False)
    rows = Rows(csr_array(X))
    assert frame.log_scale == 0
    assert frame.enter(rows).x is rows.x


def test_flags_of_an_estimator_decide() -> None:
    from latens.estimators.binary_factors import BinaryFactorAnalysis
    from latens.estimators.noisy_or import NoisyOr

    assert NoisyOr().__sklearn_tags__().input_tags.sparse
    assert not BinaryFactorAnalysis().__sklearn_tags__().input_tags.sparse
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        BinaryFactorAnalysis(1).fit(csr_array(X))
    assert SimpleNamespace(binary=NoisyOr.binary, scaled=NoisyOr.scaled) == SimpleNamespace(binary=True, scaled=False)


@pytest.mark.parametrize("baskets", [[["milk", "bread"], ["milk"]], [{"milk", "bread"}, {"milk"}], [[3, 7], [3], []]])
@pytest.mark.parametrize("estimator", [latens.NoisyOr, latens.BernoulliMixture])
def test_lists_of_items_are_refused_with_what_makes_rows_of_them(estimator, baskets):
    with pytest.raises(TypeError, match=r"lists of items, such as \[.*MultiLabelBinarizer"):
        estimator(2).fit(baskets)
    with pytest.raises(ValueError, match=r"could not convert|no number"):
        estimator(2).fit([["yes", "no"], ["no", "no"]])
