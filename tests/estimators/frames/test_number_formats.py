"""Numbers that a table writes as text are filled in as the others of their column are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore")]

MODELS = [latens.MultiViewFactorAnalysis(1, random_state=0), latens.LatentClassAnalysis(2, random_state=0)]
PATTERNS = {
    "price": r"-?\$\d{1,3}(,\d{3})*\.\d\d",
    "share": r"-?\d+%",
    "mass": r"\d{4} kg",
    "rate": r"-?\d+,\d\d",
    "gain": r"\d{1,3}(,\d{3})*|\(\d{1,3}(,\d{3})*\)",
    "flow": r"-?\d\.\d{3}e[+-]\d\d",
    "sold": r"-?(\d+\.\dk|\d{1,3})",
    "rent": r"-?\d{1,3}(\.\d{3})*,\d\d €",
}


def written() -> Any:
    import pandas as pd

    rng = np.random.default_rng(0)
    z = rng.standard_normal(60)
    return pd.DataFrame(
        {
            "price": [f"${3000 + 800 * a:,.2f}" for a in z],
            "share": [f"{30 + 10 * a:.0f}%" for a in z + 0.2 * rng.standard_normal(60)],
            "mass": [f"{3200 + 100 * a:.0f} kg" for a in z],
            "rate": [f"{a:.2f}".replace(".", ",") for a in z],
            "gain": [f"{2000 * a:,.0f}" if a > 0 else f"({-2000 * a:,.0f})" for a in z],
            "flow": [f"{3000 + 900 * a:.3e}" for a in z],
            "sold": [f"{x / 1000:.1f}k" if abs(x) >= 1000 else f"{x:.0f}" for x in 1500 + 400 * z],
            "rent": [f"{3000 + 800 * a:,.2f} €".translate({44: ".", 46: ","}) for a in z],
            "side": np.where(z > 0, "left", "right"),
        }
    )


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("model", MODELS, ids=["factors", "classes"])
def test_filled_cells_are_written_as_their_column(model: Any, library: str) -> None:
    whole = written()
    holes = whole.mask(np.random.default_rng(1).random(whole.shape) < 0.15)
    given = holes if library == "pandas" else pytest.importorskip("polars").from_pandas(holes)
    filled = model.fit(given).impute(given)
    filled = filled if library == "pandas" else filled.to_pandas()
    for name, pattern in PATTERNS.items():
        assert whole[name].str.fullmatch(pattern).all()  # that the pattern is that of the column
        assert filled[name].str.fullmatch(pattern).all(), filled[name][holes[name].isna()]
        assert (filled[name] == whole[name])[holes[name].notna()].all()


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("model", MODELS, ids=["factors", "classes"])
def test_drawn_rows_are_written_as_the_columns_of_the_fit(model: Any, library: str, tmp_path: Path) -> None:
    whole = written()
    given = whole if library == "pandas" else pytest.importorskip("polars").from_pandas(whole)
    latens.save(model.fit(given), tmp_path / "m.latens")
    drawn = latens.load(tmp_path / "m.latens").sample(50)
    drawn = drawn[0] if isinstance(drawn, tuple) else drawn
    drawn = drawn if library == "pandas" else drawn.to_pandas()
    for name, pattern in PATTERNS.items():
        assert drawn[name].str.fullmatch(pattern).all(), drawn[name]


def test_a_column_that_shows_nothing_is_text_still() -> None:
    whole = written()
    model = latens.LatentClassAnalysis(2, random_state=0).fit(whole)
    few = whole.iloc[:3].copy()
    few["mass"], few["rate"] = (whole[name].iloc[:3].mask(np.ones(3, dtype=bool)) for name in ("mass", "rate"))
    filled = model.impute(few)
    for name in ("mass", "rate"):
        assert filled[name].str.fullmatch(PATTERNS[name]).all(), filled[name]


def test_coverage_and_the_page_read_what_is_written() -> None:
    whole = written()
    model = latens.MultiViewFactorAnalysis(1, random_state=0).fit(whole)
    assert 0.5 < latens.stability(model, whole, n_samples=2).coverage <= 1.0
