"""Information criteria of rows with weights are those of the rows given as often."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine

import latens

pytestmark = pytest.mark.filterwarnings("ignore")

X = load_wine().data[:, :5]
WEIGHT = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
COPIES = np.repeat(X, WEIGHT.astype(int), axis=0)
ESTIMATORS: dict[str, Any] = {
    "clusters": latens.GaussianMixture(3, max_iter=20, random_state=0),
    "factors": latens.FactorAnalysis(2, random_state=0),
    "classes": latens.LatentClassAnalysis(3, max_iter=20, random_state=0),
}


@pytest.mark.parametrize("which", ESTIMATORS)
@pytest.mark.parametrize("criterion", ["bic", "aic"])
def test_a_weight_of_two_is_a_row_given_twice(which: str, criterion: str) -> None:
    ask = getattr(ESTIMATORS[which].fit(X, sample_weight=WEIGHT), criterion)
    assert ask(X, sample_weight=WEIGHT) == pytest.approx(ask(COPIES), rel=1e-9)
    assert ask(X, sample_weight=np.ones(len(X))) == pytest.approx(ask(X), rel=1e-12)
    with pytest.raises(ValueError, match="sample_weight"):
        ask(X, sample_weight=WEIGHT[:-1])


@pytest.mark.extras
def test_weights_of_a_table_that_was_read_and_of_a_scan_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "wine.csv"
    names = ["a", "b", "c", "d", "e"]
    np.savetxt(path, np.column_stack([X, WEIGHT]), delimiter=",", header=",".join([*names, "w"]), comments="")
    for model in ESTIMATORS.values():
        read = latens.read(path, weights="w")
        expected = model.fit(read).bic(COPIES)
        assert model.bic(read) == pytest.approx(expected, rel=1e-9)
    model = latens.GaussianMixture(3, max_iter=20, random_state=0).fit(X, sample_weight=WEIGHT)
    scan = latens.scan(path, columns=names, weights="w")
    assert model.bic(scan) == pytest.approx(model.bic(COPIES), rel=1e-9)
    with pytest.raises(ValueError, match="sample_weight is given beside a scan with weights="):
        model.bic(scan, sample_weight=WEIGHT)


@pytest.mark.extras
def test_weights_go_by_label_and_exposures_are_taken_beside_them() -> None:
    import pandas as pd

    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"size": rng.normal(size=60), "visits": rng.poisson(3.0, 60)})
    weight, months = pd.Series(rng.integers(1, 4, 60)), pd.Series(rng.uniform(1.0, 5.0, 60))
    model = latens.LatentClassAnalysis(2, likelihoods={"visits": "poisson"}, max_iter=20, random_state=0)
    model.fit(frame, sample_weight=weight, exposure=months)
    copies = frame.loc[frame.index.repeat(weight)]
    found = model.bic(frame, sample_weight=weight.sample(frac=1.0, random_state=0), exposure=months)
    assert found == pytest.approx(model.bic(copies, exposure=months.loc[copies.index]))
    assert model.aic(frame, sample_weight=weight, exposure=months) == pytest.approx(model.aic(copies, exposure=months))
