"""How many levels a column may have: one rule for views, classes, frames and files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import TableRefused

ESTIMATORS = [latens.MultiViewFactorAnalysis, latens.LatentClassAnalysis]


def fit(kind: type, column: np.ndarray, likelihood: str) -> Any:
    rng = np.random.default_rng(0)
    X = np.column_stack([column, rng.normal(size=(len(column), 2))])
    options: dict[str, Any] = {"n_init": 1, "max_iter": 3, "n_jobs": 1, "random_state": 0}
    if kind is latens.LatentClassAnalysis:
        return kind(1, likelihoods={0: likelihood}, **options).fit(X)
    return kind(1, likelihoods={"a": likelihood, "b": "gaussian"}, **options).fit({"a": X[:, :1], "b": X[:, 1:]})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize(
    ("column", "likelihood", "message"),
    [
        (np.repeat(np.arange(501.0), 3), "categorical", "is to be categorical but has more than 500 levels, the most"),
        (np.repeat(np.random.default_rng(0).normal(size=164), 3), "ordinal", "164 levels with fractions"),
        (np.arange(90.0), "ordinal", "has 90 levels in 90 rows: nothing can be learnt of levels that occur once"),
        (np.full(60, 2.0), "ordinal", "shows only 2; a category needs two levels"),
    ],
    ids=["many", "measurements", "names", "one"],
)
def test_columns_that_are_no_levels_are_refused_in_the_same_words(
    kind: type, column: np.ndarray, likelihood: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        fit(kind, column, likelihood)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_as_many_levels_may_be_learnt_by_all(kind: type) -> None:
    for column, likelihood in ((np.arange(260.0) % 130, "categorical"), (np.arange(84.0) % 42 / 2, "ordinal")):
        model = fit(kind, column, likelihood)
        levels = model.levels_["x0"] if kind is latens.LatentClassAnalysis else model.levels_["a"]["a_0"]
        assert sorted(levels) == np.unique(column).tolist()


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore")
def test_text_has_the_same_limit() -> None:
    import pandas as pd

    frame = pd.DataFrame(
        {"word": [f"w{i % 501}" for i in range(1503)], "x": np.random.default_rng(0).normal(size=1503)}
    )
    for kind in ESTIMATORS:
        with pytest.raises(
            TableRefused, match="is to be a category but has more than 500 levels, the most that can be"
        ):
            kind(1, likelihoods={"word": "categorical"}).fit(frame)
    with pytest.raises(TableRefused, match="has more than 500 levels"):
        latens.read(frame, category=["word"])
