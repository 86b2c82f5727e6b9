"""Tables and tensors of other libraries: taken as they come, answered in kind."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from latens.errors import AllKept
from latens.estimators.binary_factors import BinaryFactorAnalysis
from tests.estimators.subjects import Subject
from tests.estimators.switching_causes import switched_rows

COLUMNS = ["red", "green", "blue", "north", "south", "east"]


def causes(**options: Any) -> BinaryFactorAnalysis:
    return BinaryFactorAnalysis(3, **{"n_init": 2, "random_state": 0, **options})


@pytest.fixture
def X() -> np.ndarray:
    return switched_rows()


@pytest.fixture
def holed(X: np.ndarray) -> np.ndarray:
    return np.where(np.random.default_rng(7).random(X.shape) < 0.1, np.nan, X)


def test_strict_arrays_are_answered_in_kind(X: np.ndarray) -> None:
    import array_api_strict as xp

    plain, model = causes().fit(X), causes().fit(xp.asarray(X))
    assert model.elbo_ == pytest.approx(plain.elbo_, rel=1e-9)
    codes = model.transform(xp.asarray(X))
    assert isinstance(codes, type(xp.asarray(X)))
    assert np.asarray(codes) == pytest.approx(plain.transform(X), abs=1e-6)
    assert isinstance(model.components_, np.ndarray)
    assert np.asarray(model.score_samples(xp.asarray(X))) == pytest.approx(plain.score_samples(X), rel=1e-9)
    assert isinstance(model.impute(xp.asarray(X)), type(xp.asarray(X)))
    assert isinstance(model.inverse_transform(codes), type(xp.asarray(X)))


@pytest.mark.extras
class TestTorch:
    def test_tensors_are_answered_in_kind(self, transformer: Subject) -> None:
        import torch

        X = transformer.rows(80, 6)
        X[np.random.default_rng(7).random(X.shape) < 0.1] = np.nan
        rows = torch.asarray(X)
        plain, model = transformer.fit(X), transformer.fit(rows)
        assert model.elbo_ == pytest.approx(plain.elbo_, abs=1e-6 * len(X))
        mean, std = model.transform(rows, return_std=True)
        for answer in (mean, std, model.score_samples(rows), model.impute(rows), model.inverse_transform(mean)):
            assert isinstance(answer, torch.Tensor)
            assert answer.dtype == torch.float64
            assert not bool(torch.isnan(answer).any())
        assert mean.numpy() == pytest.approx(plain.transform(X), abs=1e-5)
        assert isinstance(model.score(rows), float)

    @pytest.mark.parametrize("options", [{}, {"prior": "ml", "e_step": "truncated", "fit_intercept": True}])
    def test_a_fixed_number_of_iterations_agrees_to_rounding(self, options: Any, holed: np.ndarray) -> None:
        import torch

        plain, other = (
            causes(**options, init=3.0 * np.eye(3, 6), max_iter=8, tol=0, moves=False).fit(rows)
            for rows in (holed, torch.asarray(holed))
        )
        assert other.elbo_history_ == pytest.approx(plain.elbo_history_, rel=1e-10)
        assert other.components_ == pytest.approx(plain.components_, rel=1e-8, abs=1e-9)

    def test_single_precision_stays_single(self, X: np.ndarray) -> None:
        import torch

        rows = torch.asarray(X, dtype=torch.float32)
        model = causes().fit(rows)
        for answer in (model.transform(rows), model.score_samples(rows), model.impute(rows)):
            assert answer.dtype == torch.float32

    def test_rows_with_derivatives_are_taken_as_numbers(self, X: np.ndarray) -> None:
        import torch

        rows = torch.asarray(X).requires_grad_()
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # torch warns where a number is read from a graph
            warnings.simplefilter("ignore", AllKept)
            model = causes().fit(rows)
            codes = model.transform(rows)
            answers = (codes, model.score_samples(rows), model.impute(rows), model.inverse_transform(codes))
            model.inverse_transform(codes.requires_grad_())
        assert not any(answer.requires_grad for answer in answers[1:])
        assert rows.requires_grad
        assert model.elbo_ == causes().fit(torch.asarray(X)).elbo_

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "bool"])
    def test_every_kind_of_tensor_is_taken(self, dtype: str, X: np.ndarray) -> None:
        import torch

        rows = torch.asarray(np.abs(X)).to(getattr(torch, dtype))
        model = BinaryFactorAnalysis(2, n_init=1, random_state=0).fit(rows)
        expected = torch.float32 if "float" in dtype else torch.float64
        assert model.transform(rows).dtype == expected
        assert model.impute(rows).dtype == expected

    def test_weights_may_be_tensors_and_rows_may_need_gradients(self, X: np.ndarray) -> None:
        import torch

        weight = np.arange(len(X)) % 3
        plain = causes().fit(X, sample_weight=weight)
        rows = torch.asarray(X).requires_grad_()
        model = causes().fit(rows, sample_weight=torch.asarray(weight))
        assert model.elbo_ == pytest.approx(plain.elbo_, abs=1e-6 * len(X))

    def test_a_model_of_arrays_answers_tensors_and_back(self, X: np.ndarray) -> None:
        import torch

        model = causes().fit(X)
        assert model.transform(torch.asarray(X)).numpy() == pytest.approx(model.transform(X), abs=1e-9)
        turned = causes().fit(torch.asarray(X))
        assert isinstance(turned.transform(X), np.ndarray)

    def test_streams_of_tensors_work(self, X: np.ndarray) -> None:
        import torch

        model = causes()
        for part in torch.asarray(X).split(40):
            model.partial_fit(part)
        assert model._state.stats.n == len(X)

    @pytest.mark.parametrize(
        ("rows", "words"),
        [
            (np.ones(4), r"1 dimensions.*expects 2"),
            (np.ones((2, 2, 2)), r"3 dimensions.*expects 2"),
            (np.ones((0, 3)), r"\(0, 3\).*at least 2 row"),
            (np.ones((1, 3)), r"\(1, 3\).*at least 2 row"),
            (np.array([[1.0, np.inf], [1, 2]]), r"infinity; replace"),
            (np.ones((3, 3), complex), r"complex.*real"),
            (np.full((3, 3), np.nan), r"nothing but NaN"),
        ],
    )
    def test_bad_tensors_are_refused_with_a_remedy(self, rows: np.ndarray, words: str) -> None:
        import torch

        model = BinaryFactorAnalysis(2)
        before = dict(vars(model))
        with pytest.raises(ValueError, match=words):
            model.fit(torch.asarray(rows))
        assert vars(model) == before

    def test_tensors_with_other_columns_are_refused(self, X: np.ndarray) -> None:
        import torch

        model = causes().fit(torch.asarray(X))
        with pytest.raises(ValueError, match=r"5 features.*expecting 6 features"):
            model.transform(torch.ones((3, 5)))


@pytest.mark.extras
class TestPandas:
    def frame(self, x: np.ndarray) -> Any:
        import pandas as pd

        return pd.DataFrame(x, columns=COLUMNS, index=[f"row{i}" for i in range(len(x))])

    def test_a_frame_is_fitted_like_its_values(self, holed: np.ndarray) -> None:
        plain, model = causes().fit(holed), causes().fit(self.frame(holed))
        assert model.elbo_ == pytest.approx(plain.elbo_, rel=1e-12)
        assert list(model.feature_names_in_) == COLUMNS
        assert set(model.top_features(2)["cause0"]) <= set(COLUMNS)

    def test_imputation_gives_a_frame_back(self, holed: np.ndarray) -> None:
        table = self.frame(holed)
        model = causes().fit(table)
        filled, std = model.impute(table, return_std=True)
        for answer in (filled, std):
            assert list(answer.columns) == COLUMNS
            assert list(answer.index) == list(table.index)
        assert not filled.isna().any().any()
        seen = ~np.isnan(holed)
        assert np.array_equal(filled.to_numpy()[seen], holed[seen])
        assert table.isna().any().any()  # what was given is as it was

    def test_output_may_be_set_to_frames(self, X: np.ndarray) -> None:
        table = self.frame(X)
        model = causes().set_output(transform="pandas").fit(table)
        model.set_component_names(["sun", "rain", "wind"])
        codes = model.transform(table)
        assert list(codes.columns) == ["sun", "rain", "wind"]
        assert list(codes.index) == list(table.index)
        mean, std = model.transform(table, return_std=True)
        assert np.asarray(mean) == pytest.approx(codes.to_numpy())
        assert np.shape(std) == codes.shape
        rows = model.inverse_transform(codes)
        assert list(rows.columns) == list(table.columns)
        assert rows.to_numpy() == pytest.approx(model.inverse_transform(codes.to_numpy()).to_numpy())

    def test_columns_in_another_order_are_refused(self, X: np.ndarray) -> None:
        table = self.frame(X)
        with pytest.raises(ValueError, match="feature names"):
            causes().fit(table).transform(table[COLUMNS[::-1]])

    def test_a_summary_may_become_a_frame(self, X: np.ndarray) -> None:
        table = causes().fit(self.frame(X)).summary().to_frame()
        assert list(table.columns) == ["component", "name", "share", "top features"]
        assert len(table) == 3

    def test_missing_values_of_nullable_columns_are_holes(self, X: np.ndarray) -> None:
        table = self.frame(np.round(X)).convert_dtypes()
        table.iloc[0, 0] = None
        model = causes().fit(table)
        assert np.sum(model._state.stats.entries) == X.size - 1
        assert not model.impute(table).isna().any().any()


@pytest.mark.extras
class TestPolars:
    def test_a_frame_is_fitted_and_imputed(self, holed: np.ndarray) -> None:
        import polars as pl

        table = pl.DataFrame(holed, schema=COLUMNS)
        plain, model = causes().fit(holed), causes().fit(table)
        assert model.elbo_ == pytest.approx(plain.elbo_, rel=1e-12)
        filled = model.impute(table)
        assert isinstance(filled, pl.DataFrame)
        assert filled.columns == COLUMNS
        assert filled.to_numpy() == pytest.approx(plain.impute(holed))

    def test_nulls_are_holes(self, X: np.ndarray) -> None:
        import polars as pl

        values = X.tolist()
        values[0][0] = None
        table = pl.DataFrame(values, schema=COLUMNS, orient="row")
        model = causes().fit(table)
        assert np.sum(model._state.stats.entries) == X.size - 1
        assert np.all(np.isfinite(model.impute(table).to_numpy()))


def test_sparse_rows_are_refused_with_a_remedy() -> None:
    from scipy.sparse import csr_array

    with pytest.raises(TypeError, match=r"(?i)sparse.*dense|toarray"):
        BinaryFactorAnalysis(2).fit(csr_array(switched_rows(20)))
