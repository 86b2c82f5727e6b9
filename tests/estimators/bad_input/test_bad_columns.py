"""Columns that do not fit their likelihood: one clear error each, which says what was seen and what to do."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import latens
from latens.estimators.mixtures.column_kinds import KINDS
from latens.models.likelihoods.names import LIKELIHOODS, NAMES

N = 60
RNG = np.random.default_rng(0)
GOOD = RNG.normal(size=(N, 2))
FINE = {
    "gaussian": RNG.normal(size=N),
    "student": RNG.standard_t(3, size=N),
    "bernoulli": (RNG.random(N) < 0.4).astype(float),
    "categorical": RNG.integers(0, 3, N).astype(float),
    "ordinal": RNG.integers(0, 4, N).astype(float),
    "poisson": RNG.poisson(2.0, N).astype(float),
    "negative-binomial": RNG.poisson(4.0, N).astype(float),
}

# what a column holds, what it is to be, what each message says, and a remedy in it
BAD: dict[str, tuple[np.ndarray, str, str, str]] = {
    "one level": (np.full(N, 3.0), "categorical", "shows only 3", "a category needs two levels, so leave the column"),
    "one step": (np.full(N, 3.0), "ordinal", "shows only 3", "leave the column out"),
    "all missing": (np.full(N, np.nan), "categorical", "no value at all", "leave the column out"),
    "many levels": (np.arange(10_000.0), "categorical", "levels", "Join rare levels, or choose 'gaussian'"),
    "many steps": (np.arange(10_000.0), "ordinal", "levels", "Join rare levels, or choose 'gaussian'"),
    "names of rows": (np.arange(60.0), "categorical", "60 levels in 60 rows", "occur once. Join rare levels, or leave"),
    "no steps": (np.full(N, np.nan), "ordinal", "no value at all", "leave the column out"),
    "negative counts": (FINE["poisson"] - 1, "poisson", "negative|-1", "counts from 0, or choose 'gaussian'"),
    "fractional counts": (
        FINE["poisson"] + 0.5,
        "negative-binomial",
        r"fractions|\.5",
        "counts from 0, or choose 'gaussian'",
    ),
    "yes and no and more": (
        FINE["categorical"],
        "bernoulli",
        r"other values than 0 and 1|holds 2",
        r"pass \(\w > cut\)\.astype\(float\), or choose",
    ),
    "no such name": (
        FINE["poisson"],
        "binomial",
        "'binomial' is not known",
        "choose one of .gaussian.*negative-binomial",
    ),
    "no name": (FINE["poisson"], 7, "=7 is not known", "choose one of .gaussian.*negative-binomial"),  # type: ignore[dict-item]
}


def fit_views(column: np.ndarray, kind: Any) -> None:
    views = {"other": np.resize(GOOD, (len(column), 2)), "bad": column[:, None]}
    latens.MultiViewFactorAnalysis(2, likelihoods={"bad": kind}, max_iter=2, random_state=0).fit(views)


def fit_classes(column: np.ndarray, kind: Any) -> None:
    table = np.column_stack([np.resize(GOOD, (len(column), 2)), column])
    latens.LatentClassAnalysis(2, likelihoods={2: kind}, max_iter=2, random_state=0, moves=False).fit(table)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fit", [fit_views, fit_classes], ids=["views", "classes"])
@pytest.mark.parametrize("name", BAD)
def test_a_column_that_does_not_fit_is_refused_once_with_a_remedy(name: str, fit: Any) -> None:
    column, kind, seen, remedy = BAD[name]
    with pytest.raises(ValueError, match=f"({seen})") as error:
        fit(column, kind)
    message = str(error.value)
    assert re.search(remedy, message), message
    assert "bad" in message or "x2" in message  # where it is
    assert "\n" not in message


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", NAMES)
def test_a_column_that_fits_is_taken(kind: str) -> None:
    fit_views(FINE[kind], kind)
    if kind in KINDS:
        fit_classes(FINE[kind], kind)
    else:
        with pytest.raises(ValueError, match=r"likelihoods\['x2'\]='student' is for views; .*choose one of .gaussian"):
            fit_classes(FINE[kind], kind)


def test_there_is_one_table_of_names() -> None:
    assert list(NAMES) == list(LIKELIHOODS)
    assert set(KINDS) <= set(NAMES)
    assert all(cls.name == name for name, cls in LIKELIHOODS.items())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("exposure", "message"),
    [
        (np.zeros(N), r"exposure of view 'bad' is 0 in row 0; give positive numbers, or leave the sample out"),
        (-np.ones(N), r"is -1 in row 0; give positive numbers"),
        (np.full(N, np.nan), r"is nan in row 0; give positive numbers"),
        (np.ones(3), r"exposure has 3 entries for 60 rows; give one for each row"),
        ("depth", r"exposure='depth' is no column of \.obs; give an array, a dict by view, or 'total'"),
        ({"other": np.ones(N)}, r"exposure names .other.; views of counts are .bad."),
        (["a"] * N, r"exposure holds values that are no numbers"),
    ],
)
def test_an_exposure_that_cannot_be_is_refused_with_a_remedy(exposure: Any, message: str) -> None:
    views = {"other": GOOD, "bad": FINE["poisson"][:, None]}
    model = latens.MultiViewFactorAnalysis(2, likelihoods={"bad": "poisson"}, max_iter=2)
    with pytest.raises(ValueError, match=message):
        model.fit(views, exposure=exposure)
