"""Latent classes of counts of which more or less was looked at."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import DoubtfulScale

N = 300
KINDS = {0: "poisson", 1: "poisson", 2: "gaussian", 3: "bernoulli"}
pytestmark = pytest.mark.filterwarnings("ignore")


def made(seed: int = 0, size: float = np.inf) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two classes: counts at rates that differ, exposures over a factor of 50, a measurement, yes and no."""
    rng = np.random.default_rng(seed)
    label, s = rng.integers(0, 2, N), np.exp(rng.uniform(-2, 2, N))
    rate = np.array([[2.0, 9.0], [6.0, 3.0]])[label]
    noise = np.ones(rate.shape) if np.isinf(size) else rng.gamma(size, 1 / size, rate.shape)
    x = np.column_stack(
        [rng.poisson(s[:, None] * rate * noise), rng.normal(2.0 * label), rng.random(N) < 0.2 + 0.6 * label]
    )
    return x.astype(float), s, label


def model(kind: str = "poisson", k: int | None = None, **options: Any) -> latens.LatentClassAnalysis:
    likelihoods = {at: kind if own == "poisson" else own for at, own in KINDS.items()}
    return latens.LatentClassAnalysis(k, likelihoods=likelihoods, **{"random_state": 0, **options})


def agreement(label: np.ndarray, found: np.ndarray) -> float:
    return max(float(np.mean(label == found)), float(np.mean(label != found)))


@pytest.mark.parametrize(("kind", "size"), [("poisson", np.inf), ("negative-binomial", 3.0)])
def test_exposures_leave_no_class_for_the_size_of_rows(kind: str, size: float) -> None:
    x, s, label = made(size=size)
    found = model(kind).fit(x, exposure=s)
    assert found.n_components_ == 2
    assert agreement(label, found.predict(x, exposure=s)) > 0.9
    rates = found.means_[np.argsort(found.means_[:, 0]), :2]
    assert rates == pytest.approx(np.array([[2.0, 9.0], [6.0, 3.0]]), rel=0.3)
    without = model(kind, 8).fit(x)
    assert without.n_components_ > 2  # some are for rows of large exposure
    assert found.elbo_ > without.elbo_


def test_totals_beside_exposures_of_another_kind_are_doubted() -> None:
    x, s, _ = made()
    some = x[:, :2].sum(axis=1) > 0
    x, s = x[some], s[some]
    given, totals = (model(k=2, max_iter=3).fit(x, exposure=kind) for kind in (s, "total"))
    with pytest.warns(DoubtfulScale, match="the model was fitted with exposures that were given"):
        given.predict(x[:5], exposure="total")
    with warnings.catch_warnings():
        warnings.simplefilter("error", DoubtfulScale)
        totals.predict(x[:5], exposure="total")


@pytest.mark.parametrize("kind", ["poisson", "negative-binomial"])
def test_another_unit_of_exposure_changes_rates_alone(kind: str) -> None:
    x, s, _ = made(size=4.0)
    one, two = (model(kind, 2, tol=1e-8).fit(x, exposure=unit * s) for unit in (1.0, 1024.0))
    assert two.elbo_ == pytest.approx(one.elbo_, rel=1e-9)
    assert two.means_[:, :2] == pytest.approx(one.means_[:, :2] / 1024, rel=1e-6)
    assert two.means_[:, 2:] == pytest.approx(one.means_[:, 2:], rel=1e-6)
    assert two.transform(x, exposure=1024 * s) == pytest.approx(one.transform(x, exposure=s), abs=1e-6)


def test_exposures_of_one_are_none() -> None:
    x, _, _ = made()
    with_ones, without = model(k=3, tol=1e-8).fit(x, exposure=np.ones(N)), model(k=3, tol=1e-8).fit(x)
    assert with_ones.elbo_ == pytest.approx(without.elbo_, rel=1e-9)
    assert with_ones.score_samples(x, exposure=np.ones(N)) == pytest.approx(without.score_samples(x), rel=1e-6)


def test_rows_without_are_refused_by_every_answer_and_exposures_by_a_model_without(tmp_path: Path) -> None:
    x, s, _ = made()
    found = model(k=2).fit(x, exposure=s)
    loaded = latens.load(latens.save(found, tmp_path / "model.latens"))
    for each in (found, loaded):
        answers = [each.transform, each.predict, each.predict_proba, each.score_samples, each.score, each.impute,
                   each.impute_proba, each.bic, each.aic, each.partial_fit]  # fmt: skip
        for answer in answers:
            with pytest.raises(ValueError, match="the model was fitted with exposures; pass exposure="):
                answer(x[:3])
    for name in ("transform", "predict_proba", "score_samples", "impute", "predict"):
        ours, theirs = (getattr(each, name)(x[:3], exposure=s[:3]) for each in (found, loaded))
        assert np.array_equal(ours, theirs)
    with pytest.raises(ValueError, match="exposure was given, but the model was fitted without; leave it out"):
        model(k=2).fit(x).predict(x, exposure=s)


def test_holes_are_filled_in_proportion_to_exposures() -> None:
    x, s, _ = made()
    found = model(k=2).fit(np.where(np.random.default_rng(1).random(x.shape) < 0.1, np.nan, x), exposure=s)
    row = np.array([[np.nan, np.nan, 0.0, 0.0]] * 2)
    filled, std = found.impute(row, return_std=True, exposure=[1.0, 2.0])
    assert filled[1, :2] == pytest.approx(2 * filled[0, :2])
    assert (std[:, :2] > 0).all()
    _, quantiles, draws = found.impute(
        np.repeat(row, 200, axis=0), quantiles=[0.9], n_draws=20, exposure=np.repeat([1.0, 2.0], 200)
    )
    assert np.mean(draws, axis=0)[200:, 0].mean() == pytest.approx(filled[1, 0], rel=0.15)
    assert quantiles[0.9][200:, 0].mean() > quantiles[0.9][:200, 0].mean()
    assert found.impute_proba(row, exposure=[1.0, 2.0])["x3"].shape == (2, 2)


def test_hidden_counts_lie_in_their_intervals() -> None:
    x, s, _ = made(3, size=3.0)
    found = model("negative-binomial", 2).fit(x, exposure=s)
    y, more, _ = made(4, size=3.0)
    shown = y.copy()
    shown[:, 0] = np.nan
    _, quantiles = found.impute(shown, quantiles=(0.05, 0.95), exposure=more)
    inside = (quantiles[0.05][:, 0] <= y[:, 0]) & (y[:, 0] <= quantiles[0.95][:, 0])
    assert 0.85 <= inside.mean() <= 0.98


@pytest.mark.extras
def test_a_column_of_a_frame_is_an_exposure_and_no_feature() -> None:
    import pandas as pd
    import polars as pl

    x, s, label = made()
    by_array = latens.LatentClassAnalysis(2, random_state=0).fit(
        pd.DataFrame(x, columns=list("abcd")).assign(e=np.where(label, "u", "v")), exposure=s
    )
    frame = pd.DataFrame(x, columns=list("abcd")).assign(e=np.where(label, "u", "v"), months=s)
    for table in (frame, pl.DataFrame({name: frame[name].tolist() for name in frame.columns})):
        found = latens.LatentClassAnalysis(2, random_state=0).fit(table, exposure="months")
        assert "months" not in found.likelihoods_
        assert found.elbo_ == pytest.approx(by_array.elbo_)
        assert found.predict_proba(table, exposure="months").shape == (N, 2)
    with pytest.raises(ValueError, match="exposure='years' is no column of X; give an array, the name of a column"):
        latens.LatentClassAnalysis(2).fit(frame, exposure="years")


@pytest.mark.extras
def test_series_are_matched_by_the_names_of_rows() -> None:
    import pandas as pd

    x, s, _ = made()
    frame = pd.DataFrame(x, index=[f"r{i}" for i in range(N)])
    series = pd.Series(s, index=frame.index).sample(frac=1, random_state=0)
    assert model(k=2).fit(frame, exposure=series).elbo_ == pytest.approx(model(k=2).fit(frame, exposure=s).elbo_)


def test_totals_are_what_rows_show_of_counts() -> None:
    x, _, _ = made(2)
    x = x[(x[:, :2].sum(axis=1) > 0)]
    found = model(k=2).fit(x, exposure="total")
    assert found.elbo_ == pytest.approx(model(k=2).fit(x, exposure=x[:, :2].sum(axis=1)).elbo_)
    empty = np.array([[0.0, 0.0, 1.0, 1.0]])
    with pytest.raises(ValueError, match="exposure is 0 in row 0; leave the row out"):
        found.predict(empty, exposure="total")


@pytest.mark.parametrize(
    ("exposure", "message"),
    [
        (np.zeros(N), "exposure is 0 in row 0; give positive numbers, or leave the row out"),
        (np.full(N, np.nan), "exposure is nan in row 0"),
        (-np.ones(N), "exposure is -1 in row 0"),
        (np.ones((N, 2)), r"exposure has shape \(300, 2\); expected \(300,\), one for each row"),
        (np.ones(3), "exposure has 3 entries for 300 rows"),
        (["a"] * N, "exposure holds values that are no numbers"),
        ("months", "exposure='months' is no column of X"),
    ],
    ids=["zero", "missing", "negative", "shape", "length", "text", "name"],
)
def test_exposures_that_cannot_be_are_refused(exposure: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model(k=2).fit(made()[0], exposure=exposure)


def test_exposures_are_for_counts() -> None:
    with pytest.raises(ValueError, match=r"exposure is for counts; .* such as likelihoods=\{'x0': 'poisson'\}"):
        latens.LatentClassAnalysis(2, likelihoods="gaussian").fit(made()[0], exposure=np.ones(N))


def test_a_stream_with_exposures_finds_what_a_fit_finds(tmp_path: Path) -> None:
    x, s, label = made(5)
    streamed = model(k=4)
    for rows in (slice(0, 60), slice(60, 220), slice(220, N)):
        streamed.partial_fit(x[rows], exposure=s[rows])
        if rows.stop == 60:
            latens.save(streamed, tmp_path / "stream.latens")
            streamed = latens.load(tmp_path / "stream.latens")
    whole = model(k=4).fit(x, exposure=s)
    assert streamed.n_components_ == whole.n_components_ == 2
    assert streamed.columns_.exposure_unit > 0
    assert agreement(label, streamed.predict(x, exposure=s)) > 0.9


def test_files_that_are_scanned_name_a_column_of_exposures(tmp_path: Path) -> None:
    x, s, _ = made()
    np.save(tmp_path / "rows.npy", np.column_stack([x, s]))
    scan = latens.scan(tmp_path / "rows.npy", exposure=4, block_rows=70)
    inside, blocks = model(k=2, tol=1e-8).fit(x, exposure=s), model(k=2, tol=1e-8).fit(scan)
    assert blocks.elbo_ == pytest.approx(inside.elbo_, rel=1e-6)
    assert np.asarray(blocks.predict_proba(scan)) == pytest.approx(blocks.predict_proba(x, exposure=s))
    assert blocks.score(scan) == pytest.approx(blocks.score(x, exposure=s))
    assert model(k=2).partial_fit(scan).columns_.exposure_unit > 0
    with pytest.raises(ValueError, match=r"exposure cannot be given beside rows that are read in blocks"):
        model(k=2).fit(scan, exposure=s)
    with pytest.raises(ValueError, match="the model was fitted with exposures; pass exposure="):
        np.asarray(blocks.predict(latens.scan(tmp_path / "rows.npy", columns=range(4))))
    with pytest.raises(ValueError, match="GaussianMixture has no exposure"):
        latens.GaussianMixture(2).fit(scan)


def test_draws_weights_known_labels_and_tests_against_metadata_take_exposures() -> None:
    x, s, label = made()
    found = model(k=2).fit(x, exposure=s)
    few, many = (found.sample(300, globals="shared", exposure=each)[0][:, 0].mean() for each in (1.0, 20.0))
    assert many == pytest.approx(20 * few, rel=0.25)
    assert found.sample(3)[0].shape == (3, 4)
    assert found.inverse_transform(np.eye(2))[:, :2] == pytest.approx(found.means_[:, :2])
    twice = model(k=2, tol=1e-9).fit(x, exposure=s, sample_weight=np.full(N, 2.0))
    repeated = model(k=2, tol=1e-9).fit(np.repeat(x, 2, axis=0), exposure=np.repeat(s, 2))
    assert twice.elbo_ == pytest.approx(repeated.elbo_, rel=1e-6)
    known = np.where(np.arange(N) < 40, label, -1)
    named = model(k=2).fit(x, exposure=s, known=known)
    assert np.mean(named.predict(x, exposure=s) == label) > 0.9
    table = named.associate({"outcome": label.astype(float)}, x, exposure=s)
    assert max(table["estimate"]) > 0.9
    assert np.array_equal(model(k=2).fit_predict(x, exposure=s), found.predict(x, exposure=s))
    assert found.bic(x, exposure=s) > found.aic(x, exposure=s)


def test_rates_have_priors_in_units_of_the_data_and_intervals() -> None:
    x, s, _ = made()
    strong = model(k=1, rate_prior={0: (50.0, 1e6)}).fit(x, exposure=s)
    assert strong.means_[0, 0] == pytest.approx(50, rel=0.05)
    found = model(k=2).fit(x, exposure=s)
    table = found.intervals(x, exposure=s)
    rates = [
        (low, high)
        for name, low, high in zip(table["parameter"], table["lower"], table["upper"], strict=True)
        if name == "means"
    ]
    assert all(low < high for low, high in rates)


def test_half_samples_and_pages_take_exposures(tmp_path: Path) -> None:
    x, s, _ = made()
    found = model(k=2).fit(x, exposure=s)
    assert latens.stability(found, x, n_samples=4, exposure=s).return_rate.min() > 0.5
    page = latens.report(found, x, tmp_path / "page.html", exposure=s).read_text("utf-8")
    assert "poisson" in page
    compared = latens.compare({"a": found, "b": model(k=1).fit(x, exposure=s)}, x, exposure=s)
    assert compared.best == "a"


def test_totals_do_not_depend_on_which_columns_are_missing() -> None:
    rng = np.random.default_rng(4)
    level = np.array([2.0, 5.0, 10.0, 300.0])
    whole = rng.poisson(np.exp(rng.normal(size=(300, 1))) * level).astype(float)
    whole[:, 0] += 1  # no row of nothing
    holes = whole.copy()
    holes[:150, 3] = np.nan
    found = latens.LatentClassAnalysis(4, likelihoods="poisson", random_state=0).fit(holes, exposure="total")
    filled = np.asarray(found.impute(holes, exposure="total"))[:150, 3]
    assert found.n_components_ == 1  # two where the total of a row is taken from columns that are alike
    assert np.mean(np.log((filled + 1) / (whole[:150, 3] + 1))) == pytest.approx(0, abs=0.1)


def counted_on_looks(n_large: int) -> tuple[np.ndarray, np.ndarray]:
    """Small counts that look like some, large ones of which none is 0, a measurement; totals differ."""
    rng = np.random.default_rng(0)
    s = np.exp(rng.uniform(-0.5, 0.5, N))
    mean = np.array([1.0, 2.0, *np.full(n_large, 90.0)])
    x = rng.poisson(s[:, None] * mean).astype(float)
    x = np.column_stack([x, rng.normal(size=N)])
    counted = x[:, :2].sum(axis=1) > 0  # totals of what looks like counts
    return x[counted], s[counted]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("form", ["total", "numbers", "file"])
def test_counts_that_are_taken_as_measurements_are_named_where_exposures_do_not_reach_them(form, tmp_path) -> None:
    x, s = counted_on_looks(3)
    fit = latens.LatentClassAnalysis(2, random_state=0, max_iter=5)
    words = r"3 column\(s\) of whole numbers are taken as gaussian, .*: 'x2', 'x3', 'x4'\. If they are counts: "
    line = r"likelihoods=\{'x2': 'poisson', 'x3': 'poisson', 'x4': 'poisson'\}\.$"
    np.save(tmp_path / "rows.npy", np.column_stack([x, s]))
    rows = latens.scan(tmp_path / "rows.npy", exposure=6, block_rows=70) if form == "file" else x
    exposure = {"total": "total", "numbers": s, "file": None}[form]
    with pytest.warns(DoubtfulScale, match=words + line) as records:
        fit.fit(rows, exposure=exposure)
    assert sum(isinstance(each.message, DoubtfulScale) for each in records) == 1


def doubts(fit: latens.LatentClassAnalysis) -> list[str]:
    return [record.remedy for record in fit.warnings_ if record.code == "doubtful-scale"]


def test_counts_as_measurements_are_told_only_where_nobody_said_what_they_are() -> None:
    x, s = counted_on_looks(3)
    given = dict.fromkeys(range(2, 5), "gaussian")
    assert not doubts(latens.LatentClassAnalysis(2, likelihoods=given, max_iter=5).fit(x, exposure=s))
    assert not doubts(latens.LatentClassAnalysis(2, max_iter=5).fit(x))
    assert not doubts(latens.LatentClassAnalysis(2, max_iter=5).fit(x[:, [0, 1, 5]], exposure=s))
    many = counted_on_looks(14)[0]
    for columns, typed in ((many[:, :-1], "likelihoods='poisson'."), (many, "and so on for the others.")):
        (remedy,) = doubts(latens.LatentClassAnalysis(2, max_iter=5).fit(columns, exposure="total"))
        assert remedy.endswith(typed)
