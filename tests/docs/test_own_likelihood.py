"""The page on likelihoods of one's own is followed as a reader would: its code is run as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import latens
from latens.core import Rows
from latens.errors import FileRefused
from latens.likelihoods import Columns, Likelihood, Predictor
from tests.models.likelihoods.quadrature import D, lost_nats

PAGE = Path(__file__).resolve().parents[2] / "docs" / "own_likelihood.md"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is defined after both blocks of the page have run."""
    folder = tmp_path_factory.mktemp("reader")
    names: dict[str, Any] = {"__name__": "reader", "print": lambda *_: None}
    first, second = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), flags=re.S)
    exec(compile(first, "answers.py", "exec", dont_inherit=True), names)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        exec(compile(second, "used.py", "exec", dont_inherit=True), names)
    return {**names, "folder": folder}


def test_the_page_finds_its_factors_and_the_file_answers_the_same(reader: dict[str, Any]) -> None:
    model, again, right = reader["model"], reader["again"], reader["right"]
    assert model.likelihoods_ == {"test": "answers"}
    assert model.n_components_ == 2
    assert np.min(np.diff(model.elbo_history_)) > -1e-6
    assert np.array_equal(again.transform({"test": right}), model.transform({"test": right}))
    assert again.likelihoods["test"].trials == 20.0
    assert again.score({"test": right}) == model.score({"test": right})


def test_the_parabola_of_the_page_is_a_bound_that_touches(reader: dict[str, Any]) -> None:
    likelihood, eta = reader["Answers"](20.0), np.linspace(-6, 6, 200)[:, None]
    for y in (0.0, 7.0, 20.0):
        for at in (-2.0, 0.5, 4.0):
            place = Predictor(lambda at=at: np.full((1, 1), at), lambda at=at: np.full((1, 1), at**2), Columns(None))
            tangent = likelihood.tangent(Rows(np.full((1, 1), y)), place)

            def height(eta: Any, tangent: Any = tangent) -> Any:
                return tangent.constant() + tangent.response * eta - 0.5 * tangent.precision * eta**2

            exact = binom.logpmf(y, 20, 1 / (1 + np.exp(-eta)))
            assert (height(eta) <= exact + 1e-9).all()
            assert height(at)[0, 0] == pytest.approx(binom.logpmf(y, 20, 1 / (1 + np.exp(-at))))


def test_the_bound_of_the_page_loses_little(reader: dict[str, Any]) -> None:
    likelihood = reader["Answers"](20.0)

    def density(y: Any, eta: Any) -> Any:
        return binom.logpmf(y, 20, 1 / (1 + np.exp(-eta)))

    lost = lost_nats(likelihood, 1.0, np.zeros(D), density, np.random.default_rng(0))
    assert -1e-6 < lost < 0.1


def test_the_view_of_the_page_has_holes_streams_intervals_and_imputation(reader: dict[str, Any]) -> None:
    likelihood, right = reader["Answers"](20.0), reader["right"]
    hidden = np.random.default_rng(1).random(right.shape) < 0.1
    views = {"test": np.where(hidden, np.nan, right)}
    model = latens.MultiViewFactorAnalysis(3, likelihoods={"test": likelihood}, random_state=0).fit(views)
    filled, low, high = model.impute(views, coverage=0.9)
    error = np.sqrt(np.mean((filled["test"] - right)[hidden] ** 2))
    assert error < 0.6 * right.std()
    inside = (low["test"] <= right) & (right <= high["test"])
    assert 0.8 < inside[hidden].mean() <= 1
    assert 0.3 < model.explained_["total"][0, 0] < 1
    draws, _ = model.sample(50)
    assert set(np.unique(draws["test"])) <= set(range(21))
    streamed = latens.MultiViewFactorAnalysis(3, likelihoods=likelihood, random_state=0, max_iter=10)
    streamed.partial_fit({"test": right[:250]}).partial_fit({"test": right[250:]})
    assert streamed.likelihoods_ == {"test": "answers"}


def test_a_file_is_refused_without_its_class_and_with_what_is_none(reader: dict[str, Any]) -> None:
    path = reader["folder"] / "test.latens"
    with pytest.raises(FileRefused, match=r"names the class 'Answers'.*your own, pass custom=\[\.\.\.\]"):
        latens.load(path)
    with pytest.raises(TypeError, match=r"custom holds <class 'dict'>; give classes that derive from"):
        latens.load(path, custom=[dict])

    class Unmarked(reader["Answers"]):  # type: ignore[misc]
        name = "unmarked"

    with pytest.raises(TypeError, match=r"custom holds .*Unmarked.*marked by"):
        latens.load(path, custom=[Unmarked])
    model = latens.MultiViewFactorAnalysis(1, likelihoods={"test": Unmarked(20.0)}, max_iter=2)
    with pytest.raises(TypeError, match=r"@latens\.likelihoods\.record"):
        latens.save(model.fit({"test": reader["right"]}), path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("answers", r"'answers' is not known; choose one of .*or give an instance of latens\.likelihoods\.Likelihood"),
        (Likelihood, r"is the class Likelihood; give an instance, Likelihood\(\)"),
        (3, r"likelihoods\['test'\]=3 is not known"),
    ],
)
def test_what_is_no_likelihood_is_refused(reader: dict[str, Any], given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        latens.MultiViewFactorAnalysis(1, likelihoods={"test": given}).fit({"test": reader["right"]})


def test_a_class_that_is_not_in_a_list_is_told_to_be(reader: dict[str, Any], tmp_path: Path) -> None:
    model = latens.MultiViewFactorAnalysis(1, likelihoods={"test": reader["Answers"](20.0)}, max_iter=2, random_state=0)
    path = latens.save(model.fit({"test": reader["right"]}), tmp_path / "test.latens")
    with pytest.raises(TypeError, match=r"custom is the class Answers; give a list: custom=\[Answers\]"):
        latens.load(path, custom=reader["Answers"])


def test_values_that_the_page_refuses_are_refused_with_its_words(reader: dict[str, Any]) -> None:
    model = latens.MultiViewFactorAnalysis(1, likelihoods={"test": reader["Answers"](20.0)})
    for wrong in (reader["right"] + 0.5, -reader["right"], reader["right"] + 20):
        with pytest.raises(ValueError, match=r"view 'test' is to be answers but holds other values than 0 to 20 right"):
            model.fit({"test": wrong})


def test_new_samples_with_more_answers_than_questions_are_refused(reader: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is the number of questions right"):
        reader["model"].transform({"test": np.full((2, 12), 21.0)})


@pytest.mark.extras
def test_a_column_of_a_frame_of_mixed_columns_may_have_it(reader: dict[str, Any], tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame(reader["right"][:, :4], columns=list("abcd")).assign(sex=["f", "m", "m"] * 100, e=1.5)
    frame["e"] += np.random.default_rng(0).normal(size=300)
    own = reader["Answers"](20.0)
    model = latens.MultiViewFactorAnalysis(2, likelihoods={"a": own, "b": own}, random_state=0, max_iter=10)
    model.fit(frame)
    assert "answers" in model.likelihoods_.values()
    latens.save(model, tmp_path / "frame.latens")
    again = latens.load(tmp_path / "frame.latens", custom=[reader["Answers"]])
    assert np.array_equal(again.transform(frame), model.transform(frame))
