"""What is given beside the rows of a data frame goes by their labels, however either was sorted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import latens

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore")]

N = 60


@pytest.fixture(scope="module")
def people() -> Any:
    import pandas as pd

    rng = np.random.default_rng(0)
    age = rng.integers(20, 70, N).astype(float)
    return pd.DataFrame(
        {
            "height": 170 + 0.2 * age + 8 * rng.standard_normal(N),
            "weight": 70 + 0.3 * age + 5 * rng.standard_normal(N),
            "visits": rng.poisson(3 + (age > 45) * 4),
            "smoker": np.where(rng.random(N) < 0.4, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def beside() -> Any:
    import pandas as pd

    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 70, N).astype(float),
            "weight": rng.integers(1, 5, N).astype(float),
            "site": np.where(np.arange(N) % 3 > 0, "a", "b"),
            "months": rng.integers(1, 12, N).astype(float),
        }
    )


def shuffled(frame: Any) -> Any:
    return frame.sample(frac=1.0, random_state=5)


ESTIMATORS: dict[str, Any] = {
    "factors of views": latens.MultiViewFactorAnalysis(
        1, prune=False, max_iter=9, moves=False, n_init=1, random_state=0
    ),
    "classes": latens.LatentClassAnalysis(2, max_iter=9, moves=False, n_init=1, random_state=0),
    "factors": latens.FactorAnalysis(1, max_iter=9, moves=False, n_init=1, random_state=0),
    "clusters": latens.GaussianMixture(2, max_iter=9, moves=False, n_init=1, random_state=0),
}


@pytest.mark.parametrize("which", ESTIMATORS)
def test_weights_in_another_order_are_those_of_their_rows(which: str, people: Any, beside: Any) -> None:
    X = people if which in ("factors of views", "classes") else people.drop(columns="smoker")
    model = ESTIMATORS[which]
    plain = model.fit(X, sample_weight=beside["weight"]).elbo_
    assert model.fit(X, sample_weight=shuffled(beside)["weight"]).elbo_ == plain
    assert model.fit(X, sample_weight=beside["weight"].set_axis(np.arange(1, N + 1))).elbo_ == plain  # by place
    by_place = model.fit(X.to_numpy() if X is not people else X, sample_weight=shuffled(beside)["weight"].to_numpy())
    assert by_place.elbo_ != plain


VIEWS = {"mixed": lambda X: X, "numbers": lambda X: X[["height", "weight"]],
         "dict": lambda X: {"size": X[["height", "weight"]], "counts": X[["visits"]]}}  # fmt: skip


@pytest.mark.parametrize("views", VIEWS)
def test_covariates_and_groups_of_views_go_by_label(views: str, people: Any, beside: Any) -> None:
    X, other = VIEWS[views](people), shuffled(beside)
    model = latens.MultiViewFactorAnalysis(1, prune=False, max_iter=9, moves=False, n_init=1, random_state=0)
    model.fit(X, covariates=beside[["age"]], groups=beside["site"])
    elbo, codes = model.elbo_, model.transform(X, covariates=beside[["age"]], groups=beside["site"])
    scores = model.score_samples(X, covariates=beside[["age"]], groups=beside["site"])
    found = model.transform(X, covariates=other[["age"]], groups=other["site"])
    assert found == pytest.approx(codes)
    assert model.score_samples(X, covariates=other["age"], groups=other["site"]) == pytest.approx(scores)
    assert model.fit(X, covariates=other["age"], groups=other["site"]).elbo_ == elbo
    assert model.associate(other[["age"]]).rows == model.associate(beside[["age"]]).rows
    assert model.associate(other[["age"]].to_dict("list")).rows != model.associate(beside[["age"]]).rows


def test_exposures_go_by_label(people: Any, beside: Any) -> None:
    import pandas as pd

    other, kinds = shuffled(beside)["months"], {"visits": "poisson"}
    for model in (
        latens.MultiViewFactorAnalysis(
            1, prune=False, likelihoods=kinds, max_iter=9, moves=False, n_init=1, random_state=0
        ),
        latens.LatentClassAnalysis(2, likelihoods=kinds, max_iter=9, moves=False, n_init=1, random_state=0),
    ):
        elbo = model.fit(people, exposure=beside["months"]).elbo_
        scores = model.score_samples(people, exposure=beside["months"])
        assert model.score_samples(people, exposure=other) == pytest.approx(scores)
        assert model.fit(people, exposure=other).elbo_ == elbo
        holes = people.mask(np.random.default_rng(2).random(people.shape) < 0.1)
        pd.testing.assert_frame_equal(
            model.impute(holes, exposure=other), model.impute(holes, exposure=beside["months"])
        )


def test_a_shuffled_table_and_sorted_values_beside_it(people: Any, beside: Any) -> None:
    X = shuffled(people)
    model = latens.MultiViewFactorAnalysis(1, prune=False, max_iter=9, moves=False, n_init=1, random_state=0).fit(
        X, covariates=beside[["age"]]
    )
    again = latens.MultiViewFactorAnalysis(1, prune=False, max_iter=9, moves=False, n_init=1, random_state=0)
    assert again.fit(X, covariates=beside[["age"]].loc[X.index]).elbo_ == model.elbo_


def test_targets_of_a_regression_go_by_label(people: Any, beside: Any) -> None:
    X, y, weight = people[["height", "visits"]], people["weight"], beside["weight"]
    model = latens.BayesianLinearRegression().fit(X, y, sample_weight=weight)
    coef, score = model.coef_, model.score(X, y, sample_weight=weight)
    found = model.fit(X, y.sort_values(), sample_weight=weight.sort_values())
    assert found.coef_ == pytest.approx(coef)
    assert found.score(X, y.sort_values(), sample_weight=weight.sort_values()) == pytest.approx(score)
    assert found.fit(X.to_numpy(), y.sort_values()).coef_ != pytest.approx(coef)  # an array has no labels


def test_known_classes_go_by_label(people: Any) -> None:
    import pandas as pd

    known = pd.Series(np.where(np.arange(N) < 20, people["visits"] > 5, -1).astype(int))
    model = latens.LatentClassAnalysis(2, max_iter=9, moves=False, n_init=1, random_state=0)
    elbo = model.fit(people, known=known).elbo_
    assert model.fit(people, known=known.sort_values()).elbo_ == elbo
    X = people[["height", "weight"]]
    clusters = latens.GaussianMixture(2, max_iter=9, moves=False, n_init=1, random_state=0)
    elbo = clusters.fit(X, known=known).elbo_
    assert clusters.fit(X, known=known.sort_values()).elbo_ == elbo


def test_metadata_that_count_otherwise_go_by_place(people: Any, beside: Any) -> None:
    X = people[["height", "weight"]]
    model = latens.FactorAnalysis(1, max_iter=9, moves=False, n_init=1, random_state=0).fit(X)
    plain = model.associate(beside, X).rows
    assert model.associate(shuffled(beside), X).rows == plain
    assert model.associate(beside.set_axis(np.arange(1, N + 1)), X).rows == plain
    fewer = model.associate(beside.iloc[10:], X)
    assert set(fewer["n"]) == {N - 10}


def test_repeated_labels_in_another_order_are_refused(people: Any, beside: Any) -> None:
    X, twice = people[["height", "weight"]], np.arange(N) // 2
    with pytest.raises(ValueError, match="sample_weight has the row labels of X in another order, and some labels are"):
        latens.FactorAnalysis(1).fit(X.set_axis(twice), sample_weight=beside["weight"].set_axis(twice[::-1]))


def test_halves_keep_what_belongs_to_their_rows(people: Any, beside: Any) -> None:
    model = latens.MultiViewFactorAnalysis(1, prune=False, max_iter=9, moves=False, n_init=1, random_state=0).fit(
        people, covariates=beside[["age"]]
    )
    plain = latens.stability(model, people, n_samples=2, covariates=beside[["age"]])
    other = latens.stability(model, people, n_samples=2, covariates=shuffled(beside)[["age"]])
    assert other.table.rows == plain.table.rows


def test_series_in_a_dict_go_by_label() -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    z = rng.normal(size=N)
    X = pd.DataFrame({c: z + 0.5 * rng.normal(size=N) for c in "abcd"})
    shuffled = pd.Series(z).sample(frac=1, random_state=0)
    model = latens.MultiViewFactorAnalysis(1, random_state=0).fit(X)
    by_frame, by_dict = (model.associate(given, X)["effect"] for given in (shuffled.to_frame("z"), {"z": shuffled}))
    assert by_dict == by_frame
    given = [
        latens.MultiViewFactorAnalysis(1, random_state=0).fit(X, covariates=c)
        for c in (shuffled.to_frame("z"), {"z": shuffled})
    ]
    assert given[0].elbo_ == given[1].elbo_
