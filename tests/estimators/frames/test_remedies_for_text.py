"""Columns of text that cannot be used: the remedy that is named is one that helps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import UnusedColumns

pytestmark = pytest.mark.extras


def survey() -> Any:
    import pandas

    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 120).astype(str).astype(object)
    age[rng.random(120) < 0.1] = "refused"
    return pandas.DataFrame({"a": rng.normal(size=120), "b": rng.normal(size=120), "age": age})


def test_a_word_among_numbers_may_be_named_as_missing(tmp_path: Path) -> None:
    frame = survey()
    frame.to_csv(tmp_path / "s.csv", index=False)
    note = dict(zip(*np.array(latens.read(tmp_path / "s.csv").columns.rows, dtype=object)[:, [0, 4]].T, strict=True))
    assert "--missing refused takes that as missing, --category age keeps it" in note["age"]
    assert latens.read(tmp_path / "s.csv", missing=["refused"]).frame["age"].isna().sum() > 0
    with pytest.warns(UnusedColumns, match=r"latens.read\(X, missing=\['refused'\]\) in place of X"):
        latens.LatentClassAnalysis(1, random_state=0).fit(frame)
    used = latens.LatentClassAnalysis(1, random_state=0).fit(latens.read(frame, missing=["refused"]))
    assert used.likelihoods_["age"] == "gaussian"


@pytest.mark.parametrize("name", ["LatentClassAnalysis", "MultiViewFactorAnalysis"])
def test_an_array_of_text_is_not_answered_with_the_estimator_itself(name: str) -> None:
    text = np.array([["yes", "a"], ["no", "b"], ["yes", "b"]], dtype=object)
    with pytest.raises(ValueError, match=r"pandas.DataFrame\(X\)") as caught:
        getattr(latens, name)().fit(text)
    assert "take an estimator" not in str(caught.value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["LatentClassAnalysis", "MultiViewFactorAnalysis"])
def test_stability_takes_exposures_by_name_as_it_takes_their_array(name: str) -> None:
    import pandas

    rng = np.random.default_rng(0)
    expo, k = rng.uniform(0.5, 2, 60), rng.integers(0, 2, 60)
    counts = {f"n{d}": rng.poisson(expo * (2 + 8 * k)) for d in range(3)}
    X = pandas.DataFrame({**counts, "t": rng.choice(["a", "b", "c"], 60), "expo": expo})
    kinds = dict.fromkeys(counts, "poisson")
    model = getattr(latens, name)(2, likelihoods=kinds, prune=False, random_state=0, max_iter=20)
    model.fit(X, exposure="expo")
    by_name = latens.stability(model, X, 2, exposure="expo", random_state=0)
    by_array = latens.stability(model, X.drop(columns="expo"), 2, exposure=expo, random_state=0)
    of_table = latens.stability(model, latens.read(X, exposure="expo"), 2, random_state=0)
    assert str(by_name.table) == str(by_array.table) == str(of_table.table)
