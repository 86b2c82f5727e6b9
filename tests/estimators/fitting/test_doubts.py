"""Silence is no answer: what a table or a fit shows is said once, with what to type, and kept in `warnings_`."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import latens
from latens.core import Rows
from latens.errors import (
    AllKept,
    CountsRows,
    DoubtfulScale,
    EqualColumns,
    FewerThanAsked,
    FewValues,
    HeywoodCase,
    LatensWarning,
    MissingCodes,
    NeverSeen,
    RepeatedRows,
    WorseThanIndependent,
)
from latens.estimators.fitting.fit_doubts import doubt_number
from latens.estimators.fitting.independent_columns import independent_bound
from latens.estimators.rows.doubts import doubt_columns
from latens.system.memory import free_memory
from tests.estimators.subjects import SUBJECTS, Subject

REAL = [subject for subject in SUBJECTS.values() if not subject.binary and not subject.supervised]
every_real = pytest.mark.parametrize("subject", REAL, ids=[subject.name for subject in REAL])


def fit(model: Any, X: Any) -> Any:
    """Fit, and only warnings of latens are heard."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*max_iter.*")
        return model.fit(X)


def codes_of(model: Any) -> list[str]:
    return [record.code for record in model.warnings_]


@every_real
def test_codes_for_missing_values_are_named_with_their_number(subject: Subject) -> None:
    X = np.random.default_rng(0).normal(size=(60, 4))
    X[::7, 2] = -999
    with pytest.warns(MissingCodes, match=r"column 'x2' holds -999 9 times, far from its other values: this looks"):
        model = fit(subject.make(), X)
    assert codes_of(model).count("missing-codes") == 1
    assert model.warnings_[0].remedy == "If so, pass X with NaN in its place: X = np.where(X == -999, np.nan, X)."


@every_real
def test_columns_that_number_the_rows_are_named(subject: Subject) -> None:
    X = np.random.default_rng(0).normal(size=(60, 4))
    X[:, 1] = np.random.default_rng(1).permutation(60) + 1
    with pytest.warns(CountsRows, match=r"column\(s\) 'x1' number the rows: every value occurs once, at equal steps"):
        fit(subject.make(), X)


def test_what_is_to_be_typed_about_views_names_no_column_that_no_table_has() -> None:
    rng = np.random.default_rng(0)
    views = {"clinic": np.column_stack([np.arange(60.0), rng.normal(size=60)]), "rna": rng.normal(size=(60, 3))}
    views["rna"][:9, 1] = -999
    with pytest.warns(CountsRows) as counters, pytest.warns(MissingCodes) as codes:
        latens.MultiViewFactorAnalysis(1, max_iter=2, random_state=0).fit(views)
    words = {each.category: str(each.message) for each in [*counters, *codes]}
    assert words[CountsRows].endswith("Make them names of rows, or leave them out.")
    assert words[MissingCodes].endswith("If so, pass X with NaN in its place.")


@every_real
def test_equal_columns_are_named(subject: Subject) -> None:
    X = np.random.default_rng(0).normal(size=(60, 4))
    X[:, 3] = X[:, 0]
    with pytest.warns(EqualColumns, match=r"columns 'x0' and 'x3' are equal in every row") as records:
        fit(subject.make(), X)
    assert "Keep one of each: np.delete(X, [3], axis=1)." in str(records[0].message)


@every_real
def test_rows_that_are_copies_of_others_are_counted(subject: Subject) -> None:
    X = np.tile(np.random.default_rng(0).normal(size=(20, 3)), (3, 1))
    with pytest.warns(
        RepeatedRows, match=r"40 of 60 rows are copies of others: every copy counts as another"
    ) as records:
        model = fit(subject.make(), X)
    assert "keep one of each: np.unique(X, axis=0); or give each a sample_weight of 1 over their number." in str(
        records[0].message
    )
    assert codes_of(model).count("repeated-rows") == 1


def silent_about_copies(X: Any, weight: Any = None, seen: Any = None) -> bool:
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        doubt_columns(Rows(X, seen, weight), [f"x{j}" for j in range(X.shape[1])])
    return not any(issubclass(one.category, RepeatedRows) for one in records)


def test_iris_three_times_over_is_seen_and_iris_is_not() -> None:
    X = load_iris().data
    assert silent_about_copies(X)  # one flower has a double
    assert not silent_about_copies(np.tile(X, (3, 1)))
    assert silent_about_copies(np.tile(X, (3, 1)), np.full(450, 1 / 3))  # weights say that copies are one
    assert not silent_about_copies(np.tile(X, (3, 1)).astype(np.float32))
    holes = np.tile(np.random.default_rng(0).random(X.shape) < 0.8, (3, 1)).astype(float)
    assert not silent_about_copies(holes * np.tile(X, (3, 1)), seen=holes)


def test_rows_with_their_values_in_other_columns_are_no_copies() -> None:
    """The finest column and the first of the others once had the same number in the key of a row."""
    rng = np.random.default_rng(0)
    pairs = rng.permutation(400).reshape(200, 2).astype(float)
    X = np.column_stack([np.concatenate([pairs, pairs[:, ::-1]]), rng.integers(0, 2, 200)[np.arange(400) % 200]])
    assert len(np.unique(X, axis=0)) == 400
    assert silent_about_copies(X)


@pytest.mark.parametrize("holes", [False, True])
def test_of_many_rows_copies_are_told_by_those_that_share_a_few_values(holes: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 3))
    seen = rng.random(X.shape) < 0.9 if holes else None
    X = X if seen is None else np.where(seen, X, 0.0)
    assert silent_about_copies(X, seen=seen)
    twice = rng.permutation(np.arange(80_000) % 40_000)
    with pytest.warns(RepeatedRows, match=r"^about (49|50|51) % of the rows are copies of others"):
        doubt_columns(Rows(X[twice], None if seen is None else seen[twice]), ["x0", "x1", "x2"])
    assert silent_about_copies(X[twice], np.full(80_000, 0.5), None if seen is None else seen[twice])
    ties = np.stack([np.round(X[:, 0], 4), rng.integers(0, 2, len(X)).astype(float)], axis=1)
    assert silent_about_copies(np.concatenate([ties, ties[:1000]]))


@pytest.mark.extras
def test_of_many_rows_of_torch_copies_are_told_likewise() -> None:
    import torch

    X = torch.from_numpy(np.random.default_rng(0).normal(size=(20_000, 3)).astype(np.float32))
    assert silent_about_copies(X)
    assert not silent_about_copies(torch.cat([X, X]))


@pytest.mark.parametrize("step", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("d", [2, 4])
def test_rows_of_few_values_repeat_and_are_no_copies(step: float, d: int) -> None:
    rng = np.random.default_rng(0)
    X = np.round((4 * rng.normal(size=(3, d)))[rng.integers(3, size=900)] + rng.normal(size=(900, d)), 0) // step * step
    assert silent_about_copies(X)


@pytest.mark.parametrize("n", [90, 40_000])
def test_samples_that_show_a_table_of_few_values_alone_are_no_copies(n: int) -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(n, 3)), (rng.random((n, 5)) < 0.02)], axis=1)
    seen = np.ones(X.shape)
    seen[: n // 5, :3] = 0
    assert silent_about_copies(X * seen, seen=seen)
    twice = np.arange(2 * n) % n
    assert not silent_about_copies((X * seen)[twice], seen=seen[twice])


def test_rare_ones_that_fall_together_are_no_copies_of_a_column() -> None:
    rng = np.random.default_rng(0)
    rare = np.zeros((90, 60))
    for j in range(60):
        rare[rng.choice(90, 1 + j % 2, replace=False), j] = 1
    assert len(np.unique(rare, axis=1).T) < 60
    names = [f"gene{j}" for j in range(62)]
    common = (rng.random((90, 1)) < 0.1).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error", EqualColumns)
        doubt_columns(Rows(np.concatenate([rare, common], axis=1)), names)
    with pytest.warns(EqualColumns, match=r"columns 'gene60' and 'gene61' are equal"):
        doubt_columns(Rows(np.concatenate([rare, common, common], axis=1)), names)


def test_one_column_of_ties_is_no_table_of_copies() -> None:
    assert silent_about_copies(np.round(np.random.default_rng(0).normal(size=(300, 1)), 1))


@every_real
@pytest.mark.parametrize("slope", [2.54, -0.001])
def test_copies_of_a_column_in_other_units_are_named(subject: Subject, slope: float) -> None:
    X = np.random.default_rng(0).normal(size=(60, 4))
    X[:, 3] = 32.0 + slope * X[:, 1]
    with pytest.warns(
        EqualColumns, match=r"columns 'x1' and 'x3' are the same in other units: what they share"
    ) as records:
        fit(subject.make(), X)
    assert "Keep one of each: np.delete(X, [3], axis=1)." in str(records[0].message)


UNSEEN = [
    subject for subject in SUBJECTS.values() if not subject.supervised and subject.name != "MultiViewFactorAnalysis"
]


@pytest.mark.parametrize("subject", UNSEEN, ids=[subject.name for subject in UNSEEN])
def test_a_column_without_any_value_is_told(subject: Subject, tmp_path: Path) -> None:
    X = np.array(subject.rows(40), dtype=float)
    X[:, 1] = np.nan
    np.save(tmp_path / "x.npy", X)
    for rows in (X, latens.scan(tmp_path / "x.npy", block_rows=16)):
        with pytest.warns(NeverSeen, match=r"column\(s\) x1 of X contain only NaN"):
            subject.make().fit(rows)


@pytest.mark.parametrize("holes", [False, True])
def test_sensors_that_share_a_shock_are_no_copies(holes: bool) -> None:
    """Five rows far out make the correlation of any two columns 1; all other rows go on being worth something."""
    X = np.random.default_rng(0).normal(size=(500, 3))
    X[100:105] = 1e6
    if holes:
        X[::7] = np.nan
    with warnings.catch_warnings(action="error", category=EqualColumns):
        doubt_columns(Rows(np.nan_to_num(X), np.isfinite(X) if holes else None), ["a", "b", "c"])


@pytest.mark.parametrize("quiet", [0.0, 1e-3])
def test_copies_that_vary_in_few_rows_are_copies(quiet: float) -> None:
    rng = np.random.default_rng(0)
    x = np.where(np.arange(500) % 50 == 0, 100 * rng.normal(size=500), quiet * rng.normal(size=500))
    with pytest.warns(EqualColumns, match=r"columns 'a' and 'c' are the same in other units"):
        doubt_columns(Rows(np.column_stack([x, rng.normal(size=500), 2.54 * x])), ["a", "b", "c"])


def test_columns_that_agree_in_the_rows_looked_at_alone_are_no_copies() -> None:
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    X[:, 1] = np.where(np.arange(len(X)) % 5 == 0, 2.0 * X[:, 0], X[:, 1])  # every fifth row is looked at
    with warnings.catch_warnings():
        warnings.simplefilter("error", EqualColumns)
        doubt_columns(Rows(X), ["a", "b", "c"])
    X[:, 1] = 2.0 * X[:, 0] + 7
    with pytest.warns(EqualColumns, match=r"columns 'a' and 'b' are the same in other units"):
        doubt_columns(Rows(X), ["a", "b", "c"])


@pytest.mark.parametrize("code", [-999.0, 88.0])
def test_a_code_at_either_end_is_found_among_columns_without_one(code: float) -> None:
    X = np.random.default_rng(0).normal(size=(300, 40))
    X[::10, 17] = code
    with pytest.warns(MissingCodes, match=rf"column 'x17' holds {code:g} 30 times, far from its other values: this"):
        doubt_columns(Rows(X), [f"x{j}" for j in range(40)])


def test_copies_are_known_by_holes_and_told_once_each() -> None:
    X = np.random.default_rng(0).normal(size=(200, 6))
    X[:, 1], X[:, 2], X[:, 3] = 2.54 * X[:, 0], 1e100 * X[:, 0], X[:, 0] + 1e-2 * X[:, 4]
    X[::7, 5] = np.nan
    with pytest.warns(
        EqualColumns, match=r"columns 'x0' and 'x1', 'x0' and 'x2' are the same in other units"
    ) as records:
        fit(latens.LatentClassAnalysis(2), X)
    assert len([one for one in records if issubclass(one.category, EqualColumns)]) == 1
    X[:, 1] = 3 * X[:, 5] - 1
    X[:, 2] = np.where(np.arange(200) == 3, np.nan, X[:, 0])  # not where both are missing
    with pytest.warns(EqualColumns, match=r"columns 'x1' and 'x5' are the same in other units"):
        fit(latens.LatentClassAnalysis(2), X)


def test_columns_that_agree_only_where_they_were_looked_at_are_not_equal() -> None:
    X = np.random.default_rng(0).normal(size=(10_000, 3))
    X[:, 2] = X[:, 0]
    X[1, 2] += 1.0  # every third row is looked at
    with warnings.catch_warnings():
        warnings.simplefilter("error", EqualColumns)
        fit(latens.FactorAnalysis(1), X)


@pytest.mark.extras
def test_equal_columns_of_a_mixed_frame_have_the_names_that_can_be_dropped() -> None:
    import pandas as pd

    table = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
    table = table.assign(copy=table.a, sex=np.where(table.b > 0, "f", "m"))
    with pytest.warns(EqualColumns, match=r"columns 'a' and 'copy' are equal") as records:
        fit(latens.LatentClassAnalysis(2), table)
    assert "X.drop(columns=['copy'])." in str(records[0].message)
    with pytest.warns(EqualColumns, match=r"Keep one of each: leave out 'one: copy'\."):
        fit(latens.MultiViewFactorAnalysis(2), {"one": table.drop(columns="sex"), "two": table[["b", "c"]] + 1})


@pytest.mark.extras
def test_views_say_which_of_their_columns_is_meant() -> None:
    import pandas as pd

    views = {name: pd.DataFrame(np.random.default_rng(i).normal(size=(60, 3))) for i, name in enumerate("ab")}
    views["b"].columns = ["u", "v", "w"]
    views["b"].loc[::7, "v"] = -999
    with pytest.warns(MissingCodes, match=r"column 'b: v' holds -999 9 times"):
        fit(SUBJECTS["MultiViewFactorAnalysis"].make(), views)


def test_a_mixture_doubts_columns_of_few_values() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[:, 1] = np.random.default_rng(1).poisson(1.0, 200).clip(0, 4)
    with pytest.warns(FewValues, match=r"column 'x1' has only 5 distinct values: a normal cluster fits each of them"):
        fit(SUBJECTS["GaussianMixture"].make(), X)


@every_real
def test_plain_rows_bring_no_warning_about_columns(subject: Subject) -> None:
    X = np.round(np.random.default_rng(0).normal(size=(60, 4)), 1)
    model = fit(subject.make(), X)
    assert not {"missing-codes", "counts-rows", "equal-columns", "few-values"} & set(codes_of(model))


def test_noise_at_its_floor_is_a_heywood_case() -> None:
    z = np.random.default_rng(0).normal(size=(200, 1))
    X = np.hstack([z, z + 0.5 * np.random.default_rng(1).normal(size=(200, 4))])
    with pytest.warns(HeywoodCase, match=r"the noise of column\(s\) 'x0' is at its floor \(a Heywood case\)"):
        model = latens.FactorAnalysis(1).fit(X)
    assert model.noise_variance_[0] < 1e-4
    assert "factors follow these columns, X[:, [0]], alone" in model.warnings_[0].message


@pytest.mark.parametrize(("prior", "n", "n_values"), [("ard", 150, 2), ("ml", 80, 3)])
def test_causes_that_follow_a_column_of_few_values_are_a_heywood_case(prior: str, n: int, n_values: int) -> None:
    rng = np.random.default_rng(n)
    X = np.column_stack([rng.normal(size=(n, 3)), 2007.0 + np.arange(n) % n_values])
    k = n_values - 1
    model = latens.BinaryFactorAnalysis(
        k, init=[[0.0, 0.0, 0.0, 1.0]] * k, fit_intercept=True, noise="diagonal", prior=prior, prune=False, moves=False
    )
    with pytest.warns(HeywoodCase, match=r"noise of column\(s\) 'x3' is at its floor .*: causes follow these columns"):
        model.fit(X)
    assert model.noise_variance_[3] < 1e-4
    plain = rng.normal(size=(n, 4)) + 3.0 * (rng.random((n, 1)) < 0.5)
    likely = latens.BinaryFactorAnalysis(2, fit_intercept=True, noise="diagonal", random_state=0)
    assert "heywood-case" not in codes_of(fit(likely, plain))


def test_a_fit_worse_than_independent_columns_says_so() -> None:
    X = 50.0 + np.random.default_rng(0).normal(size=(200, 4))
    with pytest.warns(WorseThanIndependent, match=r"nats a row, below the -5\.\d+ of independent columns"):
        model = fit(latens.BinaryFactorAnalysis(2, fit_intercept=False, random_state=0), X)
    assert model.warnings_[-1].remedy == "Try fit_intercept=True, which rows far from 0 need."
    with pytest.warns(WorseThanIndependent, match=r"noise_variance=100 may not suit the rows"):
        fit(latens.GaussianMixture(2, covariance_type="known", noise_variance=100.0, random_state=0), X)


def test_many_rows_are_judged_by_some_of_them_only_where_these_leave_no_doubt() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 1)) + 0.05 * rng.normal(size=(9000, 4))
    good = fit(latens.FactorAnalysis(1), X)
    assert "worse-than-independent" not in codes_of(good)
    with pytest.warns(WorseThanIndependent):
        fit(latens.GaussianMixture(2, covariance_type="known", noise_variance=100.0, n_init=1, random_state=0), X)


def test_independent_columns_are_measured_as_their_densities_say() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(2.0, [1.0, 3.0], size=(500, 2))
    seen = rng.random(X.shape) < 0.8
    from scipy.stats import norm

    alone = 0.0
    for j in range(2):
        x = X[seen[:, j], j]
        alone += norm.logpdf(x, x.mean(), x.std()).sum() - np.log(len(x))
    assert independent_bound(Rows(X * seen, seen), binary=False) == pytest.approx(alone)
    assert independent_bound(Rows(np.ones((5, 2))), binary=False) is None


def test_all_components_kept_is_said_and_fewer_is_not() -> None:
    X, _ = latens.datasets.make_mixture(300, n_components=4, random_state=1)
    with pytest.warns(AllKept, match=r"all 2 allowed components are kept: there may be more\. Raise"):
        fit(latens.GaussianMixture(2, random_state=0), X)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LatensWarning)
        fit(latens.GaussianMixture(12, random_state=0), X)


def test_fewer_components_than_asked_for_exactly_is_said() -> None:
    fitted = SimpleNamespace(n_components=2, n_components_=1, prior="ml", _keeps_all=False, moves=True)
    with pytest.warns(
        FewerThanAsked, match=r"only 1 of the 2 requested components are used; .* Ask for n_components=1"
    ):
        doubt_number(fitted, SimpleNamespace())  # it looks at the context only where nothing, or all, was kept


@pytest.mark.parametrize("kind", ["full", "tied"])
def test_covariances_beyond_the_memory_are_refused_beforehand(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("latens.estimators.mixtures.gaussian.free_memory", lambda: 10_000_000)
    X = np.random.default_rng(0).normal(size=(20, 1000))
    wanted = rf"covariance_type='{kind}' needs \d x 1000 x 1000 numbers, \d+ MB, .* 10 MB of memory are free; choose"
    with pytest.raises(ValueError, match=wanted):
        latens.GaussianMixture(2, covariance_type=kind).fit(X)


FITTED: dict[str, Any] = {
    "BinaryFactorAnalysis": latens.BinaryFactorAnalysis(2, max_iter=2, n_init=1),
    "NoisyOr": latens.NoisyOr(2, max_iter=2, n_init=1),
    "NoisyICA": latens.NoisyICA(2, max_iter=2),
    "GaussianMixture": latens.GaussianMixture(2, max_iter=2, covariance_type="diag"),
    "BernoulliMixture": latens.BernoulliMixture(2, max_iter=2),
    "LatentClassAnalysis": latens.LatentClassAnalysis(2, max_iter=2),
    "FactorAnalysis": latens.FactorAnalysis(2, max_iter=2),
    "MultiViewFactorAnalysis": latens.MultiViewFactorAnalysis(2, max_iter=2),
    "BayesianLinearRegression": latens.BayesianLinearRegression(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FITTED)
def test_a_fit_that_needs_more_memory_than_is_free_says_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    binary = name in ("NoisyOr", "BernoulliMixture")
    X = (rng.random((60, 8)) < 0.5).astype(float) if binary else rng.normal(size=(60, 8))
    given = (X, X[:, 0]) if name == "BayesianLinearRegression" else (X,)
    monkeypatch.setattr("latens.estimators.fitting.fit_doubts.free_memory", lambda: 500)
    model = clone(FITTED[name]).set_params(random_state=0).fit(*given)
    messages = [each for each in model.warnings_ if each.code == "little-memory"]
    assert len(messages) == 1
    assert re.match(r"this fit needs about [\d.]+ kB of memory .* 500 bytes are free", messages[0].message)
    assert "latens.scan" in messages[0].remedy
    monkeypatch.setattr("latens.estimators.fitting.fit_doubts.free_memory", lambda: 10**9)
    assert "little-memory" not in [each.code for each in model.fit(*given).warnings_]


def test_memory_is_counted_by_rows_by_their_posteriors_and_by_components(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    monkeypatch.setattr("latens.estimators.base.doubt_memory", asked.append)
    x = np.random.default_rng(0).normal(size=(400, 6))
    for rows, k in ((x[:200], 3), (x, 3), (x, 12)):
        latens.NoisyICA(k if k < 7 else 6, max_iter=1, moves=False).fit(rows)
    few, many, large = asked
    assert many > 1.6 * few
    assert many > 2 * x.nbytes + 2 * 400 * 3 * 8  # a copy, and at least means of the sources
    assert large > 1.3 * many


def test_free_memory_is_a_number_of_bytes() -> None:
    free = free_memory()
    assert free is None or 10**6 < free < 10**15


@pytest.mark.parametrize("holes", [0.0, 0.1])
@pytest.mark.parametrize("wide", [1.0, 4.0])
def test_round_clusters_of_columns_that_spread_unequally_are_doubted(wide: float, holes: float) -> None:
    rng = np.random.default_rng(6)
    X = 8.0 * np.eye(3)[rng.integers(2, size=200)] + rng.normal(size=(200, 3))
    X[:, 2] *= wide
    X[rng.random(X.shape) < holes] = np.nan
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = latens.GaussianMixture(covariance_type="spherical", random_state=0).fit(X)
    doubts = [one.message for one in caught if isinstance(one.message, DoubtfulScale)]
    if wide == 1:
        assert (model.n_components_, doubts) == (2, [])
        return
    assert model.n_components_ > 2
    assert len(doubts) == 1
    assert "x2" in str(doubts[0])
    assert f"{model.n_components_} were found" in str(doubts[0])
    assert "covariance_type='diag'" in str(doubts[0])
    assert latens.GaussianMixture(covariance_type="diag", random_state=0).fit(X).n_components_ == 2


@pytest.mark.extras
@pytest.mark.parametrize("kind", [latens.MultiViewFactorAnalysis, latens.LatentClassAnalysis])
def test_categories_under_other_names_are_told(kind: type) -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    place = rng.choice(["north", "south", "west"], 200)
    frame = pd.DataFrame({"place": place, "code": pd.Series(place).map({"north": "z", "south": "a", "west": "k"})})
    frame["size"] = rng.normal(size=200)
    frame.loc[::9, ["place", "code"]] = None
    with pytest.warns(EqualColumns, match=r"place' and '.*code' have the same levels under other names"):
        kind(2, n_init=1, max_iter=5, n_jobs=1, random_state=0).fit(frame)
    frame.loc[3, "code"] = "a" if frame.loc[3, "code"] == "z" else "z"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", EqualColumns)
        kind(2, n_init=1, max_iter=5, n_jobs=1, random_state=0).fit(frame)
