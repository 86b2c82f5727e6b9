"""Numbers that stand for missing values, and those that only look far from others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import latens
from latens.errors import MissingCodes
from latens.intake.missing_codes import missing_codes


def test_none_at_all_is_a_value() -> None:
    """As the logarithm of what is spent, 0 for nothing, of the first 500 rows of randhie, where it was missing."""
    spent = np.append(np.linspace(5.8, 6.1, 366), np.zeros(134))
    assert missing_codes(spent) == {}
    assert missing_codes(np.where(spent == 0, -999.0, spent)) == {-999.0: 134}
    assert missing_codes(np.append(np.linspace(500.0, 620.0, 366), np.zeros(20))) == {}
    assert missing_codes(np.append(np.linspace(1950.0, 2020.0, 366), np.zeros(20))) == {0.0: 20}


@pytest.mark.extras
def test_zeros_of_mixed_frames_are_kept() -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"spent": np.append(rng.uniform(5.8, 6.1, 366), np.zeros(134)), "sex": ["m", "f"] * 250})
    model = latens.LatentClassAnalysis(3, random_state=0, n_jobs=1).fit(frame)
    assert "missing-codes" not in [each.code for each in model.warnings_]
    assert any(mean < 0.5 for mean in model.means_[:, 0])


@pytest.mark.extras
def test_steps_of_a_scale_are_called_what_they_are_fitted_as() -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"ecog": [3, 2, 1, 1, 2, 0] * 15, "age": rng.normal(60, 9, 90)})
    table = latens.read(frame)
    row = dict(zip(table.columns.columns, table.columns.rows[0], strict=True))
    assert (row["kind"], row["note"]) == ("number", "whole numbers from 0 to 3, taken as a number")
    assert "2 numbers" in str(table)
    assert latens.LatentClassAnalysis(2, random_state=0, n_jobs=1).fit(frame).likelihoods_["ecog"] == "gaussian"


AGES = np.random.default_rng(3).integers(20, 60, 380).astype(float)


@pytest.mark.parametrize("codes", [(999,), (99, 999), (-9,), (-9, -8), (-9, -1), (-99, -999), (-9, 99, 999)])
def test_codes_beside_one_another_are_all_found(codes: tuple[int, ...]) -> None:
    """With 99 beside 999 neither was found, since 99 is near the ages; -9 was a value."""
    drawn = np.resize(np.array(codes, dtype=float), 20)
    found = missing_codes(np.append(AGES, drawn))
    assert found == {float(code): int(np.sum(drawn == code)) for code in codes}


@pytest.mark.parametrize(
    "values",
    [
        np.append(AGES, np.resize([98.0, 99.0], 20)),  # perhaps the oldest
        np.append(np.arange(-20.0, 60.0).repeat(5), np.full(20, -9.0)),  # degrees
        np.append(np.arange(0.0, 90.0, 9.0).repeat(40), np.full(20, -9.0)),  # steps of nine
        np.append(np.random.default_rng(0).integers(0, 99, 380), np.full(20, 99.0)),  # of a hundred
        np.append(np.array([0.0, 1.0]).repeat(100), np.full(20, -1.0)),  # a level
    ],
)
def test_ordinary_values_are_no_codes(values: np.ndarray) -> None:
    assert missing_codes(values) == {}


@pytest.mark.extras
def test_codes_of_a_file_are_told_with_their_counts(tmp_path: Path) -> None:
    import pandas as pd

    ages = np.append(AGES, np.resize([99.0, 999.0], 20))
    frame = pd.DataFrame({"age": ages, "height": np.random.default_rng(0).normal(170, 9, 400)})
    frame.to_csv(tmp_path / "code.csv", index=False)
    with pytest.warns(MissingCodes, match=r"taken as missing, in 'age' \(999 10 times, 99 10 times\)\."):
        table = latens.read(tmp_path / "code.csv")
    assert table.n_missing() == {"age": 20, "height": 0}
    assert latens.read(tmp_path / "code.csv", missing="none").n_missing() == {"age": 0, "height": 0}
    with pytest.warns(MissingCodes, match=r"'age' holds 999 10 times and 99 10 times, .*'age': \[999, 99\]"):
        latens.GaussianMixture(2, random_state=0, max_iter=3).fit(frame)
