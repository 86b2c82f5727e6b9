"""Ways to call that were public before: each works for one release more, and says what to write instead."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import latens
from tests.estimators.subjects import SUBJECTS, Subject, targets

WITH_Y = ("fit", "partial_fit", "fit_transform", "fit_predict", "score")


@pytest.mark.parametrize("name", WITH_Y)
def test_everything_after_y_is_keyword_only(subject: Subject, name: str) -> None:
    method = getattr(type(subject.make()), name, None)
    if method is None:
        return
    after = list(inspect.signature(method).parameters.values())[3:]
    assert {each.kind for each in after} <= {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}


def test_weights_by_position_give_the_same_fit_and_one_warning(subject: Subject) -> None:
    x = subject.rows(40, 4)
    y, weight = targets(x), np.arange(40) % 3 + 1.0
    before = (None,) if subject.name == "MultiViewFactorAnalysis" else ()  # where groups came first
    with pytest.warns(
        FutureWarning, match=rf"{subject.name}\.fit takes .* write fit\(X, (groups=\.\.\., )?sample_weight=\.\.\.\)"
    ) as said:
        former = subject.make().fit(x, y, *before, weight)
    assert sum(issubclass(each.category, FutureWarning) for each in said) == 1
    assert {each.filename for each in said} == {__file__}
    assert former.elbo_ == subject.make().fit(x, y, sample_weight=weight).elbo_


def test_an_argument_given_twice_or_too_many_are_refused(subject: Subject) -> None:
    x = subject.rows(40, 4)
    with pytest.raises(TypeError, match="twice"):
        subject.make().fit(x, targets(x), None, groups=None, sample_weight=None)
    with pytest.raises(TypeError, match="too many"):
        subject.make().fit(x, targets(x), None, None, None, None)


def regression(**options: Any) -> Any:
    x = SUBJECTS["BayesianLinearRegression"].rows(40, 3)
    return latens.BayesianLinearRegression(**options).fit(x, targets(x))


def test_precisions_of_the_regression_answer_to_their_former_names() -> None:
    with pytest.warns(FutureWarning, match="alpha of BayesianLinearRegression is now weight_precision; write"):
        former = regression(alpha=2.0)
    with pytest.warns(FutureWarning, match="beta of BayesianLinearRegression is now noise_precision"):
        former.set_params(beta=3.0)
    assert former.get_params() == latens.BayesianLinearRegression(2.0, 3.0).get_params()
    assert "alpha" not in former.get_params()
    model = regression(weight_precision=2.0, noise_precision=3.0)
    for name, present in {
        "alpha": 2.0,
        "beta": 3.0,
        "alpha_": model.weight_precision_,
        "beta_": model.noise_precision_,
    }.items():
        with pytest.warns(FutureWarning, match=f"{name} of BayesianLinearRegression is now") as said:
            assert getattr(model, name) == present
        assert said[0].filename == __file__
    with pytest.raises(TypeError, match="give weight_precision alone"):
        latens.BayesianLinearRegression(alpha=1.0, weight_precision=1.0)


def test_the_former_quantity_of_intervals_is_taken() -> None:
    model = regression()
    with pytest.warns(FutureWarning, match="'beta' is now 'noise_precision'"):
        table = model.intervals(quantities=["beta"])
    assert table["parameter"] == ["noise_precision"]


def test_present_names_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        model = clone(regression(weight_precision="gamma", noise_precision=2.0))
        model.set_params(weight_precision=1.0)
    assert model.weight_precision == 1.0


def test_the_page_on_what_stays_names_the_warning() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "what_stays.md"
    assert "`FutureWarning`" in page.read_text("utf-8")
