"""Numbers that stand for missing values, and those that only look far from others."""

from __future__ import annotations

import numpy as np
import pytest

import latens
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
