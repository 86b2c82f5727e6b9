"""Views whose columns are of several kinds: split by kind for the fit, and put together again in answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens

N = 260
pytestmark = pytest.mark.filterwarnings("ignore")
KINDS = {
    "clinic": {"clinic_0": "poisson", "clinic_2": "student", "clinic_3": "categorical", "clinic_5": "poisson"},
    "other": "gaussian",
}


def made(seed: int = 0) -> dict[str, np.ndarray]:
    """A view of counts, measurements, categories and a yes/no column in turn, and one of measurements."""
    rng = np.random.default_rng(seed)
    z, w = rng.normal(size=(N, 2)), 0.8 * rng.normal(size=(2, 14))
    eta = z @ w
    clinic = np.column_stack(
        [
            rng.poisson(np.exp(eta[:, 0] + 1)),
            50 + 10 * (eta[:, 1] + 0.3 * rng.normal(size=N)),
            eta[:, 2] + rng.standard_t(3, size=N),
            np.digitize(eta[:, 3] + rng.logistic(size=N), [-0.7, 0.7]),
            eta[:, 4] + rng.logistic(size=N) > 0,
            rng.poisson(np.exp(eta[:, 5] + 1)),
        ]
    )
    return {"clinic": clinic.astype(float), "other": eta[:, 6:] + 0.5 * rng.normal(size=(N, 8))}


def fitted(views: Any, **options: Any) -> latens.MultiViewFactorAnalysis:
    return latens.MultiViewFactorAnalysis(4, likelihoods=KINDS, random_state=0, max_iter=60, **options).fit(views)


@pytest.fixture(scope="module")
def model() -> latens.MultiViewFactorAnalysis:
    return fitted(made())


def test_each_kind_of_column_is_a_view_and_what_is_not_given_is_guessed(model: Any) -> None:
    assert model.likelihoods_ == {
        "clinic (poisson)": "poisson",
        "clinic (gaussian)": "gaussian",
        "clinic (student)": "student",
        "clinic (categorical)": "categorical",
        "clinic (bernoulli)": "bernoulli",
        "other": "gaussian",
    }
    assert model.layout_.as_read.features[0] == ("clinic_0", "clinic_5")
    assert model.components_["clinic (poisson)"].shape == (model.n_components_, 2)


def test_the_fit_is_that_of_views_by_kind(model: Any) -> None:
    views = made()
    clinic = views["clinic"]
    by_kind = {
        "counts": clinic[:, [0, 5]],
        "numbers": clinic[:, [1]],
        "outliers": clinic[:, [2]],
        "levels": clinic[:, [3]],
        "yes": clinic[:, [4]],
        "other": views["other"],
    }
    kinds = ["poisson", "gaussian", "student", "categorical", "bernoulli", "gaussian"]
    by_hand = latens.MultiViewFactorAnalysis(
        4, likelihoods=dict(zip(by_kind, kinds, strict=True)), random_state=0, max_iter=60
    ).fit(by_kind)
    assert model.elbo_ == by_hand.elbo_
    assert np.array_equal(model.transform(views), by_hand.transform(by_kind))


def test_answers_come_in_the_views_that_were_given(model: Any) -> None:
    views = made()
    hidden = np.random.default_rng(1).random((N, 6)) < 0.2
    shown = {"clinic": np.where(hidden, np.nan, views["clinic"]), "other": views["other"]}
    filled, low, high = model.impute(shown, coverage=0.9)
    assert list(filled) == ["clinic", "other"]
    assert np.array_equal(filled["clinic"][~hidden], views["clinic"][~hidden])
    inside = (low["clinic"] <= views["clinic"]) & (views["clinic"] <= high["clinic"])
    assert inside[:, 1][hidden[:, 1]].mean() > 0.75
    assert set(np.unique(filled["clinic"][:, 3])) <= {0.0, 1.0, 2.0}
    drawn, _ = model.sample(5)
    assert drawn["clinic"].shape == (5, 6)
    assert np.array_equal(drawn["clinic"][:, 0], np.floor(drawn["clinic"][:, 0]))
    assert model.inverse_transform(np.zeros((2, model.n_components_)))["clinic"].shape == (2, 6)
    assert model.transform({"other": views["other"]}).shape == (N, model.n_components_)
    assert np.isfinite(model.score_samples(views)).all()


def test_files_and_streams_know_the_columns(model: Any, tmp_path: Path) -> None:
    views = made()
    latens.save(model, tmp_path / "model.latens")
    again = latens.load(tmp_path / "model.latens")
    assert again.layout_.wholes == {"clinic": tuple(f"clinic_{j}" for j in range(6))}
    assert np.array_equal(again.transform(views), model.transform(views))
    streamed = latens.MultiViewFactorAnalysis(2, likelihoods=KINDS, random_state=0, max_iter=10)
    for rows in (slice(0, 50), slice(50, 220), slice(220, N)):
        streamed.partial_fit({name: view[rows] for name, view in views.items()})
    assert streamed.likelihoods_ == model.likelihoods_
    assert streamed.impute(views)["clinic"].shape == (N, 6)


@pytest.mark.extras
def test_frames_come_back_with_their_columns_in_order() -> None:
    import pandas as pd

    views = made()
    frame = pd.DataFrame(views["clinic"], columns=list("abcdef"), index=[f"p{n}" for n in range(N)])
    kinds = {"clinic": {"a": "poisson", "d": "categorical", "f": "poisson"}}
    model = latens.MultiViewFactorAnalysis(3, likelihoods=kinds, random_state=0, max_iter=20).fit({"clinic": frame})
    holes = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1)
    filled = model.impute({"clinic": holes[list("fedcba")]})["clinic"]
    assert set(filled.columns) == set("abcdef")
    assert list(filled.index) == list(frame.index)
    assert not filled.isna().to_numpy().any()
    assert filled["a"].where(holes["a"].notna()).dropna().equals(holes["a"].dropna())


@pytest.mark.parametrize(
    ("likelihoods", "message"),
    [
        ({"clinic": {"age": "poisson"}}, r"likelihoods\['clinic'\] names the column\(s\) 'age'; there are 'clinic_0'"),
        ({"clinic": {"clinic_0": "poisson"}, "rna": "poisson"}, r"names the view\(s\) 'rna'; there are 'clinic'"),
        ({"clinic": {"clinic_1": "poisson"}}, r"view 'clinic \(poisson\)' is to be poisson but holds fractions"),
        ({"clinic": {"clinic_1": 3}}, r"likelihoods\['clinic'\]\['clinic_1'\]=3 is no name of a likelihood"),
        ({"clinic": {"clinic_1": "binomial"}}, r"'binomial' is not known; choose one of 'gaussian'"),
    ],
)
def test_columns_that_are_not_there_or_do_not_fit_are_refused(likelihoods: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        latens.MultiViewFactorAnalysis(2, likelihoods=likelihoods, max_iter=2).fit(made())


def test_new_samples_with_other_columns_are_refused(model: Any) -> None:
    with pytest.raises(ValueError, match=r"view 'clinic' has 5 columns; the model was fitted with 6"):
        model.transform({"clinic": made()["clinic"][:, :5]})
    with pytest.raises(ValueError, match=r"'rna' were not there when the model was fitted; it has 'clinic', 'other'"):
        model.transform({"rna": made()["clinic"]})
