"""`score` of weighted rows is that of the rows repeated, wherever weights come from."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens

ESTIMATORS = [
    "BinaryFactorAnalysis",
    "FactorAnalysis",
    "GaussianMixture",
    "LatentClassAnalysis",
    "MultiViewFactorAnalysis",
    "NoisyICA",
]


def rows(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 4)) + 3 * rng.integers(2, size=(n, 1)), rng.integers(1, 4, n)


def fitted(name: str, X: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(latens, name)(2, random_state=0, max_iter=30).fit(X)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_weights_are_repetitions(name: str) -> None:
    X, weight = rows()
    model = fitted(name, X)
    expected = model.score(np.repeat(X, weight, axis=0))
    assert model.score(X, sample_weight=weight) == pytest.approx(expected, abs=1e-9)
    assert model.score(X, sample_weight=np.full(len(X), 3.0)) == pytest.approx(model.score(X), abs=1e-12)
    with pytest.raises(ValueError, match="sample_weight"):
        model.score(X, sample_weight=weight[:-1])


def test_yes_no_rows() -> None:
    X, weight = rows()
    on = (X > 1).astype(float)
    for name in ("BernoulliMixture", "NoisyOr"):
        model = fitted(name, on)
        expected = model.score(np.repeat(on, weight, axis=0))
        assert model.score(on, sample_weight=weight) == pytest.approx(expected, abs=1e-9)


@pytest.mark.extras
@pytest.mark.parametrize("name", ["GaussianMixture", "LatentClassAnalysis", "MultiViewFactorAnalysis"])
def test_weights_of_a_table_and_of_labels(name: str, tmp_path: Path) -> None:
    import pandas

    X, weight = rows()
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = fitted(name, frame)
    expected = model.score(frame, sample_weight=weight)
    assert expected != pytest.approx(model.score(frame), abs=1e-3)
    frame.assign(w=weight).to_csv(tmp_path / "w.csv", index=False)
    table = latens.read(tmp_path / "w.csv", weights="w")
    assert fitted(name, latens.read(tmp_path / "w.csv", drop=["w"])).score(table) == pytest.approx(expected, abs=1e-6)
    named = pandas.Series(weight, index=frame.index).sample(frac=1, random_state=0)
    assert model.score(frame, sample_weight=named) == pytest.approx(expected, abs=1e-12)


@pytest.mark.extras
def test_weights_of_a_scan(tmp_path: Path) -> None:
    X, weight = rows()
    table = np.column_stack([X, weight])
    np.savetxt(tmp_path / "rows.csv", table, delimiter=",", header="a,b,c,d,w", comments="")
    model = fitted("GaussianMixture", X)
    scan = latens.scan(tmp_path / "rows.csv", weights="w")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.score(scan) == pytest.approx(model.score(X, sample_weight=weight), abs=1e-6)


@pytest.mark.extras
@pytest.mark.parametrize("estimator", [latens.LatentClassAnalysis, latens.MultiViewFactorAnalysis, latens.NoisyICA])
def test_the_name_of_a_column_is_refused_as_weights_with_the_line_to_type(estimator: Any) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=["a", "b", "wt"])
    line = r"sample_weight='wt' is a string.*fit\(X.drop\(columns=\['wt'\]\), sample_weight=X\['wt'\]\)"
    with pytest.raises(TypeError, match=line):
        estimator(2).fit(frame, sample_weight="wt")
