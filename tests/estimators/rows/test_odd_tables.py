"""Tables that look harmless and are not: masks, dates, text, numbers beyond floats, damaged sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import latens
from tests.estimators.subjects import SUBJECTS, Subject

UNSUPERVISED = [subject for subject in SUBJECTS.values() if not subject.supervised]
every = pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
every_unsupervised = pytest.mark.parametrize("subject", UNSUPERVISED, ids=[each.name for each in UNSUPERVISED])
REGRESSION = SUBJECTS["BayesianLinearRegression"]


def with_sentinels(subject: Subject) -> tuple[np.ndarray, np.ndarray]:
    """Rows in which some entries hold 1e6, and where."""
    X = subject.rows()
    hidden = np.random.default_rng(5).random(X.shape) < 0.1
    return np.where(hidden, 1e6, X), hidden


@every_unsupervised
@pytest.mark.parametrize("dtype", [np.float64, np.float32, object])
def test_masked_entries_are_missing_in_fits_and_answers(subject: Subject, dtype: Any) -> None:
    X, hidden = with_sentinels(subject)
    masked = np.ma.MaskedArray(X.astype(dtype), mask=hidden)
    missing = np.where(hidden, np.nan, X).astype(np.float32 if dtype is np.float32 else np.float64)
    model, plain = subject.fit(masked), subject.fit(missing)
    assert model.elbo_ == plain.elbo_
    np.testing.assert_array_equal(subject.answer(model, masked), subject.answer(plain, missing))
    np.testing.assert_array_equal(np.asarray(model.impute(masked)), np.asarray(plain.impute(missing)))


@every_unsupervised
def test_a_mask_that_hides_nothing_changes_nothing(subject: Subject) -> None:
    X = subject.rows()
    assert subject.fit(np.ma.MaskedArray(X)).elbo_ == subject.fit(X).elbo_


def test_masked_whole_numbers_and_masked_views_are_missing_too() -> None:
    counts = np.random.default_rng(0).poisson(3.0, size=(40, 4))
    masked = np.ma.MaskedArray(counts, mask=counts > 6)
    model = latens.MultiViewFactorAnalysis(2, random_state=0).fit({"counts": masked})
    plain = latens.MultiViewFactorAnalysis(2, random_state=0).fit({"counts": np.where(counts > 6, np.nan, counts)})
    assert model.elbo_ == plain.elbo_


def test_masked_weights_are_refused() -> None:
    weight = np.ma.MaskedArray(np.ones(40), mask=np.arange(40) < 3)
    with pytest.raises(
        ValueError, match=r"sample_weight has masked entries; give each row a number, 0 to leave it out"
    ):
        UNSUPERVISED[0].fit(UNSUPERVISED[0].rows(), sample_weight=weight)


@pytest.mark.parametrize(
    ("y", "count"),
    [
        (np.ma.MaskedArray(np.arange(40.0), mask=np.arange(40) == 1), 1),
        (np.array([1.0, None, None, *range(37)], dtype=object), 2),
        (np.where(np.arange(40) == 1, np.nan, 1.0), 1),
    ],
    ids=["masked", "objects", "NaN"],
)
def test_a_regression_names_the_first_missing_target(y: Any, count: int) -> None:
    wanted = rf"y contains NaN or masked entries, {count} in all, the first at y\[1\]; .* takes complete rows only"
    with pytest.raises(ValueError, match=wanted):
        latens.BayesianLinearRegression().fit(REGRESSION.rows(), y)


@pytest.mark.parametrize("masked", [False, True])
def test_a_regression_says_what_to_do_about_missing_entries(masked: bool) -> None:
    X = REGRESSION.rows()
    given = np.ma.MaskedArray(X, mask=X > 1) if masked else np.where(X > 1, np.nan, X)
    with pytest.raises(ValueError, match=r"X contains NaN .* Drop the rows that lack a value, or fill X by `impute`"):
        latens.BayesianLinearRegression().fit(given, X[:, 0])
    model = latens.BayesianLinearRegression().fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"X contains NaN"):
        model.predict(given)


@pytest.mark.parametrize(
    ("scale", "y_scale", "weight", "wanted"),
    [
        (5e-324, 1.0, None, r"the entries of X are up to 5e-324 in size, too small to be squared; choose units"),
        (1.7e308, 1.0, None, r"the entries of X are up to 2e\+308 in size, too large to be squared"),
        (1.0, 1e200, None, r"the entries of y are up to 1e\+200 in size, too large"),
        (1e-100, 1e100, None, r"values of X are so small beside those of y"),
        (1.0, 1.0, 1e300, r"the entries of sample_weight are up to 4e\+301 in size, too large"),
    ],
)
def test_a_regression_refuses_sizes_that_have_no_square(
    scale: float, y_scale: float, weight: float | None, wanted: str
) -> None:
    X = np.where(np.random.default_rng(0).random((40, 3)) < 0.5, scale, 0.0)
    X[0] = scale
    weights = None if weight is None else np.full(40, weight)
    with pytest.raises(ValueError, match=wanted):
        latens.BayesianLinearRegression().fit(X, np.full(40, y_scale), weights)


def test_a_regression_refuses_one_target_of_1e300() -> None:
    y = np.r_[1e300, np.ones(39)]
    with pytest.raises(ValueError, match=r"the entries of y are up to 1e\+300"):
        latens.BayesianLinearRegression().fit(REGRESSION.rows(), y)


@every
def test_rows_of_subnormal_single_precision_are_fitted(subject: Subject) -> None:
    X = (subject.rows() * 1e-44).astype(np.float32)
    assert np.isfinite(subject.answer(subject.fit(X), X)).all()


@every
def test_dates_are_refused_wherever_they_stand(subject: Subject) -> None:
    dates = np.arange(160).astype("M8[D]").reshape(40, 4)
    with pytest.raises(ValueError, match=r"X holds dates or durations \(datetime64\[D\]\); turn them into numbers"):
        subject.fit(dates)


def test_targets_of_dates_are_refused() -> None:
    with pytest.raises(ValueError, match=r"y holds dates or durations"):
        latens.BayesianLinearRegression().fit(REGRESSION.rows(), np.arange(40).astype("M8[D]"))


@every
@pytest.mark.extras
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_with_a_column_of_dates_names_it(subject: Subject, library: str) -> None:
    columns = {"a": np.ones(40), "when": np.arange(40).astype("M8[ns]")}
    frame = pytest.importorskip(library).DataFrame(columns)
    words = r"X holds dates or durations in column 'when'"
    if subject.name in (
        "LatentClassAnalysis",
        "MultiViewFactorAnalysis",
    ):  # take raw frames, and say of each column why it cannot be used
        words = r"when \(dates are not modelled\)"
    with pytest.raises(ValueError, match=words):
        subject.fit(frame)


@every
@pytest.mark.extras
def test_a_frame_with_a_column_of_text_names_it(subject: Subject) -> None:
    import pandas as pd

    frame = pd.DataFrame({"age": np.arange(40.0), "sex": ["f", "m"] * 20})
    if subject.name == "LatentClassAnalysis":  # text is a category to it
        assert subject.fit(frame).likelihoods_["sex"] in ("bernoulli", "categorical")
        return
    if subject.name == "MultiViewFactorAnalysis":  # and a view of levels to this one
        assert set(subject.fit(frame).likelihoods_.values()) & {"bernoulli", "categorical"}
        return
    with pytest.raises(ValueError, match=r"column 'sex' of X holds 'f', which is no number .*; drop such columns"):
        subject.fit(frame)


@every
def test_text_in_an_array_names_its_column(subject: Subject) -> None:
    X = subject.rows().astype(object)
    X[7, 2] = "n/a"
    with pytest.raises(ValueError, match=r"column 2 of X holds 'n/a', which is no number"):
        subject.fit(X)


@every
def test_whole_numbers_beyond_floats_are_refused(subject: Subject) -> None:
    X = subject.rows().astype(object)
    X[3, 1] = 10**400
    with pytest.raises(ValueError, match=r"column 1 of X holds a whole number beyond the range of floats"):
        subject.fit(X)
    with pytest.raises(ValueError, match=r"sample_weight holds a number beyond the range of floats"):
        subject.fit(subject.rows(), sample_weight=[10**400] * 40)


@every
@pytest.mark.parametrize("name", ["max_iter", "tol", "n_init", "n_components"])
def test_parameters_beyond_floats_are_refused(subject: Subject, name: str) -> None:
    if name not in subject.make().get_params():
        return
    with pytest.raises(ValueError, match=rf"{name}=a whole number of 401 digits is (too large|not a finite number)"):
        subject.fit(subject.rows(), **{name: 10**400})


def damaged(kind: str) -> csr_array:
    X = csr_array((np.random.default_rng(0).random((40, 6)) < 0.4).astype(float))
    if kind == "columns beyond the last":
        X.indices[3] = 10**6
    elif kind == "negative columns":
        X.indices[3] = -7
    else:
        X.indptr[5] = X.indptr[6] + 3
    return X


@pytest.mark.parametrize("kind", ["columns beyond the last", "negative columns", "row bounds that fall"])
@pytest.mark.parametrize("name", [name for name, subject in SUBJECTS.items() if subject.sparse])
def test_sparse_matrices_that_point_outside_are_refused(name: str, kind: str) -> None:
    with pytest.raises(ValueError, match=r"X is a damaged sparse matrix of shape \(40, 6\) .*; its indices must lie"):
        SUBJECTS[name].fit(damaged(kind))
    model = SUBJECTS[name].fit(csr_array(np.eye(6)))
    with pytest.raises(ValueError, match=r"damaged sparse matrix"):
        model.transform(damaged(kind))


def test_damaged_sparse_views_are_refused() -> None:
    with pytest.raises(ValueError, match=r"view 'mutations' is a damaged sparse matrix"):
        latens.MultiViewFactorAnalysis(1).fit({"mutations": damaged("negative columns")})


@every_unsupervised
@pytest.mark.parametrize("init", [{}, {"strange": 1}, [["a"]], np.array(["x"]), 3], ids=repr)
def test_an_init_that_is_no_start_is_named(subject: Subject, init: Any) -> None:
    with pytest.raises(ValueError, match=r"^init"):
        subject.fit(subject.rows(), init=init)


@pytest.mark.parametrize("solver", ["online-em", "online-sga"])
def test_solvers_that_choose_their_start_refuse_another(solver: str) -> None:
    with pytest.raises(ValueError, match=rf"solver='{solver}' starts from orthonormal loadings, and would ignore"):
        latens.FactorAnalysis(2, solver=solver, init=np.ones((2, 4))).fit(UNSUPERVISED[0].rows())


@pytest.mark.parametrize("subject", UNSUPERVISED, ids=[each.name for each in UNSUPERVISED])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_callback_cannot_fit_the_estimator_that_calls_it(subject: Subject, method: str) -> None:
    X, model = subject.rows(), subject.make()
    model.set_params(callbacks=lambda _: getattr(model, method)(X))
    with pytest.raises(RuntimeError, match=r"one of its callbacks asks it to fit again; fit a copy of it there"):
        subject.fit_to(model, X)


@pytest.mark.parametrize("subject", UNSUPERVISED, ids=[each.name for each in UNSUPERVISED])
def test_a_callback_may_fit_a_copy(subject: Subject) -> None:
    X, model = subject.rows(), subject.make()
    others: list[float] = []
    model.set_params(callbacks=lambda _: others.append(subject.fit(X).elbo_) if not others else None)
    assert subject.fit_to(model, X).elbo_ == others[0]


@pytest.mark.parametrize("subject", UNSUPERVISED, ids=[each.name for each in UNSUPERVISED])
def test_a_progress_bar_needs_no_terminal(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    assert np.isfinite(subject.fit(subject.rows(), verbose=1).elbo_)


@every_unsupervised
@pytest.mark.extras
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_codes_and_their_standard_deviations_come_in_the_same_container(subject: Subject, library: str) -> None:
    kind = pytest.importorskip(library).DataFrame
    X = subject.rows()
    model = subject.fit(X).set_output(transform=library)
    mean, std = model.transform(X, return_std=True)
    assert isinstance(mean, kind)
    assert isinstance(std, kind)
    assert list(std.columns) == list(mean.columns) == list(model.get_feature_names_out())
    plain = model.set_output(transform="default").transform(X, return_std=True)
    np.testing.assert_array_equal(std.to_numpy(), plain[1])


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_noise_precision_of_the_documents_is_one_over_the_variance_of_y(fit_intercept: bool) -> None:
    X = REGRESSION.rows()
    y = 7.0 + X[:, 0]
    model = latens.BayesianLinearRegression(noise_precision="variance", fit_intercept=fit_intercept).fit(X, y)
    assert model.noise_precision_ == pytest.approx(1 / np.var(y), rel=1e-9)


@pytest.mark.extras
@every
def test_columns_of_one_name_are_refused_with_the_line_that_keeps_the_first(subject: Subject) -> None:
    import pandas as pd

    X = subject.rows()
    frame = pd.DataFrame(X, columns=["age", "age", *(f"c{d}" for d in range(2, X.shape[1]))])
    with pytest.raises(ValueError, match=r"several columns called 'age'; give each .*~X\.columns\.duplicated\(\)\]"):
        subject.fit(frame)
