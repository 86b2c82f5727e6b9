"""A data frame with one line per value is no table of samples: it is refused with the call that lays it out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import latens

pytestmark = pytest.mark.extras


def long_frame(kind: str) -> Any:
    values = np.random.default_rng(0).normal(size=(30, 5))
    columns = {
        "sample": np.repeat([f"patient{i}" for i in range(30)], 5),
        "feature": np.tile([f"gene{j}" for j in range(5)], 30),
        "view": np.tile(["rna", "rna", "rna", "protein", "protein"], 30),
        "value": values.ravel(),
    }
    return pytest.importorskip(kind).DataFrame(columns)


@pytest.mark.parametrize(
    ("estimator", "kind"),
    [
        (latens.LatentClassAnalysis, "pandas"),
        (latens.LatentClassAnalysis, "polars"),
        (latens.MultiViewFactorAnalysis, "polars"),  # of pandas it takes such frames as they are
    ],
)
def test_a_long_frame_is_refused_with_what_lays_it_out(estimator: Any, kind: str) -> None:
    frame = long_frame(kind)
    with pytest.raises(
        ValueError, match=r"long table.*\(sample, feature, view, value\): fit latens.read\(X, format='long'"
    ):
        estimator(2, random_state=0).fit(frame)
    model = latens.MultiViewFactorAnalysis(1, random_state=0).fit(latens.read(frame, format="long"))
    assert model.layout_.views == ("rna", "protein")
    lines = latens.read(frame, format="matrix")
    assert estimator(1, max_iter=3, random_state=0).fit(lines).n_features_in_ >= 3


def test_a_table_of_samples_with_such_names_is_none() -> None:
    pandas, rng = pytest.importorskip("pandas"), np.random.default_rng(0)
    frame = pandas.DataFrame({"sample": rng.normal(size=40), "gene": rng.choice(["x", "y"], 40), "level": range(40)})
    assert latens.LatentClassAnalysis(2, random_state=0).fit(frame).n_components_ >= 1
