"""Questions about intervals that make no sense: one clear error each, from every estimator."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import latens
from tests.estimators.subjects import SUBJECTS, VARIANTS, Subject, shared_fit, table

NAMES = [name for name, subject in VARIANTS.items() if not subject.supervised]
KEEPS_SUMS = ("FactorAnalysis", "BayesianLinearRegression")


def ask(model: Any, *arguments: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.intervals(*arguments, **options)


def other_tables(subject: Subject) -> dict[str, np.ndarray]:
    X = table(subject)
    rng = np.random.default_rng(11)
    one_entry, shuffled = X.copy(), X.copy()
    one_entry[0, 0] = 1 - X[0, 0] if subject.binary else X[0, 0] + 3 * X[:, 0].std()
    shuffled[:, 0] = rng.permutation(X[:, 0])
    return {
        "a row fewer": X[:-1],
        "a row twice": np.concatenate([X, X[:1]]),
        "one entry changed": one_entry,
        "one column dealt out anew": shuffled,
        "other rows": subject.rows(len(X), X.shape[1], seed=99),
    }


@pytest.mark.parametrize(
    "name", [name if name in SUBJECTS else pytest.param(name, marks=pytest.mark.slow) for name in sorted(VARIANTS)]
)
def test_the_rows_of_the_fit_are_taken_and_others_refused(name: str) -> None:
    subject, model = VARIANTS[name], shared_fit(name)
    assert len(ask(model, table(subject), method="mean-field")) > 0
    for other in other_tables(subject).values():
        with pytest.raises(ValueError, match="X is not the data of the fit: it"):
            ask(model, other, method="mean-field")


@pytest.mark.parametrize("name", sorted(SUBJECTS))
def test_what_fit_does_not_take_is_refused_by_name_and_draws_say_what_they_need(name: str) -> None:
    subject, model = SUBJECTS[name], shared_fit(name)
    with pytest.raises(TypeError, match="colour"):
        ask(model, table(subject), colour=1)
    if subject.supervised:
        return
    with pytest.raises(
        TypeError, match=r"neither an option of it nor anything that fit takes beside X: .*sample_weight"
    ):
        model.sample_posterior(1, colour=1)
    method = "gibbs" if name in KEEPS_SUMS else "response"
    with pytest.raises(ValueError, match=f"sample_posterior needs the rows of the fit for method='{method}'"):
        model.sample_posterior(1, method=method)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_rows_with_holes_are_taken_and_other_holes_refused(name: str) -> None:
    subject, model = VARIANTS[name], shared_fit(name, holes=True)
    X = table(subject, holes=True)
    assert len(ask(model, X, method="mean-field")) > 0
    X[2, :] = np.nan
    with pytest.raises(ValueError, match="X is not the data of the fit: its bound is"):
        ask(model, X, method="mean-field")


@pytest.mark.parametrize("name", sorted(SUBJECTS))
def test_levels_outside_0_and_1_are_refused(name: str) -> None:
    for level in (0, 1, -0.2, 1.5, float("nan"), "most"):
        with pytest.raises((ValueError, TypeError), match="level="):
            ask(shared_fit(name), table(SUBJECTS[name]), level=level)


@pytest.mark.parametrize("name", sorted(SUBJECTS))
def test_components_that_do_not_exist_are_refused(name: str) -> None:
    expected = "a regression has no components" if SUBJECTS[name].supervised else "there is no component"
    for components in ([99], [-1], "nobody", [True]):
        with pytest.raises(ValueError, match=expected):
            ask(shared_fit(name), table(SUBJECTS[name]), components=components)


@pytest.mark.parametrize("name", sorted(SUBJECTS))
def test_models_that_need_their_rows_say_so(name: str) -> None:
    model = shared_fit(name)
    if name in KEEPS_SUMS:
        assert len(ask(model)) > 0
        return
    with pytest.raises(ValueError, match=rf"{name}.intervals needs the rows of the fit: call intervals\(X\)"):
        ask(model)


@pytest.mark.parametrize("max_iter", [1, 2, 5])
def test_fits_that_were_broken_off_know_their_rows(max_iter: int, subject: Subject) -> None:
    if subject.supervised:
        return
    X = table(subject)
    model = subject.fit(X, max_iter=max_iter)
    assert len(ask(model, X, method="mean-field")) > 0


def test_weighted_rows_of_a_regression_are_those_of_the_fit() -> None:
    subject = SUBJECTS["BayesianLinearRegression"]
    X, weight = table(subject), np.random.default_rng(0).integers(1, 4, 100)
    model = subject.fit(X, sample_weight=weight)
    assert ask(model, X, sample_weight=weight).rows == ask(model).rows
    with pytest.raises(ValueError, match="X is not the data of the fit"):
        ask(model, X)


@pytest.mark.parametrize("method", ["response", "bootstrap", "gibbs"])
def test_every_method_refuses_other_rows(method: str) -> None:
    with pytest.raises(ValueError, match="X is not the data of the fit: its bound is"):
        ask(shared_fit("GaussianMixture"), other_tables(SUBJECTS["GaussianMixture"])["other rows"], method=method)


def test_chances_that_round_to_1_are_at_an_end_of_their_range() -> None:
    """A step from 1 - 1e-16 would round to 1, where the bound is minus infinity."""
    subject = VARIANTS["noisy-OR, ml"]
    answer = ask(shared_fit("noisy-OR, ml", holes=True), table(subject, holes=True), method="response")
    assert len(answer) > 5
    assert not np.isnan(answer["std"]).any()


@pytest.mark.parametrize(
    "name",
    ["GaussianMixture", "NoisyICA", "FactorAnalysis", "LatentClassAnalysis", "MultiViewFactorAnalysis", "NoisyOr"],
)
def test_rows_of_a_scan_are_read_in_passes_and_others_refused(name: str) -> None:
    subject = SUBJECTS[name]
    X = subject.rows(60)
    model = subject.fit(latens.scan(X))
    answer, expected = ask(model, latens.scan(X), method="response"), ask(model, X, method="response")
    assert answer.method == "response"
    assert answer["std"] == pytest.approx(expected["std"], rel=1e-3)
    with pytest.raises(ValueError, match="X is not the data of the fit"):
        ask(model, latens.scan(subject.rows(60, seed=4)))
    with pytest.raises(ValueError, match="rows of a scan or a Dask collection cannot be resampled or sampled"):
        ask(model, latens.scan(X), method="bootstrap")
    with pytest.raises(ValueError, match="sample_weight cannot be given beside rows that are read in blocks"):
        ask(model, latens.scan(X), sample_weight=np.ones(60))


def test_views_of_scans_are_those_of_the_fit_and_no_others() -> None:
    X = SUBJECTS["MultiViewFactorAnalysis"].rows(60)
    views = {"a": latens.scan(X[:, :2]), "b": latens.scan(X[:, 2:])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.MultiViewFactorAnalysis(1, random_state=0).fit(views)
    answer, expected = ask(model, views), ask(model, {"a": X[:, :2], "b": X[:, 2:]})
    assert answer["std"] == pytest.approx(expected["std"], rel=1e-3)
    with pytest.raises(ValueError, match=r"X has the views 'b', 'a' .*; the fit had 'a', 'b'"):
        ask(model, {"b": views["b"], "a": views["a"]})


def test_all_rows_of_a_stream_are_those_of_its_fit() -> None:
    X = SUBJECTS["GaussianMixture"].rows(90)
    model = latens.GaussianMixture(2, random_state=0)
    for at in range(0, 90, 30):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.partial_fit(X[at : at + 30])
    assert ask(model, X, method="response").method == "response"
    with pytest.raises(ValueError, match="X is not the data of the fit"):
        ask(model, X[:60], method="response")


@pytest.mark.parametrize(
    ("prior", "points"), [("ml", {"components", "noise_variance", "mean", "share"}), ("ard", {"mean"})]
)
def test_mean_field_says_of_points_that_they_are_points(prior: str, points: set[str]) -> None:
    rng = np.random.default_rng(0)
    X = 1e3 + rng.normal(size=(60, 1)) @ rng.normal(size=(1, 4)) + rng.normal(size=(60, 4))
    found = ask(latens.FactorAnalysis(1, prior=prior, random_state=0).fit(X), method="mean-field")
    still = {name for name, std in zip(found["parameter"], found["std"], strict=True) if std == 0}
    assert still == points
    said = {why for std, why in zip(found["std"], found["why"], strict=True) if std == 0}
    assert said == {"a point estimate: mean field knows no spread"}
