"""Covariates of samples that are read in blocks: columns that `latens.scan` names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.estimators.multi_view.covariates import Covariates, learn_in_blocks

N, D = 240, 6
pytestmark = pytest.mark.filterwarnings("ignore")


def made() -> tuple[np.ndarray, np.ndarray]:
    """Measurements (N, D) of one factor, and covariates (N, 2): a batch as 0 and 1, and an age."""
    rng = np.random.default_rng(0)
    known = np.column_stack([rng.integers(0, 2, N), rng.normal(50, 10, N)])
    slopes = np.vstack([3 * rng.normal(size=D), 0.2 * rng.normal(size=D)])
    x = known @ slopes + np.outer(rng.normal(size=N), rng.normal(size=D)) + 0.5 * rng.normal(size=(N, D))
    return x, known


def model() -> latens.MultiViewFactorAnalysis:
    return latens.MultiViewFactorAnalysis(4, likelihoods={"x": "gaussian"}, random_state=0)


def scanned(x: np.ndarray, known: np.ndarray) -> Any:
    return latens.scan(np.hstack([x, known]), covariates=[D, D + 1], block_rows=64)


def test_what_is_learnt_of_blocks_is_what_is_learnt_of_all_rows() -> None:
    rng = np.random.default_rng(1)
    values = {"age": rng.normal(50, 10, 90), "site": np.array(["a", "b", "c"])[rng.integers(0, 3, 90)]}
    weight = rng.random(90)
    whole = Covariates.learnt({name: (list(column), ()) for name, column in values.items()}, weight)

    def blocks() -> Any:
        for at in range(0, 90, 25):
            yield {name: column[at : at + 25] for name, column in values.items()}, weight[at : at + 25]

    parts = learn_in_blocks(blocks)
    assert (parts.columns, parts.levels) == (whole.columns, whole.levels)
    assert parts.mean == pytest.approx(whole.mean, rel=1e-12)
    assert parts.turn == pytest.approx(whole.turn, rel=1e-9)


def test_a_column_whose_later_blocks_hold_text_is_one_of_labels() -> None:
    def blocks() -> Any:
        yield {"site": [1, 2, 2]}, np.ones(3)
        yield {"site": ["x", "2", "x"]}, np.ones(3)

    assert learn_in_blocks(blocks).levels == (("1", "2", "x"),)


def test_a_fit_to_blocks_is_that_to_the_rows_in_memory() -> None:
    x, known = made()
    usual = model().fit(x, covariates={str(D): known[:, 0], str(D + 1): known[:, 1]})
    found = model().fit(scanned(x, known))
    assert found.n_components_ == usual.n_components_ == 1
    assert found.elbo_ == pytest.approx(usual.elbo_, abs=0.2)
    assert found.covariate_names_ == usual.covariate_names_
    for view, own in found.covariate_coefficients_.items():
        assert own == pytest.approx(usual.covariate_coefficients_[view], abs=0.02)
    assert model().fit(x).n_components_ > 1


def test_answers_take_their_covariates_from_the_scan_and_refuse_rows_without() -> None:
    x, known = made()
    found = model().fit(scanned(x, known))
    given = {str(D): known[:, 0], str(D + 1): known[:, 1]}
    usual = found.transform(x, covariates=given)
    assert np.concatenate(list(found.transform(scanned(x, known)))) == pytest.approx(usual, abs=1e-6)
    x[5, 2] = np.nan
    filled = np.concatenate(list(found.impute(scanned(x, known))))
    assert filled == pytest.approx(found.impute(x, covariates=given), abs=1e-6)
    with pytest.raises(ValueError, match=r"pass covariates=\.\.\. for these samples"):
        list(found.transform(latens.scan(x, block_rows=64)))
    with pytest.raises(ValueError, match=r"pass covariates=\.\.\. for these samples"):
        found.impute(x)


def test_streams_take_covariates_of_scans() -> None:
    x, known = made()
    stream = model().partial_fit(scanned(x, known))
    assert stream.covariate_names_ == (str(D), str(D + 1))
    assert stream.n_components_ == 1


def test_bad_columns_are_named(tmp_path: Path) -> None:
    x, known = made()
    with pytest.raises(ValueError, match="covariates=99 is no column of the data"):
        latens.scan(np.hstack([x, known]), covariates=[D, 99])
    with pytest.raises(ValueError, match=r"names of columns of a Dask dataframe; of files, name them in latens\.scan"):
        model().fit(latens.scan(x, block_rows=64), covariates={"age": known[:, 1]})
    with pytest.raises(ValueError, match="covariates"):
        latens.FactorAnalysis(1).fit(scanned(x, known))
    known[70, 1] = np.nan
    with pytest.raises(ValueError, match=r"covariate '7' is missing in 1 of 64 samples"):
        model().fit(scanned(x, known))
    known[:, 1] = 3.0
    with pytest.raises(ValueError, match=r"covariate '7' has one value in all samples"):
        model().fit(scanned(x, known))


@pytest.mark.extras
def test_text_columns_of_files_are_labels_and_models_keep_them(tmp_path: Path) -> None:
    import pandas as pd

    x, known = made()
    table = pd.DataFrame(x, columns=[f"g{j}" for j in range(D)])
    table = table.assign(site=np.where(known[:, 0] > 0, "Rome", "Oslo"), age=known[:, 1])
    table.to_csv(tmp_path / "x.csv", index=False)
    table.to_parquet(tmp_path / "x.parquet", index=False)
    usual = model().fit(table.drop(columns=["site", "age"]), covariates=table[["site", "age"]])
    for name in ("x.csv", "x.parquet"):
        scan = latens.scan(tmp_path / name, covariates=["site", "age"], block_rows=80)
        found = model().fit(scan)
        assert found.covariate_names_ == ("site = Rome", "age")
        assert found.elbo_ == pytest.approx(usual.elbo_, abs=0.2)
        latens.save(found, tmp_path / "m.latens")
        again = latens.load(tmp_path / "m.latens")
        assert np.concatenate(list(again.transform(scan))) == pytest.approx(
            np.concatenate(list(found.transform(scan))), abs=1e-9
        )
    with pytest.raises(ValueError, match="'Bonn' in 240 of 240 samples, which the fit did not have"):
        found.transform(table.drop(columns=["site", "age"]), covariates=table[["site", "age"]].assign(site="Bonn"))
