"""New rows for a fitted model keep the columns of its fit, whatever they hold: constants, nothing, one row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import AbsentColumns, TableRefused, UnseenLevels

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore")]

QUICK: dict[str, Any] = {"max_iter": 6, "moves": False, "n_init": 1, "random_state": 0}
ESTIMATORS: dict[str, Any] = {
    "classes": latens.LatentClassAnalysis(2, **QUICK),
    "factors of views": latens.MultiViewFactorAnalysis(1, prune=False, **QUICK),
    "factors": latens.FactorAnalysis(1, **QUICK),
    "clusters": latens.GaussianMixture(2, **QUICK),
}
N = 80


@pytest.fixture(scope="module")
def people() -> Any:
    """Mixed columns with a unit in cells, a code for missing and decimal numbers."""
    import pandas as pd

    rng = np.random.default_rng(0)
    tall = rng.random(N) < 0.5
    mass = 70 + 9 * tall + 4 * rng.standard_normal(N)
    return pd.DataFrame(
        {
            "height": np.round(170 + 8 * tall + 5 * rng.standard_normal(N), 1),
            "mass": [f"{value:.1f} kg" for value in mass],
            "income": np.where(np.arange(N) % 9 == 0, -999, rng.integers(20, 90, N)),
            "visits": rng.poisson(2 + 3 * tall),
            "smokes": np.where(tall, "yes", "no"),
            "town": rng.choice(["A", "B", "C"], N),
            "months": rng.integers(1, 12, N),
        }
    )


@pytest.fixture(scope="module")
def files(people: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("rows")
    alike = people.iloc[[3, 3, 3, 3]].assign(height=[171.0, 172.0, 173.0, 174.0])
    parts = {
        "fit": people, "one": people.iloc[[5]], "alike": alike, "same": people.iloc[[3, 3, 3]],
        "coded": people.iloc[[0, 9]], "empty": alike.assign(visits=None),
    }  # fmt: skip
    for name, frame in parts.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return {name: folder / f"{name}.csv" for name in parts}


@pytest.mark.parametrize("which", ESTIMATORS)
def test_new_rows_are_answered_as_rows_of_the_fit(which: str, files: dict[str, Path], people: Any) -> None:
    table = latens.read(files["fit"], drop=["months"])
    assert table.frame["income"].isna().sum() == 9
    model = ESTIMATORS[which].fit(table)
    codes, density = model.transform(table), model.score_samples(table)
    rows = {"one": [5], "same": [3, 3, 3], "coded": [0, 9]}
    for name, at in rows.items():
        new = latens.read(files[name], like=table)
        assert model.transform(new) == pytest.approx(codes[at], abs=1e-5)
        assert model.score_samples(new) == pytest.approx(density[at], abs=1e-8)
    for name in ("alike", "empty"):
        like, plain = latens.read(files[name], like=table), latens.read(files[name], drop=["months"])
        assert set(plain.frame.columns) < set(table.frame.columns)  # constants say nothing there
        assert model.score_samples(plain) == pytest.approx(model.score_samples(like), abs=1e-8)
        assert model.transform(plain) == pytest.approx(model.transform(like), abs=1e-8)
        assert list(model.impute(plain)) == list(model.impute(like))
    seen = model.score_samples(latens.read(files["alike"], like=table))
    assert np.all(seen != pytest.approx(model.score_samples(latens.read(files["empty"], like=table))))


@pytest.mark.parametrize("which", ["factors of views", "factors", "clusters"])
def test_a_model_tells_how_its_rows_were_read(which: str, files: dict[str, Path], tmp_path: Path) -> None:
    model = ESTIMATORS[which].fit(latens.read(files["fit"], drop=["months"]))
    latens.save(model, tmp_path / "model.latens")
    again = latens.load(tmp_path / "model.latens")
    one, same = (latens.read(files["one"], like=each) for each in (model, again))
    assert one.frame.equals(same.frame)
    assert str(one.frame["mass"].dtype) == "float64"
    assert again.score_samples(same) == pytest.approx(model.score_samples(one))


def test_columns_of_the_fit_and_no_others_are_kept(files: dict[str, Path], people: Any) -> None:
    table = latens.read(files["fit"], drop=["months"])
    new = latens.read(files["alike"], like=table)
    assert list(new.frame.columns) == list(table.frame.columns)
    assert dict(zip(new.columns["column"], new.columns["treatment"], strict=True))["months"] == "dropped"
    assert new.n_rows == 4
    with pytest.warns(AbsentColumns, match="1 column.s. of the model are not in this table.*'town'"):
        lacking = latens.read(people.drop(columns="town"), like=table)
    assert lacking.frame["town"].isna().all()
    with pytest.warns(UnseenLevels, match="column 'town' holds 1 value.s. that were not there"):
        latens.read(people.iloc[[0]].assign(town="Z"), like=table)
    with pytest.raises(TableRefused, match="none of the 6 columns of the model is in this table"):
        latens.read(people[["months"]], like=table)
    with pytest.raises(TableRefused, match="like= reads the columns of a fit as they were read there; leave drop="):
        latens.read(people, like=table, drop=["months"])
    with pytest.raises(TableRefused, match="the column 'visits' was one of the fit's own and cannot be weights"):
        latens.read(people, like=table, weights="visits")
    with pytest.raises(TableRefused, match=r"A row for a fitted model: latens\.read\(path, like=model\)"):
        latens.read(files["one"])


def test_models_of_frames_and_arrays(people: Any) -> None:
    X = people[["height", "visits"]].astype(float)
    model = latens.FactorAnalysis(1, **QUICK).fit(X)
    row = latens.read(people.iloc[[5]], like=model)
    assert list(row.frame.columns) == ["height", "visits"]
    assert model.transform(row) == pytest.approx(model.transform(X)[[5]])
    constant = latens.read(people.iloc[:4].assign(visits=2))
    assert model.transform(constant) == pytest.approx(model.transform(X.iloc[:4].assign(visits=2.0)))
    with pytest.raises(TableRefused, match="FactorAnalysis that was fitted to an array, whose columns have no names"):
        latens.read(people, like=latens.FactorAnalysis(1, **QUICK).fit(X.to_numpy()))
    with pytest.raises(TableRefused, match="like= is a int; give a fitted model"):
        latens.read(people, like=3)


def test_roles_are_those_of_the_table_or_as_named(files: dict[str, Path]) -> None:
    kinds = {"visits": "poisson"}
    table = latens.read(files["fit"], exposure="months")
    model = latens.LatentClassAnalysis(2, likelihoods=kinds, **QUICK).fit(table)
    density = model.score_samples(table)
    assert model.score_samples(latens.read(files["one"], like=table)) == pytest.approx(density[[5]])
    assert model.score_samples(latens.read(files["one"], like=model, exposure="months")) == pytest.approx(density[[5]])
    assert model.score_samples(latens.read(files["alike"], exposure="months")) == pytest.approx(
        model.score_samples(latens.read(files["alike"], like=table))
    )
    with pytest.raises(ValueError, match="the model was fitted with exposures; pass exposure="):
        model.score_samples(latens.read(files["one"], like=model))
    target = latens.read(files["fit"], columns=["height", "visits"], target="months")
    regression = latens.BayesianLinearRegression().fit(target)
    assert regression.predict(latens.read(files["one"], like=target)) == pytest.approx(regression.predict(target)[[5]])
    assert regression.predict(latens.read(files["same"], like=regression)) == pytest.approx(
        regression.predict(target)[[3, 3, 3]]
    )


@pytest.mark.parametrize("fitted_to", ["frame", "file"])
@pytest.mark.parametrize("which", ["classes", "factors of views"])
def test_levels_that_the_fit_did_not_have_stay_in_what_is_filled(
    which: str, fitted_to: str, people: Any, tmp_path: Path
) -> None:
    """By frame, by file and by the command line: models take them as missing, and observed cells are as they were."""
    import pandas as pd
    from click.testing import CliRunner

    from latens.cli.commands import main

    columns = ["height", "visits", "smokes", "town"]
    fit_rows = people[columns].assign(owns=np.arange(N) % 2)
    fit_rows.to_csv(tmp_path / "fit.csv", index=False)
    model = ESTIMATORS[which].fit(fit_rows if fitted_to == "frame" else latens.read(tmp_path / "fit.csv"))
    latens.save(model, tmp_path / "m.latens")
    new = fit_rows.iloc[:4].reset_index(drop=True)
    new = new.assign(town=["Oz", None, "A", "B"], smokes=["no", "pipe", None, "yes"], owns=[0, 1, "lent", None])
    new.to_csv(tmp_path / "new.csv", index=False)
    with pytest.warns(UnseenLevels, match="column 'town' holds 1 value.*taken as missing: 'Oz'"):
        read = latens.read(tmp_path / "new.csv", like=model)
    np.testing.assert_allclose(model.transform(read), model.transform(new))
    for out in ("whole.csv", "whole.parquet"):
        given = ["impute", str(tmp_path / "m.latens"), str(tmp_path / "new.csv"), "--out", str(tmp_path / out)]
        answer = CliRunner().invoke(main, given)
        assert answer.exit_code == 0, answer.output
    written = [pd.read_csv(tmp_path / "whole.csv"), pd.read_parquet(tmp_path / "whole.parquet")]
    by_frame = model.impute(new)[["town", "smokes", "owns"]].astype(str)
    for filled in (model.impute(read), *written):
        assert filled["town"][0] == "Oz"
        assert filled["smokes"][1] == "pipe"
        assert filled["owns"][2] == "lent"
        assert filled[["town", "smokes", "owns"]].astype(str).to_numpy().tolist() == by_frame.to_numpy().tolist()


def test_several_tables_of_one_row(people: Any) -> None:
    import pandas as pd

    names = [f"p{i}" for i in range(N)]
    sizes = people[["height", "visits"]].astype(float).set_axis(names)
    answers = pd.DataFrame({"smokes": people["smokes"].to_numpy(), "months": people["months"].to_numpy()}, index=names)
    table = latens.read({"sizes": sizes, "answers": answers})
    model = latens.MultiViewFactorAnalysis(1, prune=False, **QUICK).fit(table)
    new = latens.read({"sizes": sizes.iloc[[5]], "answers": answers.iloc[[5]]}, like=table)
    assert model.transform(new) == pytest.approx(model.transform(table)[[5]], abs=1e-5)


def test_the_command_line_keeps_the_columns_of_a_model_of_python(people: Any, tmp_path: Path) -> None:
    from click.testing import CliRunner

    from latens.cli.commands import main

    X = people[["height", "visits"]].astype(float)
    model = latens.GaussianMixture(2, **QUICK).fit(X)
    latens.save(model, tmp_path / "m.latens")
    for rows in (X.iloc[[5]], X.iloc[:3].assign(visits=2.0)):
        rows.to_csv(tmp_path / "new.csv", index=False)
        out = tmp_path / "scores.csv"
        given = ["score", str(tmp_path / "m.latens"), str(tmp_path / "new.csv"), "--out", str(out), "--force"]
        answer = CliRunner().invoke(main, given)
        assert answer.exit_code == 0, answer.output
        found = np.loadtxt(out, delimiter=",", skiprows=1, ndmin=2)[:, -1]
        assert found == pytest.approx(model.score_samples(rows))


@pytest.mark.parametrize("kind", [latens.LatentClassAnalysis, latens.MultiViewFactorAnalysis])
def test_a_level_that_is_written_as_a_mark_is_one_in_new_files(kind: type, tmp_path: Path) -> None:
    """NA for Namibia, which the type of the column of the fit declares."""
    import pandas as pd

    from tests.cli.commands import done

    rng = np.random.default_rng(0)
    label = rng.integers(3, size=150)
    country = np.array(["NA", "DE", "FR"])[label]
    frame = pd.DataFrame({"country": pd.Categorical(country), "x": 4.0 * label + rng.normal(size=150)})
    frame["y"] = rng.normal(size=150)
    model = kind(3, random_state=0, n_jobs=1).fit(frame)
    new = frame.head(30).assign(country=country[:30])
    new.to_csv(tmp_path / "new.csv", index=False)
    new.to_parquet(tmp_path / "new.parquet")
    expected = model.score_samples(frame.head(30))
    for name in ("new.csv", "new.parquet"):
        table = latens.read(tmp_path / name, like=model)
        assert table.frame["country"].tolist() == country[:30].tolist()
        np.testing.assert_allclose(model.score_samples(table), expected, rtol=1e-12)
    latens.save(model, tmp_path / "m.latens")
    done("score", tmp_path / "m.latens", tmp_path / "new.csv", "--out", tmp_path / "scores.csv")
    np.testing.assert_allclose(pd.read_csv(tmp_path / "scores.csv").iloc[:, -1], expected, rtol=1e-5)
