"""Exposures: counts of samples of which more or less was counted."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import DoubtfulScale

N, D = 250, 25
pytestmark = pytest.mark.filterwarnings("ignore")


def made(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts of two factors, exposures over two powers of ten, and the factor values."""
    rng = np.random.default_rng(seed)
    z, s = rng.normal(size=(N, 2)), np.exp(rng.uniform(-2, 2, N))
    eta = z @ rng.normal(size=(2, D)) * 0.6 + rng.uniform(-0.5, 3, D)
    return rng.poisson(s[:, None] * np.exp(eta)).astype(float), s, z


def model(kind: str = "poisson", **options: Any) -> latens.MultiViewFactorAnalysis:
    settings = {"random_state": 0, "sparse_loadings": False, **options}
    return latens.MultiViewFactorAnalysis(4, likelihoods={"rna": kind}, **settings)


def recovered(z: np.ndarray, scores: np.ndarray) -> float:
    design = np.column_stack([scores, np.ones(len(z))])
    left = z - design @ np.linalg.lstsq(design, z, rcond=None)[0]
    return float(1 - np.sum(left**2) / np.sum((z - z.mean(axis=0)) ** 2))


def test_exposures_leave_no_factor_for_the_size_of_samples() -> None:
    y, s, z = made()
    with_exposure, without = model().fit({"rna": y}, exposure=s), model().fit({"rna": y})
    assert with_exposure.n_components_ == 2
    assert recovered(z, with_exposure.scores_) > 0.9
    assert without.n_components_ > 2  # one is log s
    assert with_exposure.elbo_ > without.elbo_


def test_another_unit_of_exposure_moves_the_levels_alone() -> None:
    y, s, _ = made()
    one = model(tol=1e-7).fit({"rna": y}, exposure=s)
    two = model(tol=1e-7).fit({"rna": y}, exposure=10 * s)
    assert two.elbo_ == pytest.approx(one.elbo_, abs=0.5)  # but for the wide prior of levels
    assert two.intercepts_["rna"] == pytest.approx(one.intercepts_["rna"] - np.log(10), abs=1e-2)
    turn = np.linalg.lstsq(one.scores_, two.scores_, rcond=None)[0]
    assert turn == pytest.approx(np.eye(2), abs=2e-2)  # dense factors turn at next to no cost of the bound
    assert two.scores_ == pytest.approx(one.scores_ @ turn, abs=1e-2)


@pytest.mark.parametrize("kind", ["poisson", "negative-binomial"])
def test_the_unit_of_exposure_does_not_change_the_fit(kind: str) -> None:
    y, s, _ = made()
    one = model(kind).fit({"rna": y}, exposure=s)
    for unit in (1e-9, 1e6):
        other = model(kind).fit({"rna": y}, exposure=unit * s)
        assert other.elbo_ == pytest.approx(one.elbo_, abs=0.02)
        assert other.intercepts_["rna"] == pytest.approx(one.intercepts_["rna"] - np.log(unit), abs=1e-3)
        codes = np.zeros((1, one.n_components_))
        rates = [
            unit * other.inverse_transform(codes)["rna"],
            one.inverse_transform(codes)["rna"],
        ]  # of an exposure of 1
        assert np.log(rates[0]) == pytest.approx(np.log(rates[1]), abs=1e-3)
        assert other.score({"rna": y}, exposure=unit * s) == pytest.approx(one.score({"rna": y}, exposure=s), abs=1e-3)


def test_a_row_that_shows_nothing_is_imputed_in_proportion_to_its_exposure() -> None:
    y, s, _ = made()
    found = model(max_iter=20).fit({"rna": y, "other": made(1)[2]}, exposure={"rna": s})
    shown = {"rna": np.full((2, D), np.nan), "other": np.zeros((2, 2))}
    filled = found.impute(shown, exposure=[1.0, 2.0])["rna"]
    assert filled[1] == pytest.approx(2 * filled[0])


@pytest.mark.slow
def test_every_way_of_giving_exposures_says_the_same() -> None:
    y, s, _ = made()
    as_array = model(max_iter=5).fit({"rna": y}, exposure=s)
    by_view = model(max_iter=5).fit({"rna": y}, exposure={"rna": s})
    assert by_view.elbo_ == as_array.elbo_
    totals = model(max_iter=5).fit({"rna": y}, exposure="total")
    assert totals.elbo_ == pytest.approx(model(max_iter=5).fit({"rna": y}, exposure=y.sum(axis=1)).elbo_)
    assert as_array.score_samples({"rna": y[:5]}, exposure=s[:5]).shape == (5,)


def test_totals_beside_exposures_of_another_kind_are_doubted() -> None:
    y, s, _ = made()
    given, totals = (model(max_iter=3).fit({"rna": y}, exposure=kind) for kind in (s, "total"))
    with pytest.warns(
        DoubtfulScale, match="view 'rna' was fitted with exposures that were given.*fit with exposure='t"
    ):
        given.transform({"rna": y[:5]}, exposure="total")
    with warnings.catch_warnings():
        warnings.simplefilter("error", DoubtfulScale)
        totals.transform({"rna": y[:5]}, exposure="total")


@pytest.mark.extras
def test_a_column_of_obs_is_an_exposure() -> None:
    import anndata
    import pandas as pd

    y, s, _ = made()
    table = anndata.AnnData(y, obs=pd.DataFrame({"depth": s}, index=[f"c{i}" for i in range(N)]))
    by_name = model(max_iter=5).fit({"rna": table}, exposure="depth")
    assert by_name.elbo_ == pytest.approx(model(max_iter=5).fit({"rna": y}, exposure=s).elbo_)
    with pytest.raises(ValueError, match=r"exposure='width' is no column of \.obs; give an array"):
        model(max_iter=5).fit({"rna": table}, exposure="width")


@pytest.mark.extras
def test_a_column_of_a_data_frame_is_an_exposure() -> None:
    import pandas as pd

    y, s, _ = made()
    counts = pd.DataFrame(y[:, :6], columns=[f"visits{j}" for j in range(6)]).astype(int)
    counts.iloc[3, 0] = 0
    frame = counts.assign(years=s, length=np.arange(N) / 7, sex=np.where(np.arange(N) % 2, "f", "m"))
    kinds = {f"visits{j}": "poisson" for j in range(6)}
    by_name, by_array = (
        latens.MultiViewFactorAnalysis(2, likelihoods=kinds, random_state=0, max_iter=5).fit(table, exposure=exposure)
        for table, exposure in ((frame, "years"), (frame.drop(columns="years"), s))
    )
    assert by_name.elbo_ == pytest.approx(by_array.elbo_)
    assert "years" not in str(by_name.layout_.features)
    assert by_name.impute(frame, exposure="years").equals(frame.drop(columns="years"))
    for answer in ("transform", "score_samples"):
        got = np.asarray(getattr(by_name, answer)(frame, exposure="years"))
        assert got == pytest.approx(np.asarray(getattr(by_array, answer)(frame.drop(columns="years"), exposure=s)))
    with pytest.raises(ValueError, match="exposure='age' is no column of X; give an array, the name of a column"):
        by_name.transform(frame, exposure="age")


def test_a_model_with_exposures_refuses_samples_without_and_the_other_way_round(tmp_path: Path) -> None:
    y, s, _ = made()
    found = model(max_iter=5).fit({"rna": y}, exposure=s)
    loaded = latens.load(latens.save(found, tmp_path / "model.latens"))
    for each in (found, loaded):
        for answer in (each.transform, each.impute, each.score_samples):
            with pytest.raises(ValueError, match="view 'rna' was fitted with exposures; pass exposure="):
                answer({"rna": y[:3]})
    assert np.array_equal(*(each.transform({"rna": y[:3]}, exposure=s[:3]) for each in (found, loaded)))
    with pytest.raises(ValueError, match="the model was fitted without; leave it out"):
        model(max_iter=5).fit({"rna": y}).transform({"rna": y[:3]}, exposure=s[:3])


@pytest.mark.parametrize(
    ("exposure", "message"),
    [
        (np.zeros(N), "exposure of view 'rna' is 0 in row 0; give positive numbers"),
        (np.full(N, np.nan), "exposure of view 'rna' is nan in row 0"),
        (-np.ones(N), "exposure of view 'rna' is -1 in row 0"),
        (np.ones((N, 2)), r"has shape \(250, 2\); expected \(250,\)"),
        ({"protein": np.ones(N)}, "exposure names 'protein'; views of counts are 'rna'"),
        (["a"] * N, "exposure holds values that are no numbers"),
    ],
    ids=["zero", "missing", "negative", "shape", "view", "text"],
)
def test_exposures_that_cannot_be_are_refused(exposure: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model().fit({"rna": made()[0]}, exposure=exposure)


def test_exposures_are_for_counts() -> None:
    remedy = r"Say which holds counts, such as likelihoods=\{'rna': 'poisson'\}, or leave exposure out"
    with pytest.raises(ValueError, match=rf"exposure is for counts; no view is 'poisson' .*\. {remedy}"):
        model("gaussian").fit({"rna": made()[0]}, exposure=np.ones(N))


def test_a_stream_with_exposures_finds_what_a_fit_finds(tmp_path: Path) -> None:
    y, s, z = made(2)
    streamed = model()
    for rows in (slice(0, 60), slice(60, 220), slice(220, N)):
        streamed.partial_fit({"rna": y[rows]}, exposure=s[rows])
        if rows.stop == 60:  # samples wait, with their exposures, in files too
            latens.save(streamed, tmp_path / "waiting.latens")
            streamed = latens.load(tmp_path / "waiting.latens")
    assert streamed.layout_.exposed == ("rna",)
    assert streamed.n_components_ == 2
    assert recovered(z, streamed.transform({"rna": y}, exposure=s)) > 0.9
    with pytest.raises(ValueError, match=r"view 'rna' was fitted with exposures; pass exposure"):
        streamed.partial_fit({"rna": y[:20]})
    latens.save(streamed, tmp_path / "streamed.latens")
    again = latens.load(tmp_path / "streamed.latens").partial_fit({"rna": y[:20]}, exposure=s[:20])
    streamed.partial_fit({"rna": y[:20]}, exposure=s[:20])
    assert np.array_equal(again.components_["rna"], streamed.components_["rna"])


def test_a_stream_that_began_without_exposures_refuses_them() -> None:
    y, s, _ = made(2)
    streamed = model(max_iter=5).partial_fit({"rna": y[:60]})
    with pytest.raises(ValueError, match=r"exposure was given, but the model was fitted without"):
        streamed.partial_fit({"rna": y[60:]}, exposure=s[60:])


def test_a_stream_takes_totals_and_refuses_a_sample_of_none() -> None:
    y, _, z = made(2)
    streamed = model().partial_fit({"rna": y[:220]}, exposure="total").partial_fit({"rna": y[220:]}, exposure="total")
    assert recovered(z, streamed.transform({"rna": y}, exposure="total")) > 0.8
    y[3] = 0
    with pytest.raises(ValueError, match=r"exposure of view 'rna' is 0 in row 3; leave the sample out"):
        streamed.partial_fit({"rna": y[:10]}, exposure="total")


@pytest.mark.slow
def test_totals_do_not_depend_on_which_columns_are_missing(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    level = np.exp(rng.uniform(0, 6, D))  # a few columns hold most of what is counted
    whole = rng.poisson(np.exp(rng.normal(size=(N, 1))) * level).astype(float)
    holes = whole.copy()
    holes[: N // 2, np.argsort(-level)[:2]] = np.nan  # half of the samples lack the largest two
    truth = np.log(whole.sum(axis=1))
    found = model().fit({"rna": holes}, exposure="total")
    asked = found._read({"rna": holes}, None, None, None, "total").rows.aux["exposure of rna"]
    assert np.sqrt(np.mean((asked - truth) ** 2)) < 0.12  # 1.1 where columns are taken to be alike
    assert found.n_components_ == 0  # a factor stood for what is missing
    lacking = {"rna": np.full((1, D), np.nan)}
    loaded = latens.load(latens.save(found, tmp_path / "model.latens"))
    for each in (found, loaded):  # of a sample that shows nothing, the counts of a usual one
        filled = each.impute(lacking, exposure="total")["rna"][0]
        assert np.exp(np.mean(np.log(filled / (level * np.exp(truth.mean()) / level.sum())))) == pytest.approx(
            1, abs=0.15
        )
