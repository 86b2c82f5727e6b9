"""Bad input: a clear error that names the value and a remedy, or the right answer. Never NaN, never half a fit."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latens import LatentClassAnalysis, MultiViewFactorAnalysis
from latens.estimators.binary_factors import BinaryFactorAnalysis
from tests.estimators.switching_causes import switched_rows

X = switched_rows(60, 4)
NAN = np.nan


def with_value(value: Any, dtype: Any = float) -> np.ndarray:
    x = X.astype(dtype)
    x[3, 1] = value
    return x


REFUSED_SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"n_components": 0}, r"n_components=0 .*at least 1"),
    ({"n_components": -1}, r"n_components=-1 .*at least 1"),
    ({"n_components": 2.5}, r"n_components=2.5 is not a whole number"),
    ({"n_components": "a"}, r"n_components='a' is not a whole number"),
    ({"n_components": True}, r"n_components=True is not a whole number"),
    ({"n_components": NAN}, r"n_components=nan is not a whole number"),
    ({"n_components": [2]}, r"n_components=\[2\] is not a whole number"),
    ({"n_components": 10**6}, r"n_components=1000000 .*choose at most \d+"),
    ({"n_components": 10**30}, r"n_components=1000000000000000000000000000000 .*choose at most \d+"),
    ({"n_components": 17, "e_step": "exact"}, r"n_components=17 .*'exact'.*at most 16"),
    ({"n_components": 63, "e_step": "truncated"}, r"n_components=63 .*'truncated'.*at most 62"),
    ({"n_components": None, "prior": "ml"}, r"n_components=None .*prior='ard'"),
    ({"prior": "map"}, r"prior='map' is not known; choose one of 'ard', 'ml'"),
    ({"prior": None}, r"prior=None is not known"),
    ({"prior": 3}, r"prior=3 is not known"),
    ({"e_step": "gibbs"}, r"e_step='gibbs' is not known; choose one of 'auto', 'mean-field', 'exact', 'truncated'"),
    ({"noise": "full"}, r"noise='full' is not known; choose one of 'shared', 'diagonal'"),
    ({"init": "pca"}, r"init='pca' is not known; choose one of 'auto', 'random'"),
    ({"init": np.ones((2, 7))}, r"init has shape \(2, 7\); expected .*\(2, 4\)"),
    ({"init": np.ones((3, 4))}, r"init has shape \(3, 4\); expected .*\(2, 4\)"),
    ({"init": np.ones(4)}, r"init has shape \(4,\); expected .*\(2, 4\)"),
    ({"init": np.full((2, 4), NAN)}, r"init .*finite"),
    ({"init": None}, r"init"),
    ({"init": {"mean": np.ones((2, 4))}}, r"init"),
    ({"init": [["a"] * 4] * 2}, r"init"),
    ({"max_iter": 0}, r"max_iter=0 .*at least 1"),
    ({"max_iter": 1.5}, r"max_iter=1.5 is not a whole number"),
    ({"max_iter": "many"}, r"max_iter='many' is not a whole number"),
    ({"tol": -1}, r"tol=-1 .*at least 0"),
    ({"tol": NAN}, r"tol=nan is not a finite number"),
    ({"tol": "small"}, r"tol='small' is not a finite number"),
    ({"tol": None}, r"tol=None is not a finite number"),
    ({"n_init": 0}, r"n_init=0 .*at least 1"),
    ({"n_init": "five"}, r"n_init='five'"),
    ({"random_state": "a"}, r"random_state='a' is no seed; give a whole number"),
    ({"random_state": -1}, r"random_state=-1 is no seed"),
    ({"random_state": 1.5}, r"random_state=1.5 is no seed"),
    ({"callbacks": 3}, r"callbacks=3 .*function"),
    ({"callbacks": "print"}, r"callbacks='print' .*function"),
    ({"callbacks": [print, 3]}, r"callbacks=.* cannot be called; give functions"),
    ({"moves": "yes"}, r"moves='yes' is neither True nor False"),
    ({"fit_intercept": "yes"}, r"fit_intercept='yes' is neither True nor False"),
    ({"fit_intercept": 2}, r"fit_intercept=2 is neither True nor False"),
    ({"warm_start": 1}, r"warm_start=1 is neither True nor False"),
    ({"n_jobs": 0}, r"n_jobs"),
    ({"n_jobs": "all"}, r"n_jobs"),
    ({"verbose": "loud"}, r"verbose"),
]


@pytest.mark.parametrize(
    ("options", "words"),
    REFUSED_SETTINGS,
    ids=[str({k: str(v)[:20] for k, v in o.items()}) for o, _ in REFUSED_SETTINGS],
)
def test_settings_that_make_no_sense_are_refused_by_name(options: dict[str, Any], words: str) -> None:
    model = BinaryFactorAnalysis(**{"n_components": 2, "n_init": 1, "random_state": 0, **options})
    before = dict(vars(model))
    with pytest.raises((ValueError, TypeError)) as caught:
        model.fit(X)
    assert re.search(words, str(caught.value)), caught.value
    assert vars(model) == before


def test_settings_are_kept_as_given_until_they_are_used() -> None:
    assert BinaryFactorAnalysis(n_components=-3).n_components == -3


def test_weight_only_on_rows_with_nothing_observed_is_refused() -> None:
    x = X.copy()
    x[0] = NAN
    weight = np.zeros(60)
    weight[0] = 1.0
    with pytest.raises(ValueError, match=r"(?i)weight|observed"):
        BinaryFactorAnalysis(2, n_init=1, random_state=0).fit(x, sample_weight=weight)


def holes(rows: Any = (), columns: Any = ()) -> np.ndarray:
    x = X.copy()
    x[list(rows)] = NAN
    x[:, list(columns)] = NAN
    return x


AWKWARD_ROWS: dict[str, np.ndarray] = {
    "a constant column": np.hstack([X, np.full((60, 1), 7.0)]),
    "constant rows": np.ones((60, 4)) * [1.0, 2, 3, 4],
    "duplicate columns": np.hstack([X, X]),
    "two rows": X[:2],
    "fewer rows than components": X[:4],
}

WAYS: dict[str, dict[str, Any]] = {
    "ard": {},
    "ml": {"prior": "ml"},
    "ard-intercept-diagonal": {"fit_intercept": True, "noise": "diagonal"},
    "ml-intercept-diagonal-mean-field": {
        "prior": "ml", "fit_intercept": True, "noise": "diagonal", "e_step": "mean-field",
    },
}  # fmt: skip


@pytest.mark.filterwarnings("error::latens.errors.ElboDecreased")
@pytest.mark.parametrize("rows", ["two rows", "fewer rows than components", "constant rows", "duplicate columns"])
@pytest.mark.parametrize("way", WAYS)
def test_a_perfect_fit_does_not_look_like_a_fault(rows: str, way: str) -> None:
    """Noise falls to its floor there, and rounding of the residuals is multiplied by its inverse."""
    BinaryFactorAnalysis(5, **{"n_init": 2, "max_iter": 200, "random_state": 0, **WAYS[way]}).fit(AWKWARD_ROWS[rows])


def test_a_constant_column_is_reproduced() -> None:
    x = AWKWARD_ROWS["a constant column"]
    for way in WAYS.values():
        model = BinaryFactorAnalysis(4, **{"random_state": 0, **way}).fit(x)
        rebuilt = model.inverse_transform(model.transform(x))
        assert rebuilt[:, -1] == pytest.approx(np.full(60, 7.0), abs=1.0)


def test_constant_rows_are_reproduced() -> None:
    x = AWKWARD_ROWS["constant rows"]
    for way in WAYS.values():
        model = BinaryFactorAnalysis(2, **{"random_state": 0, **way}).fit(x)
        assert model.inverse_transform(model.transform(x)) == pytest.approx(x, rel=0.05)


def test_duplicate_columns_get_equal_loadings() -> None:
    model = BinaryFactorAnalysis(3, random_state=0).fit(AWKWARD_ROWS["duplicate columns"])
    assert model.components_[:, :4] == pytest.approx(model.components_[:, 4:], abs=1e-6)


def test_a_column_of_holes_is_not_learnt_and_does_not_disturb_the_others() -> None:
    model = BinaryFactorAnalysis(3, random_state=0).fit(holes(columns=[1]))
    plain = BinaryFactorAnalysis(3, random_state=0).fit(np.delete(X, 1, axis=1))
    assert model.components_[:, 1] == pytest.approx(0, abs=1e-9)
    assert model.score(holes(columns=[1])) == pytest.approx(plain.score(np.delete(X, 1, axis=1)), abs=0.1)


def test_data_without_structure_has_hardly_any_component() -> None:
    rows = np.random.default_rng(1).normal(size=(300, 5))
    assert BinaryFactorAnalysis(6, fit_intercept=True, random_state=0).fit(rows).n_components_ == 0


def test_one_row_may_be_asked_about() -> None:
    model = BinaryFactorAnalysis(2, n_init=1, random_state=0).fit(X)
    assert model.transform(X[:1]) == pytest.approx(model.transform(X)[:1], abs=1e-6)
    assert model.score_samples(X[:1]) == pytest.approx(model.score_samples(X)[:1])


@pytest.mark.parametrize("n", [0, -1, 2.5, "a", None, True])
@pytest.mark.parametrize("method", ["sample", "sample_posterior"])
def test_numbers_of_draws_are_checked(method: str, n: Any) -> None:
    model = BinaryFactorAnalysis(2, n_init=1, random_state=0).fit(X)
    with pytest.raises(ValueError, match="n_samples="):
        getattr(model, method)(n)


@pytest.mark.parametrize("threshold", [-1, NAN, "a", None])
def test_thresholds_are_checked(threshold: Any) -> None:
    model = BinaryFactorAnalysis(2, n_init=1, random_state=0).fit(X)
    with pytest.raises(ValueError, match="threshold="):
        model.thresholded_components(threshold)


@pytest.mark.parametrize("codes", [np.full((3, 2), NAN), np.full((3, 2), np.inf), [["a", "b"]], np.ones((3, 2)) * 1j])
def test_codes_that_are_no_numbers_are_refused(codes: Any) -> None:
    model = BinaryFactorAnalysis(2, n_init=1, random_state=0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, TypeError), match=r"(?i)codes|NaN|infinit|float|complex"):
            model.inverse_transform(codes)


class Broken(BinaryFactorAnalysis):
    """Fails while publishing, when almost everything is done."""

    def _publish(self, *arguments: Any) -> dict[str, Any]:
        raise ZeroDivisionError


def test_a_fit_that_fails_late_leaves_nothing_behind() -> None:
    model = Broken(2, n_init=1, random_state=0)
    before = dict(vars(model))
    for method in (model.fit, model.partial_fit):
        with pytest.raises(ZeroDivisionError):
            method(X)
        assert vars(model) == before


def test_a_refit_that_fails_leaves_the_first_fit_as_it_was() -> None:
    model = BinaryFactorAnalysis(2, n_init=1, random_state=0).fit(X)
    before, codes = dict(vars(model)), model.transform(X)
    for bad, weight in ((with_value(np.inf), None), (X[:, :2], np.ones(3)), (X[:, :3], np.zeros(60))):
        with pytest.raises(ValueError, match=r"(?i)infinity|weight"):
            model.fit(bad, sample_weight=weight)
        assert vars(model) == before
    assert np.array_equal(model.transform(X), codes)


def test_an_error_in_a_callback_reaches_the_caller_and_leaves_nothing_behind() -> None:
    def fail(event: object) -> None:
        raise ZeroDivisionError("in the callback")

    model = BinaryFactorAnalysis(2, callbacks=fail, random_state=0)
    before = dict(vars(model))
    with pytest.raises(ZeroDivisionError, match="in the callback"):
        model.fit(X)
    assert vars(model) == before


WRONG_SHAPES: list[tuple[Any, str]] = [
    (np.arange(6.0), r"X has shape \(6,\); BinaryFactorAnalysis takes a 2D table, .*X\[:, None\] if it is one column"),
    ([1.0, 2.0], r"X has shape \(2,\);"),
    (np.zeros((3, 4, 2)), r"X has shape \(3, 4, 2\); .*Reshape your data: X\.reshape\(len\(X\), -1\)\."),
    (3.0, r"X is 3\.0, a single value; .*\[\[X\]\] is a table of one entry"),
]


@pytest.mark.parametrize(("rows", "words"), WRONG_SHAPES, ids=["array", "list", "cube", "number"])
def test_what_is_no_table_meets_its_shape_and_what_to_type(rows: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        BinaryFactorAnalysis(2).fit(rows)


@pytest.mark.parametrize("model", [BinaryFactorAnalysis(2), MultiViewFactorAnalysis(2), LatentClassAnalysis(2)])
def test_the_path_of_a_table_is_told_how_to_be_read(model: Any) -> None:
    for path in ("sales.csv", Path("sales.csv")):
        with pytest.raises(TypeError, match=r"X is the string 'sales\.csv'; .* read it: latens\.read\('sales\.csv'\)"):
            model.fit(path)


@pytest.mark.parametrize("model", [BinaryFactorAnalysis(2), LatentClassAnalysis(2)])
def test_columns_in_a_dict_are_told_how_to_be_a_frame(model: Any) -> None:
    with pytest.raises(TypeError, match=r"X is a dict; give a data frame: pandas\.DataFrame\(X\)"):
        model.fit({"a": [1.0, 2.0, 3.0], "b": [1.0, 0.0, 1.0]})


def test_infinity_is_said_to_be_where_it_is() -> None:
    words = r"X contains infinity in 1 entries, first in row 3, column 'x1'; replace it by a number, or by NaN"
    with pytest.raises(ValueError, match=words):
        BinaryFactorAnalysis(2).fit(with_value(-np.inf))


@pytest.mark.extras
def test_frames_that_cannot_be_meet_the_name_of_their_column() -> None:
    import pandas as pd

    import latens

    for model in (BinaryFactorAnalysis(2), latens.MultiViewFactorAnalysis(2), latens.LatentClassAnalysis(2)):
        with pytest.raises(ValueError, match="X has no columns; give at least one"):
            model.fit(pd.DataFrame(index=range(9)))
    frame = pd.DataFrame(with_value(np.inf), columns=list("abcd"))
    with pytest.raises(ValueError, match="first in row 3, column 'b'"):
        BinaryFactorAnalysis(2).fit(frame)
    with pytest.raises(ValueError, match=r"X has shape \(60,\); .*X\.to_frame\(\) if it is one column"):
        BinaryFactorAnalysis(2).fit(frame["a"])
    twice = pd.DataFrame(X, columns=list("abca"))
    words = r"X has several columns called 'a'; give each a name of its own"
    for table in (twice, twice.assign(kind="u")):
        with pytest.raises(ValueError, match=words):
            latens.LatentClassAnalysis(2).fit(table)
    for model in (BinaryFactorAnalysis(2), latens.MultiViewFactorAnalysis(2)):
        with pytest.raises(ValueError, match=r"several columns called 'a'|duplicated .*'a'"):
            model.fit(twice)
    with pytest.raises(ValueError, match=r"several columns called 'a'|duplicated .*'a'"):
        latens.MultiViewFactorAnalysis(2).fit(twice.assign(kind="u"))
