"""The robustness matrix: about a hundred things that happen to estimators, and every estimator they happen to.

A refusal names what is wrong and leaves the estimator as it was; whatever is taken is answered in finite numbers.
"""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from latens.errors import BoundNotFinite, ElboDecreased
from tests.estimators.subjects import SUBJECTS, D, K, N, Subject, targets


def refused(subject: Subject, words: str, *arguments: Any, streams: bool = True, **options: Any) -> None:
    """Fitting, also as a stream, raises an error that says what is wrong, and nothing half fitted is left."""
    model = subject.make(**options)
    before = dict(vars(model))
    for learn in (subject.fit_to, subject.stream_to) if streams else (subject.fit_to,):
        with pytest.raises((ValueError, TypeError), match=words):
            learn(model, *arguments)
        assert vars(model) == before


def holding(value: Any, dtype: Any = float) -> Callable[[Subject], Any]:
    def rows(subject: Subject) -> Any:
        x = subject.rows().astype(dtype)
        x[3, 1] = value
        return x

    return rows


# invalid values: rows, and words of the refusal
INVALID: dict[str, tuple[Callable[[Subject], Any], str]] = {
    "no rows": (lambda s: np.empty((0, D)), r"(?i)0 sample|0, 4|no rows|at least"),
    "no columns": (lambda s: np.empty((N, 0)), r"(?i)0 feature|at least|no columns"),
    "an empty list": (lambda s: [], r"(?i)2D|0 sample|reshape|empty|no view"),
    "one dimension": (lambda s: np.arange(6.0), r"(?i)2D|dimension"),
    "three dimensions": (lambda s: np.zeros((3, 4, 2)), r"(?i)dim|2D"),
    "a number": (lambda s: 3.0, r"(?i)2D|scalar|dimension|number"),
    "None": (lambda s: None, r"(?i)None|2D"),
    "a word": (lambda s: "rows", r"(?i)2D|str|string|scalar"),
    "words": (lambda s: np.array([["a", "b"], ["c", "d"]] * 4), r"(?i)string|numeric|number|float"),
    "objects": (lambda s: np.array([[{}, 1], [2, 3]] * 4, dtype=object), r"(?i)float|numeric|number|object"),
    "complex numbers": (holding(1j, complex), r"(?i)complex"),
    "infinity": (holding(np.inf), r"(?i)infinit"),
    "minus infinity": (holding(-np.inf), r"(?i)infinit"),
    "nothing but holes": (lambda s: np.full((N, D), np.nan), r"(?i)nan"),
    "ragged rows": (lambda s: [[1.0, 2.0], [3.0]], r"(?i)inhomogeneous|sequence|length"),
    "one row": (lambda s: s.rows()[:1], r"(?i)1 sample|at least 2|one row|2 rows|minimum"),
    "dates": (lambda s: np.array([["2020-01-01", "2020-01-02"]] * 4, "M8[D]"), r"(?i)datetime|dtype|number|float|type"),
}


@pytest.mark.parametrize("what", INVALID)
def test_invalid_rows_are_refused(subject: Subject, what: str) -> None:
    make, words = INVALID[what]
    if what == "one row" and subject.supervised:
        return  # a line through one point is a posterior too
    refused(subject, words, make(subject), streams=what != "one row")  # a stream may begin with one row


@cache
def quick_fit(name: str) -> Any:
    """One for all tests that only ask."""
    return SUBJECTS[name].fit(SUBJECTS[name].rows())


def questions(subject: Subject) -> list[Callable[[Any], Any]]:
    """Everything that may be asked about rows."""
    model = quick_fit(subject.name)
    return [model.predict] if subject.supervised else [model.transform, model.score_samples, model.impute, model.score]


@pytest.mark.parametrize("what", ["one dimension", "three dimensions", "words", "infinity", "complex numbers"])
def test_questions_about_invalid_rows_are_refused(subject: Subject, what: str) -> None:
    for ask in questions(subject):
        with pytest.raises((ValueError, TypeError)):
            ask(INVALID[what][0](subject))


@pytest.mark.parametrize("columns", [D - 1, D + 1])
def test_questions_about_other_columns_are_refused(subject: Subject, columns: int) -> None:
    for ask in questions(subject):
        with pytest.raises(ValueError, match=rf"(?s){columns}.*{D}|{D}.*{columns}"):
            ask(subject.rows(d=columns))


# bad parameters; one that an estimator does not have is none of its business
BAD: list[tuple[str, Any]] = [
    *(("n_components", value) for value in (0, -1, 2.5, "two", True, np.nan, [2], 10**9)),
    *(("max_iter", value) for value in (0, -3, 1.5, "many", None)),
    *(("tol", value) for value in (-1.0, np.nan, "small", None)),
    *(("n_init", value) for value in (0, 1.5, "five")),
    *(("init", value) for value in ("unheard-of", np.ones((K, D + 3)), np.full((K, D), np.nan), 7)),
    *(("random_state", value) for value in ("a", -1, 1.5)),
    *(("moves", value) for value in ("yes", 2)),
    *(("warm_start", value) for value in ("yes", 1)),
    *(("callbacks", value) for value in (3, "print", [print, 3])),
    *(("n_jobs", value) for value in (0, "all")),
    *(("verbose", value) for value in ("loud", -1)),
    *(("prior", value) for value in ("map", None, 3)),
    *(("fit_intercept", value) for value in ("yes", 2)),
    *((name, "unheard-of") for name in ("e_step", "solver", "covariance_type", "weight_prior", "noise", "sources")),
    *(
        (name, -1.0)
        for name in ("weight_precision", "noise_precision", "binarize", "noise_variance", "weight_concentration_prior")
    ),
]


@pytest.mark.parametrize(("name", "value"), BAD, ids=[f"{name}={str(value)[:12]!r}" for name, value in BAD])
def test_bad_parameters_are_refused_by_name(subject: Subject, name: str, value: Any) -> None:
    if name not in subject.make().get_params():
        return
    more = {"covariance_type": "known"} if name == "noise_variance" else {}
    refused(subject, re.escape(name), subject.rows(), **more, **{name: value})


WEIGHTS: dict[str, tuple[Any, str]] = {
    "too few": (np.ones(N - 1), r"(?i)sample_weight|shape|length|inconsistent"),
    "two axes": (np.ones((N, 2)), r"(?i)1D|sample_weight|dim"),
    "negative": (np.r_[-1.0, np.ones(N - 1)], r"(?i)negative"),
    "NaN": (np.r_[np.nan, np.ones(N - 1)], r"(?i)nan"),
    "infinite": (np.r_[np.inf, np.ones(N - 1)], r"(?i)infinit"),
    "all zero": (np.zeros(N), r"(?i)sample_weight|zero"),
    "words": (np.array(["a"] * N), r"(?i)string|float|number"),
}


@pytest.mark.parametrize("what", WEIGHTS)
def test_bad_weights_are_refused(subject: Subject, what: str) -> None:
    weight, words = WEIGHTS[what]
    refused(subject, words, subject.rows(), weight)


def column(change: Callable[[np.ndarray], None]) -> Callable[[Subject], np.ndarray]:
    def rows(subject: Subject) -> np.ndarray:
        x = subject.rows()
        change(x)
        return x

    return rows


def put(at: Any, value: Any) -> Callable[[Subject], np.ndarray]:
    return column(lambda x: x.__setitem__(at, value))


# degenerate and badly scaled data: whatever comes out is finite
DEGENERATE: dict[str, Callable[[Subject], np.ndarray]] = {
    "a constant column": put((slice(None), 1), 1.0),
    "a column of zeros": put((slice(None), 1), 0.0),
    "all constant": lambda s: np.ones((N, D)),
    "all zero": lambda s: np.zeros((N, D)),
    "a column twice": column(lambda x: x.__setitem__((slice(None), 1), x[:, 0])),
    "two equal rows": lambda s: s.rows()[[0, 0]],
    "noise": lambda s: np.random.default_rng(0).normal(size=(N, D)) if not s.binary else s.rows()[:, ::-1],
    "every row twice": lambda s: np.repeat(s.rows(), 2, axis=0),
    "one row many times": lambda s: np.repeat(s.rows()[:1], N, axis=0),
    "two rows": lambda s: s.rows()[:2],
    "three rows": lambda s: s.rows()[:3],
    "more columns than rows": lambda s: s.rows(8, 20),
    "two columns": lambda s: s.rows(d=2),
    "orthogonal rows": lambda s: np.eye(8),
    "many rows": lambda s: s.rows(3000),
}
REAL: dict[str, Callable[[Subject], np.ndarray]] = {
    "an outlier": put((0, 0), 1e6),
    "a column a million times as large": column(lambda x: x.__setitem__((slice(None), 0), 1e6 * x[:, 0])),
    "a column a million times as small": column(lambda x: x.__setitem__((slice(None), 0), 1e-6 * x[:, 0])),
    "a column that hardly varies": column(lambda x: x.__setitem__((slice(None), 1), 1e6 + 1e-9 * x[:, 1])),
    "huge and tiny columns": lambda s: s.rows() * [1e-100, 1.0, 1e50, 1e100],
    "the smallest numbers": lambda s: s.rows() * 1e-305,
    "the largest numbers": lambda s: s.rows() / np.abs(s.rows()).max() * 1e307,
    "heavy tails": lambda s: np.random.default_rng(0).standard_cauchy((N, D)),
    "negative numbers only": lambda s: -np.abs(s.rows()) - 1,
    "far from zero": lambda s: s.rows() + 1e7,
    "no noise": lambda s: np.round(s.rows()),
    "a line": lambda s: np.outer(np.arange(N), np.arange(1, D + 1)).astype(float),
    **{f"units of {unit:g}": lambda s, unit=unit: s.rows() * unit for unit in (1e-150, 1e-15, 1e15, 1e150)},
    **{
        f"single precision, units of {unit:g}": lambda s, unit=unit: (s.rows() * unit).astype(np.float32)
        for unit in (1e-15, 1e15)
    },
}
HOLES: dict[str, Callable[[Subject], np.ndarray]] = {
    "a hole": put((2, 1), np.nan),
    "a row of holes": put(2, np.nan),
    "a column of holes": put((slice(None), 1), np.nan),
    "a tenth missing": column(lambda x: x.__setitem__(np.random.default_rng(3).random(x.shape) < 0.1, np.nan)),
    "all but one value missing": lambda s: np.where(np.arange(N * D).reshape(N, D) == 7, s.rows(), np.nan),
    "one value in each row": lambda s: np.where(np.arange(N * D).reshape(N, D) % (D + 1) == 0, s.rows(), np.nan),
    "mostly missing": column(lambda x: x.__setitem__(np.random.default_rng(3).random(x.shape) < 0.7, np.nan)),
}


REMEDY = r"(?i)try|choose|give|pass|divide|drop|use|expected|at least|minimum"  # a refusal says what to do


def check_finite(subject: Subject, model: Any, x: np.ndarray) -> None:
    answer = subject.answer(model, x)
    assert answer.shape == ((len(x),) if subject.supervised else (len(x), model.n_components_))
    assert np.all(np.isfinite(answer))
    assert np.isfinite(model.elbo_)
    if subject.supervised:
        return
    codes, std = model.transform(x, return_std=True)
    filled, spread = model.impute(x, return_std=True)
    for values in (std, model.score_samples(x), filled, spread, model.inverse_transform(codes), model.sample(5)[1]):
        assert np.all(np.isfinite(values))
    for drawn in model.sample_posterior(2).values():
        for values in drawn.values() if isinstance(drawn, dict) else [drawn]:
            assert np.all(np.isfinite(values))
    assert len(model.summary()) == model.n_components_


@pytest.mark.parametrize("what", [*DEGENERATE, *REAL, *HOLES])
def test_degenerate_data_are_answered_in_finite_numbers(subject: Subject, what: str) -> None:
    if (what in REAL and subject.binary) or (what in HOLES and not subject.missing):
        return
    x = {**DEGENERATE, **REAL, **HOLES}[what](subject)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence, and of columns that never vary
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("error", ElboDecreased)  # where noise falls to its floor, rounding must not look like it
        try:
            model = subject.make()
            model.fit(x, targets(x))
        except (ValueError, BoundNotFinite) as error:
            refusal = str(error)
        else:
            check_finite(subject, model, x)
            return
    assert re.search(REMEDY, refusal), refusal


def test_holes_are_refused_where_nothing_can_be_missing(subject: Subject) -> None:
    if not subject.missing:
        refused(subject, r"(?i)nan", HOLES["a hole"](subject))


# containers and dtypes: the same numbers in other clothes
CLOTHES: dict[str, Callable[[np.ndarray], Any]] = {
    "lists": lambda x: x.tolist(),
    "tuples": lambda x: tuple(map(tuple, x)),
    "Fortran order": np.asfortranarray,
    "every other row of more": lambda x: np.repeat(x, 2, axis=0)[::2],
    "columns turned round twice": lambda x: x[:, ::-1].copy()[:, ::-1],
    "read-only": lambda x: _read_only(x),
    "objects": lambda x: x.astype(object),
    "the other byte order": lambda x: x.astype(">f8"),
    "a memory map": lambda x: x.view(np.memmap),
}
ROUNDED: dict[str, Any] = {"half": np.float16, "single": np.float32, "long": np.longdouble}
WHOLE: dict[str, Any] = {"int8": np.int8, "int64": np.int64, "uint8": np.uint8, "bool": bool}


def _read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("what", CLOTHES)
def test_the_same_numbers_give_the_same_answer(subject: Subject, what: str) -> None:
    x = subject.rows()
    plain, model = subject.fit(x), subject.fit(CLOTHES[what](x))
    assert model.elbo_ == pytest.approx(plain.elbo_, rel=1e-9)
    assert subject.answer(model, CLOTHES[what](x)) == pytest.approx(subject.answer(plain, x), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("what", ROUNDED)
def test_other_precisions_are_taken(subject: Subject, what: str) -> None:
    x = subject.rows().astype(ROUNDED[what])
    check_finite(subject, subject.fit(x), x)


@pytest.mark.parametrize("what", WHOLE)
def test_whole_numbers_are_taken(subject: Subject, what: str) -> None:
    x = np.abs(np.round(2 * subject.rows())).astype(WHOLE[what])
    plain, model = subject.fit(x.astype(float)), subject.fit(x)
    assert model.elbo_ == pytest.approx(plain.elbo_, rel=1e-9)


def test_sparse_rows_are_taken_or_refused_with_a_remedy(subject: Subject) -> None:
    x = subject.rows()
    if subject.sparse:
        to_the_end = {"tol": 1e-10, "max_iter": 3000}  # from other starts, since equal rows are one only where dense
        ends = [subject.fit(rows, **to_the_end).elbo_ for rows in (csr_array(x), x)]
        assert ends[0] == pytest.approx(ends[1], rel=1e-9)
    else:
        with pytest.raises(TypeError, match=r"(?is)sparse.*(dense|toarray)"):
            subject.fit(csr_array(x))


def test_matrices_of_old_are_refused_with_a_remedy(subject: Subject) -> None:
    with pytest.raises(TypeError, match="asarray"):
        subject.fit(np.asmatrix(subject.rows()))


@pytest.mark.extras
@pytest.mark.parametrize("kind", ["pandas", "nullable", "polars"])
def test_tables_are_taken_by_name(subject: Subject, kind: str) -> None:
    names = [f"c{i}" for i in range(D)]
    if kind == "polars":
        import polars as pl

        table: Any = pl.DataFrame(subject.rows(), schema=names)
    else:
        import pandas as pd

        table = pd.DataFrame(subject.rows(), columns=names)
        table = table.convert_dtypes() if kind == "nullable" else table
    model = subject.fit(table)
    assert list(model.feature_names_in_)[-1].endswith("c3")
    assert model.elbo_ == pytest.approx(subject.fit(subject.rows()).elbo_, rel=1e-9)
    with pytest.raises(ValueError, match=r"(?i)name"):
        subject.answer(model, table.rename({"c3": "other"}) if kind == "polars" else table.rename(columns={"c3": "o"}))


# contract and reproducibility
def test_fitting_twice_or_with_the_same_seed_gives_the_same_bits(subject: Subject) -> None:
    x = subject.rows()
    model = subject.fit(x)
    bits = subject.answer(model, x).tobytes(), model.elbo_
    assert (subject.answer(subject.fit(x), x).tobytes(), subject.fit(x).elbo_) == bits
    subject.fit_to(model, x)
    assert (subject.answer(model, x).tobytes(), model.elbo_) == bits


@pytest.mark.parametrize("seed", [None, 3.0, np.int64(3), np.random.RandomState(3), np.random.default_rng(3)])
def test_every_kind_of_seed_is_taken(subject: Subject, seed: Any) -> None:
    assert np.isfinite(subject.fit(subject.rows(), random_state=seed).elbo_)


@pytest.mark.parametrize("copied", [clone, copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_fits_alike(subject: Subject, copied: Callable[[Any], Any]) -> None:
    x = subject.rows()
    model = subject.make()
    assert subject.fit_to(copied(model), x).elbo_ == subject.fit(x).elbo_


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_of_a_fit_answers_alike(subject: Subject, copied: Callable[[Any], Any]) -> None:
    x = subject.rows()
    model = subject.fit(x)
    assert np.array_equal(subject.answer(copied(model), x), subject.answer(model, x))


def test_parameters_are_kept_as_they_were_given(subject: Subject) -> None:
    model = subject.make()
    given = model.get_params()
    subject.fit_to(model, subject.rows())
    assert model.get_params() == given
    assert subject.make().set_params(**given).get_params() == given
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(unheard_of=1)


def test_rows_are_left_as_they_were(subject: Subject) -> None:
    x = subject.rows()
    before = x.copy()
    subject.answer(subject.fit(x), x)
    assert np.array_equal(x, before)


def test_an_unfitted_estimator_says_so(subject: Subject) -> None:
    with pytest.raises(NotFittedError, match="fit"):
        subject.answer(subject.make(), subject.rows())


def test_a_refused_fit_leaves_the_fit_before_it(subject: Subject) -> None:
    x = subject.rows()
    model = subject.fit(x)
    before = subject.answer(model, x)
    with pytest.raises((ValueError, TypeError)):
        subject.fit_to(model, np.full((N, D), np.inf))
    assert np.array_equal(subject.answer(model, x), before)


def test_it_works_in_a_pipeline(subject: Subject) -> None:
    x = subject.rows()
    pipe = make_pipeline(FunctionTransformer(), subject.make())
    subject.fit_to(pipe, x)
    assert np.array_equal(subject.answer(pipe, x), subject.answer(subject.fit(x), x))


def test_whole_weights_are_repeated_rows(subject: Subject) -> None:
    x = subject.rows()
    times = np.arange(N) % 3
    weighted = subject.fit(x, times.astype(float), max_iter=300)
    if subject.supervised:
        model = subject.make().fit(np.repeat(x, times, axis=0), np.repeat(targets(x), times))
    else:
        model = subject.fit(np.repeat(x, times, axis=0), max_iter=300)
    assert weighted.elbo_ == pytest.approx(model.elbo_, rel=1e-7)
    assert subject.answer(weighted, x) == pytest.approx(subject.answer(model, x), rel=1e-4, abs=1e-5)


def test_the_order_of_rows_changes_nothing(subject: Subject) -> None:
    x = subject.rows()
    turn = np.random.default_rng(0).permutation(N)
    model = subject.make().fit(x[turn], targets(x)[turn]) if subject.supervised else subject.fit(x[turn])
    assert model.elbo_ == pytest.approx(subject.fit(x).elbo_, rel=1e-7)


def test_threads_change_nothing(subject: Subject) -> None:
    if "n_jobs" in subject.make().get_params():
        x = subject.rows()
        assert subject.fit(x, n_jobs=1).elbo_ == subject.fit(x, n_jobs=2).elbo_
