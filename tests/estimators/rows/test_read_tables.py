"""Tables that `latens.read` took in go into every estimator as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore")]
QUICK = {"max_iter": 15, "random_state": 0}


def written(path: Path, seed: int, *, binary: bool = False, mixed: bool = False, n: int = 90) -> Path:
    import pandas as pd

    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    values = rng.normal(3 * group[:, None] * [1, -1, 0.5, 2], 1.0, size=(n, 4)) + 1
    table = pd.DataFrame((values > 1).astype(int) if binary else values.round(3), columns=list("abcd"))
    if mixed:
        table = table.assign(town=np.where(group, "Oslo", "Rome"), smokes=np.where(rng.random(n) < 0.5, "yes", "no"))
    table.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("name", ["GaussianMixture", "FactorAnalysis", "BinaryFactorAnalysis", "NoisyICA"])
def test_models_of_numbers_take_a_table_that_was_read(name: str, tmp_path: Path) -> None:
    table, new = (latens.read(written(tmp_path / f"{seed}.csv", seed)) for seed in (0, 1))
    options = {"n_components": 2, **QUICK}
    one = getattr(latens, name)(**options).fit(table)
    two = getattr(latens, name)(**options).fit(table.encoded().frame())
    assert one.elbo_ == two.elbo_
    assert np.array_equal(one.transform(new), two.transform(new.encoded().frame()))
    assert latens.load(latens.save(one, tmp_path / "m.latens")).transform(new.frame).shape == one.transform(new).shape


@pytest.mark.parametrize("name", ["BernoulliMixture", "NoisyOr"])
def test_models_of_yes_and_no_take_a_table_that_was_read(name: str, tmp_path: Path) -> None:
    table = latens.read(written(tmp_path / "b.csv", 0, binary=True))
    one = getattr(latens, name)(2, **QUICK).fit(table)
    assert one.elbo_ == getattr(latens, name)(2, **QUICK).fit(table.matrix()).elbo_
    assert list(one.feature_names_in_) == list("abcd")


@pytest.mark.parametrize("name", ["LatentClassAnalysis", "MultiViewFactorAnalysis"])
def test_models_of_mixed_columns_take_a_table_that_was_read(name: str, tmp_path: Path) -> None:
    table, new = (latens.read(written(tmp_path / f"{seed}.csv", seed, mixed=True)) for seed in (0, 1))
    one = getattr(latens, name)(2, **QUICK).fit(table)
    assert one.elbo_ == getattr(latens, name)(2, **QUICK).fit(table.frame).elbo_
    assert np.array_equal(one.transform(new), one.transform(new.frame))
    holes = new.frame.assign(town=new.frame.town.where(np.arange(90) > 3))
    assert list(one.impute(holes).town[:4]) == list(one.impute(new).town[:4])
    loaded = latens.load(latens.save(one, tmp_path / "m.latens"))
    assert np.array_equal(loaded.transform(new), one.transform(new))


def test_text_becomes_levels_for_models_of_numbers_and_later_files_are_treated_alike(tmp_path: Path) -> None:
    table, new = (latens.read(written(tmp_path / f"{seed}.csv", seed, mixed=True)) for seed in (0, 1))
    model = latens.FactorAnalysis(2, **QUICK).fit(table)
    assert "smokes" in " ".join(model.feature_names_in_)
    assert np.array_equal(model.transform(new), model.transform(new.frame))


def test_a_regression_takes_a_table_and_its_target(tmp_path: Path) -> None:
    table = latens.read(written(tmp_path / "t.csv", 0), target="d")
    y = table.aside("target")
    model = latens.BayesianLinearRegression().fit(table, y)
    assert model.coef_.shape == (3,)
    assert np.array_equal(model.predict(table), model.predict(table.encoded().frame()))


def test_several_tables_are_views_and_no_single_matrix(tmp_path: Path) -> None:
    paths: Any = {"one": written(tmp_path / "1.csv", 0), "two": written(tmp_path / "2.csv", 1)}
    table = latens.read(paths)
    model = latens.MultiViewFactorAnalysis(2, **QUICK).fit(table)
    assert model.layout_.views == ("one", "two")
    assert model.transform(table).shape[0] == 90
    with pytest.raises(ValueError, match=r"holds several tables \(one, two\); take views\(\) of it"):
        latens.GaussianMixture(2).fit(table)
