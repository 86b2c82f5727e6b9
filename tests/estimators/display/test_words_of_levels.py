"""Which word of a column of two is 1, in `levels_`, names, summaries, files and pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens

pytestmark = pytest.mark.extras


def patients(n: int = 160) -> Any:
    import pandas as pd

    rng = np.random.default_rng(0)
    z = rng.normal(size=n)
    return pd.DataFrame(
        {
            "weight": 70 + 8 * z + 4 * rng.normal(size=n),
            "height": 170 + 8 * z + 4 * rng.normal(size=n),
            "sex": np.where(z + rng.normal(size=n) > 0, "male", "female"),
            "ill": (rng.random(n) < 0.4).astype(int),
            "colour": rng.choice(["red", "green", "blue"], n),
            "grade": pd.Categorical(rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True),
        }
    )


def test_factors_name_the_word_that_is_one(tmp_path: Path) -> None:
    frame = patients()
    model = latens.MultiViewFactorAnalysis(2, random_state=0, n_jobs=1).fit(frame)
    assert model.levels_["yes_no"] == {"sex": ["female", "male"], "ill": [0.0, 1.0]}
    assert model.levels_["scales"] == {"grade": ["low", "mid", "high"]}
    assert {view: set(own) for view, own in model.impute_proba(frame).items()} == {
        view: set(own) for view, own in model.levels_.items()
    }
    assert model.layout_.features[1] == ("sex = male", "ill")
    assert "yes_no: sex = male" in str(model.summary())
    male = model.impute_proba(frame)["yes_no"]["sex"][:, 1]
    assert male[frame["sex"] == "male"].mean() > male[frame["sex"] == "female"].mean()
    latens.save(model, tmp_path / "m.latens")
    loaded = latens.load(tmp_path / "m.latens")
    assert loaded.levels_ == model.levels_
    np.testing.assert_array_equal(loaded.transform(frame), model.transform(frame))


def test_names_of_columns_are_those_of_the_frame(tmp_path: Path) -> None:
    frame = patients()
    model = latens.MultiViewFactorAnalysis(2, random_state=0, n_jobs=1).fit(frame)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    assert model.n_features_in_ == len(model.feature_names_in_)
    mixed = frame[model.feature_names_in_[::-1]]  # in any order
    np.testing.assert_array_equal(model.transform(mixed), model.transform(frame))
    latens.save(model, tmp_path / "m.latens")
    assert latens.load(tmp_path / "m.latens").feature_names_in_.tolist() == frame.columns.tolist()
    model.fit({"a": frame[["weight", "height"]]})
    assert not hasattr(model, "feature_names_in_")


def test_classes_name_the_word_that_is_one() -> None:
    frame = patients()
    model = latens.LatentClassAnalysis(2, random_state=0, n_jobs=1).fit(frame)
    assert model.levels_ == {
        "sex": ["female", "male"],
        "ill": [0.0, 1.0],
        "colour": ["blue", "green", "red"],
        "grade": ["low", "mid", "high"],
    }
    assert set(model.impute_proba(frame)) == set(model.levels_)
    assert "bernoulli 'sex' (1 = male), 'ill'" in str(model.summary())
    numbers = latens.LatentClassAnalysis(2, likelihoods={1: "categorical"}, random_state=0, n_jobs=1)
    rng = np.random.default_rng(0)
    numbers.fit(np.column_stack([rng.integers(2, size=60), rng.choice([1.0, 3.0, 7.0], 60)]))
    assert numbers.levels_ == {"x0": [0.0, 1.0], "x1": [1.0, 3.0, 7.0]}


@pytest.mark.parametrize("kind", [latens.MultiViewFactorAnalysis, latens.LatentClassAnalysis])
def test_pages_name_the_word_that_is_one(kind: Any, tmp_path: Path) -> None:
    frame = patients()
    latens.report(kind(2, random_state=0, n_jobs=1).fit(frame), frame, tmp_path / "page.html")
    shown = re.sub(r"<(script|style).*?</\1>", "", (tmp_path / "page.html").read_text(), flags=re.DOTALL)
    words = " ".join(re.sub(r"<[^>]+>", " ", shown).split())
    assert "sex = male bernoulli" in words  # in the table of columns
    assert "sex = male: male" not in words  # colours of rows are those of the column
