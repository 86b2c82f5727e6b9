"""Every estimator on rows that are read in blocks: the same fit, the same answers, clear refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import CountsRows, EqualColumns, FewValues, MissingCodes, ValuesCut
from latens.estimators.regression.blocks import rows_with_target
from latens.estimators.rows.lazy import LazyRows

N = 400
Make = Callable[[], Any]


def rows(kind: str) -> np.ndarray:
    rng = np.random.default_rng(5)
    if kind == "clusters":
        return 5 * rng.normal(size=(3, 4))[rng.integers(0, 3, N)] + rng.normal(size=(N, 4))
    if kind == "binary":
        chance = np.where(rng.integers(0, 2, (N, 1)), [0.9] * 3 + [0.1] * 3, [0.1] * 3 + [0.9] * 3)
        return (rng.random((N, 6)) < chance).astype(float)
    if kind == "mixed":
        label = rng.integers(0, 2, N)
        columns = [rng.normal(4.0 * label), rng.poisson(1 + 5 * label), rng.random(N) < 0.2 + 0.6 * label]
        return np.column_stack([*columns, np.where(rng.random(N) < 0.8, label, 2) + 3]).astype(float)
    if kind == "switches":
        return rng.integers(0, 2, (N, 2)) @ rng.normal(size=(2, 5)) * 3 + 0.3 * rng.normal(size=(N, 5))
    hidden = rng.laplace(size=(N, 2)) if kind == "sources" else rng.normal(size=(N, 2))
    return hidden @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(N, 6))


CASES: dict[str, tuple[Make, str, float]] = {  # estimator, data, how far the bound may be, in nats
    "gaussian mixture": (lambda: latens.GaussianMixture(4, random_state=0), "clusters", 1e-8),
    "diagonal mixture": (lambda: latens.GaussianMixture(4, covariance_type="diag", random_state=0), "clusters", 1e-8),
    "bernoulli mixture": (lambda: latens.BernoulliMixture(3, random_state=0), "binary", 1e-8),
    "latent classes": (
        lambda: latens.LatentClassAnalysis(4, likelihoods={3: "categorical"}, random_state=0),
        "mixed",
        1e-8,
    ),
    "binary, exact": (lambda: latens.BinaryFactorAnalysis(3, e_step="exact", random_state=0), "switches", 1e-8),
    "binary, mean field": (
        lambda: latens.BinaryFactorAnalysis(3, e_step="mean-field", random_state=0),
        "switches",
        1e-3 * N,
    ),
    "noisy-or": (lambda: latens.NoisyOr(3, random_state=0), "binary", 1e-3 * N),
    "noisy ica": (lambda: latens.NoisyICA(2, random_state=0), "sources", 1e-3 * N),
    "factor analysis": (lambda: latens.FactorAnalysis(2, random_state=0), "factors", 1e-8),
    "relevant factors": (lambda: latens.FactorAnalysis(4, prior="ard", random_state=0), "factors", 1e-8),
    "views": (lambda: latens.MultiViewFactorAnalysis(4, random_state=0), "factors", 1e-6),
}
NO_HOLES = {"binary, mean field", "noisy ica"}  # slow to converge where entries are missing; the others cover the path


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
def test_blocks_are_fitted_as_rows_in_memory_are(name: str, holes: bool) -> None:
    make, kind, tolerance = CASES[name]
    x = rows(kind)
    if holes and name in NO_HOLES:
        x[:5] = np.nan  # rows that show nothing are as if they were not there
    elif holes:
        x[np.random.default_rng(1).random(x.shape) < 0.03] = np.nan
    memory, blocks = make().fit(x), make().fit(latens.scan(x, block_rows=97))
    assert blocks.n_components_ == memory.n_components_
    assert blocks.elbo_ >= memory.elbo_ - tolerance
    assert abs(blocks.elbo_ - memory.elbo_) < max(1.0, 10 * tolerance)
    answers = blocks.transform(latens.scan(x, block_rows=150))
    assert isinstance(answers, LazyRows)
    np.testing.assert_allclose(np.asarray(answers), blocks.transform(x), rtol=0, atol=1e-12)
    assert blocks.score(latens.scan(x, block_rows=33)) == pytest.approx(blocks.score(x), rel=1e-12)


def test_without_a_tolerance_every_iteration_is_made() -> None:
    """Rounding makes the bound of rows that have settled fall by a hair, which is no end."""
    x = rows("clusters")[:200]
    options: dict[str, Any] = {"n_init": 1, "moves": False, "tol": 0, "max_iter": 60, "random_state": 0}
    assert latens.GaussianMixture(3, **options).fit(x).n_iter_ == 60
    sizes = [97, 89, 83, 79, 73, 71, 67, 61, 59, 53]  # of blocks, whose sums are rounded differently by each processor
    fits = [latens.GaussianMixture(3, **options).fit(latens.scan(x, block_rows=size)) for size in sizes]
    assert min(np.diff(fit.elbo_history_).min() for fit in fits) < 0  # else this could not fail
    assert [fit.n_iter_ for fit in fits] == [60] * len(sizes)


def test_weights_are_a_column_of_the_scan() -> None:
    x, weight = rows("clusters"), np.random.default_rng(0).integers(0, 3, N).astype(float)
    given = latens.GaussianMixture(4, random_state=0).fit(x, sample_weight=weight)
    scan = latens.scan(np.column_stack([x, weight]), weights=4, block_rows=64)
    assert latens.GaussianMixture(4, random_state=0).fit(scan).elbo_ == pytest.approx(given.elbo_, rel=1e-12)
    with pytest.raises(ValueError, match=r"name the column: latens\.scan\(weights=\.\.\.\)"):
        latens.GaussianMixture(4).fit(scan, sample_weight=weight)


def test_batches_of_a_stream_are_the_blocks_of_a_scan() -> None:
    x = rows("factors")
    one = latens.FactorAnalysis(2, random_state=0).partial_fit(latens.scan(x, block_rows=100))
    assert one.elbo_ == pytest.approx(latens.FactorAnalysis(2, random_state=0).fit(x).elbo_, rel=1e-10)


def test_clusters_of_a_scan_are_predicted_block_by_block() -> None:
    x = rows("clusters")
    model = latens.GaussianMixture(4, random_state=0).fit(x)
    scan = latens.scan(x, block_rows=90)
    np.testing.assert_array_equal(np.asarray(model.predict(scan)), model.predict(x))
    np.testing.assert_array_equal(np.asarray(model.predict_proba(scan)), model.predict_proba(x))


@pytest.mark.parametrize("ask", ["transform", "impute", "predict"])
def test_means_and_deviations_of_a_scan_are_two_answers_as_of_rows_in_memory(ask: str) -> None:
    """Two blocks, so that blocks could be taken for means and deviations."""
    x = rows("factors")
    if ask == "predict":
        model: Any = latens.BayesianLinearRegression().fit(x[:, 1:], x[:, 0])
        x = x[:, 1:]
    else:
        model = latens.FactorAnalysis(2, random_state=0).fit(x)
        x = np.where(np.arange(x.size).reshape(x.shape) % 17 == 0, np.nan, x)
    scan = latens.scan(x, block_rows=-(-len(x) // 2))
    assert scan.n_blocks == 2
    answers = getattr(model, ask)(scan, return_std=True)
    for lazy, expected in zip(answers, getattr(model, ask)(x, return_std=True), strict=True):
        np.testing.assert_allclose(np.asarray(lazy), expected, rtol=0, atol=1e-12)


def test_what_a_method_does_not_take_is_refused_before_blocks_are_read() -> None:
    x = rows("factors")
    model, scan = latens.FactorAnalysis(2, random_state=0).fit(x), latens.scan(x, block_rows=90)
    with pytest.raises(TypeError, match=r"FactorAnalysis.transform\(\) got an unexpected keyword argument 'nonsense'"):
        model.transform(scan, nonsense=3)
    with pytest.raises(ValueError, match="return_cov=True is answered for rows in memory"):
        model.transform(scan, return_cov=True)


def test_kinds_and_levels_of_columns_are_found_in_all_blocks() -> None:
    x = rows("mixed")
    x[:, 3] = np.where(np.arange(N) < 390, np.minimum(x[:, 3], 4), x[:, 3])  # a level that only the last block shows
    x[390, 3] = 5.0
    scan = latens.scan(x, block_rows=97)
    memory, blocks = (
        latens.LatentClassAnalysis(3, likelihoods={3: "categorical"}, random_state=0).fit(data) for data in (x, scan)
    )
    assert blocks.likelihoods_ == memory.likelihoods_
    assert blocks.likelihoods_ == {"x0": "gaussian", "x1": "poisson", "x2": "bernoulli", "x3": "categorical"}
    assert blocks.columns_.levels == memory.columns_.levels == ((), (), (), (3.0, 4.0, 5.0))
    np.testing.assert_array_equal(np.asarray(blocks.predict(scan)), blocks.predict(x))
    assert blocks.entropy_ == pytest.approx(memory.entropy_, rel=1e-9)
    with pytest.raises(ValueError, match=r"known= goes with rows in memory"):
        latens.LatentClassAnalysis(3).fit(scan, known=np.zeros(N))
    with pytest.raises(ValueError, match=r"column 'x1' is to be bernoulli but holds"):
        latens.LatentClassAnalysis(3, likelihoods={1: "bernoulli"}).fit(scan)


def test_views_of_several_scans() -> None:
    x = rows("factors")
    memory = latens.MultiViewFactorAnalysis(4, random_state=0).fit({"a": x[:, :4], "b": x[:, 4:]})
    scans = {"a": latens.scan(x[:, :4], block_rows=80), "b": latens.scan(x[:, 4:], block_rows=80)}
    blocks = latens.MultiViewFactorAnalysis(4, random_state=0).fit(scans)
    assert blocks.elbo_ == pytest.approx(memory.elbo_, rel=1e-9)
    codes = np.asarray(blocks.transform(scans))
    np.testing.assert_allclose(codes, blocks.transform({"a": x[:, :4], "b": x[:, 4:]}), atol=1e-12)
    for part in fields(memory.deviances_):
        answer = [getattr(model.deviances_, part.name) for model in (memory, blocks)]
        np.testing.assert_allclose(*(np.asarray(value, dtype=float) for value in answer), rtol=1e-8)
    with pytest.raises(ValueError, match=r"have 5, 2 blocks; cut them alike"):
        latens.MultiViewFactorAnalysis(2).fit({"a": scans["a"], "b": latens.scan(x[:, 4:], block_rows=200)})
    with pytest.raises(ValueError, match=r"different numbers of rows by view \(a 80, b 70\)"):
        latens.MultiViewFactorAnalysis(2).fit({"a": scans["a"], "b": latens.scan(x[:350, 4:], block_rows=70)})
    with pytest.raises(TypeError, match="view 'b' is in memory"):
        latens.MultiViewFactorAnalysis(2).fit({"a": scans["a"], "b": x[:, 4:]})


def counts_of_groups() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts (n, 6) of two groups with a level of their own, and how much of each sample was counted."""
    rng = np.random.default_rng(8)
    group, exposure = rng.integers(0, 2, N), rng.uniform(0.5, 20.0, N)
    eta = rng.normal(size=(N, 1)) @ (0.5 * rng.normal(size=(1, 6))) + group[:, None] * rng.normal(size=6)
    return rng.poisson(exposure[:, None] * np.exp(eta)).astype(float), group + 7.0, exposure


def test_groups_and_exposures_are_columns_of_the_scan() -> None:
    x, group, exposure = counts_of_groups()
    few = {"likelihoods": {"x": "poisson"}, "random_state": 0, "moves": False, "max_iter": 20, "tol": 0}
    memory = latens.MultiViewFactorAnalysis(2, **few).fit(x, groups=group, exposure=exposure)
    scan = latens.scan(np.column_stack([x, group, exposure]), groups=6, exposure=7, block_rows=130)
    blocks = latens.MultiViewFactorAnalysis(2, **few, row_posteriors="keep").fit(scan)
    assert blocks.layout_.exposed == memory.layout_.exposed == ("x",)
    assert blocks.layout_.groups == ("7", "8")
    assert blocks.elbo_ == pytest.approx(memory.elbo_, rel=1e-8)
    scores = blocks.transform(x, groups=group, exposure=exposure)
    np.testing.assert_allclose(np.asarray(blocks.transform(scan)), scores, atol=2e-6)
    assert blocks.score(scan) == pytest.approx(blocks.score(x, groups=group, exposure=exposure), rel=1e-6)
    with pytest.raises(ValueError, match=r"groups cannot be given beside a scan; name a column"):
        blocks.transform(scan, groups=group)
    with pytest.raises(ValueError, match=r"exposure cannot be given beside views that are read in blocks"):
        latens.MultiViewFactorAnalysis(2, **few).fit(scan, exposure=exposure)


def test_groups_and_exposures_of_several_views_and_of_batches() -> None:
    x, group, exposure = counts_of_groups()
    few = {"likelihoods": {"a": "poisson", "b": "poisson"}, "random_state": 0, "moves": False, "max_iter": 9, "tol": 0}
    views = {"a": x[:, :4], "b": x[:, 4:]}
    memory = latens.MultiViewFactorAnalysis(2, **few).fit(views, groups=group, exposure={"b": exposure})
    scans = {
        "a": latens.scan(np.column_stack([views["a"], group]), groups=4, block_rows=130),
        "b": latens.scan(np.column_stack([views["b"], exposure]), exposure=2, block_rows=130),
    }
    blocks = latens.MultiViewFactorAnalysis(2, **few, row_posteriors="keep").fit(scans)
    assert blocks.elbo_ == pytest.approx(memory.elbo_, rel=1e-8)
    scores = blocks.transform(views, groups=group, exposure={"b": exposure})
    np.testing.assert_allclose(np.asarray(blocks.transform(scans)), scores, atol=2e-6)
    stream = latens.MultiViewFactorAnalysis(2, **few).partial_fit(scans)
    by_hand = latens.MultiViewFactorAnalysis(2, **few)
    for at in range(0, N, 130):
        part = slice(at, at + 130)
        batch = {name: view[part] for name, view in views.items()}
        by_hand.partial_fit(batch, groups=group[part], exposure={"b": exposure[part]})
    assert stream.elbo_ == by_hand.elbo_
    assert stream.layout_.groups == ("7", "8")


def test_groups_and_exposures_that_cannot_be_used_are_refused() -> None:
    x, group, exposure = counts_of_groups()
    lost = np.where(np.arange(N) == 300, np.nan, group)
    with pytest.raises(ValueError, match=r"1 row\(s\) have no group in the column 6"):
        latens.MultiViewFactorAnalysis(2).fit(latens.scan(np.column_stack([x, lost]), groups=6, block_rows=130))
    exposure[300] = -1.0
    scan = latens.scan(np.column_stack([x, exposure]), exposure=6, block_rows=130)
    with pytest.raises(ValueError, match=r"exposure of view 'x' is -1 in row 40; each row of the column needs"):
        latens.MultiViewFactorAnalysis(2, likelihoods={"x": "poisson"}).fit(scan)
    exposure[300] = 1.0
    scan = latens.scan(np.column_stack([x, exposure]), exposure=6, block_rows=130)
    with pytest.raises(ValueError, match=r"exposure is for counts; view 'x' is gaussian"):
        latens.MultiViewFactorAnalysis(2, likelihoods={"x": "gaussian"}).fit(scan)
    with pytest.raises(ValueError, match=r"GaussianMixture has no exposure; leave exposure=6 out of latens.scan"):
        latens.GaussianMixture(2).fit(scan)


def test_values_that_are_not_binary_are_counted_and_cut() -> None:
    x = rows("binary")
    x[3, 2] = 7.0
    with pytest.warns(ValuesCut, match=r"1 value\(s\) of X were not 0 or 1"):
        cut = latens.BernoulliMixture(2, random_state=0).fit(latens.scan(x, block_rows=100))
    x[3, 2] = 1.0
    assert cut.elbo_ == pytest.approx(latens.BernoulliMixture(2, random_state=0).fit(x).elbo_, rel=1e-12)
    x[3, 2] = 7.0
    with pytest.raises(ValueError, match="binarize=None takes only 0, 1"):
        latens.BernoulliMixture(2, binarize=None).fit(latens.scan(x, block_rows=100))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda x: x.__setitem__((7, 1), np.inf), "infinity in 1 entries"),
        (lambda x: x.__setitem__(slice(1, None), np.nan), r"values in 1 row\(s\); a fit needs at least 2"),
    ],
)
def test_bad_rows_are_refused_before_the_fit(spoil: Callable[[np.ndarray], None], words: str) -> None:
    x = rows("clusters")
    spoil(x)
    for model in (latens.GaussianMixture(2), latens.MultiViewFactorAnalysis(2)):
        with pytest.raises(ValueError, match=words):
            model.fit(latens.scan(x, block_rows=50))
        assert not hasattr(model, "posterior_")


def test_other_columns_than_those_of_the_fit_are_refused() -> None:
    x = rows("clusters")
    model = latens.GaussianMixture(2, random_state=0).fit(x)
    with pytest.raises(ValueError, match="X has 3 features, but GaussianMixture is expecting 4"):
        model.transform(latens.scan(x[:, :3]))


def test_columns_keep_their_names() -> None:
    x = rows("clusters")

    class Units:
        columns = ("a", "b", "c", "d")

        def __init__(self, values: np.ndarray) -> None:
            self.values = values

        def to_numpy(self) -> np.ndarray:
            return self.values

    model = latens.GaussianMixture(2, random_state=0)
    model.fit(latens.scan(lambda: (Units(part) for part in np.array_split(x, 3))))
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]


class TestRegression:
    def table(self) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(2)
        x = rng.normal(size=(N, 3)) * [1, 1e3, 1e-3] + [0, 1e5, 2]
        return x, x @ [2.0, 1e-3, 500.0] + rng.normal(size=N)

    @pytest.mark.parametrize("fit_intercept", [True, False])
    def test_a_target_in_the_scan(self, fit_intercept: bool) -> None:
        x, y = self.table()
        weight = np.random.default_rng(0).integers(1, 4, N).astype(float)
        scan = latens.scan(np.column_stack([x, y, weight]), target=3, weights=4, block_rows=77)
        make = latens.BayesianLinearRegression
        blocks = make(fit_intercept=fit_intercept).fit(scan)
        memory = make(fit_intercept=fit_intercept).fit(x, y, sample_weight=weight)
        np.testing.assert_allclose(blocks.coef_, memory.coef_, rtol=1e-9)
        np.testing.assert_allclose(blocks.coef_std_, memory.coef_std_, rtol=1e-9)
        assert blocks.elbo_ == pytest.approx(memory.elbo_, rel=1e-9)  # columns far from 0 without an intercept
        np.testing.assert_allclose(np.asarray(blocks.predict(latens.scan(x, block_rows=50))), blocks.predict(x))

    def test_the_target_travels_beside_the_measurements(self) -> None:
        x, y = self.table()
        source = rows_with_target(latens.scan(np.column_stack([x[:, :2], y, x[:, 2:]]), target=2, block_rows=100))
        first = source.load(source.handles[0])
        np.testing.assert_array_equal(first.x, x[:100])
        np.testing.assert_array_equal(first.aux["target"], y[:100])

    def test_a_missing_target_is_refused(self) -> None:
        x, y = self.table()
        y[[5, 200]] = np.nan
        with pytest.raises(ValueError, match="hold 2 missing and 0 infinite entries"):
            latens.BayesianLinearRegression().fit(latens.scan(np.column_stack([x, y]), target=3, block_rows=100))

    @pytest.mark.extras
    def test_a_target_keeps_its_digits_beside_columns_of_single_precision(self, tmp_path: Path) -> None:
        import pandas

        (x, y), path = self.table(), tmp_path / "rows.parquet"
        frame = pandas.DataFrame(x.astype(np.float32), columns=list("abc")).assign(y=y + 1e6)
        frame.to_parquet(path)
        blocks = latens.BayesianLinearRegression().fit(latens.scan(path, target="y"))
        memory = latens.BayesianLinearRegression().fit(x.astype(np.float32).astype(float), y + 1e6)
        np.testing.assert_allclose(blocks.coef_, memory.coef_, rtol=1e-9)

    @pytest.mark.extras
    def test_a_target_of_text_is_refused_by_its_name(self, tmp_path: Path) -> None:
        (tmp_path / "rows.csv").write_text("a,b,y\n1,2,low\n2,1,high\n3,5,low\n")
        with pytest.raises(ValueError, match=r"column 'y' of the scan holds .* not numbers"):
            latens.BayesianLinearRegression().fit(latens.scan(tmp_path / "rows.csv", target="y"))

    def test_what_a_scan_of_a_regression_needs(self) -> None:
        x, y = self.table()
        with pytest.raises(ValueError, match="a scan names its own target and weights"):
            latens.BayesianLinearRegression().fit(latens.scan(x))
        with pytest.raises(ValueError, match="a scan names its own target and weights"):
            latens.BayesianLinearRegression().fit(latens.scan(x, target=2), y)
        x[3, 1] = np.nan
        with pytest.raises(ValueError, match="hold 1 missing and 0 infinite entries"):
            latens.BayesianLinearRegression().fit(latens.scan(x, target=2))


def test_a_regression_is_scored_by_the_targets_of_a_scan(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(60, 3)), rng.integers(1, 4, 60)
    y = x @ [1.0, 2.0, 0.0] + rng.normal(size=60)
    np.save(tmp_path / "rows.npy", np.column_stack([x, y, weight]))
    scan = latens.scan(tmp_path / "rows.npy", columns=[0, 1, 2], target=3, weights=4, block_rows=25)
    model = latens.BayesianLinearRegression().fit(scan)
    assert model.score(scan) == pytest.approx(model.score(x, y, sample_weight=weight))
    plain = latens.scan(tmp_path / "rows.npy", columns=[0, 1, 2], target=3, block_rows=25)
    assert model.score(plain) == pytest.approx(model.score(x, y))
    with pytest.raises(ValueError, match="target=name"):
        model.score(latens.scan(tmp_path / "rows.npy", columns=[0, 1, 2]))


class TestDoubtsAboutColumns:
    """What a table in memory is warned about is told of a scan, too."""

    def scanned(self, tmp_path: Path, *columns: np.ndarray) -> Any:
        x = np.random.default_rng(0).normal(size=(300, 3))
        np.save(tmp_path / "rows.npy", np.column_stack([x, *columns]))
        return latens.scan(tmp_path / "rows.npy", block_rows=70)

    @pytest.mark.parametrize(
        ("column", "warning", "words"),
        [
            (np.arange(300) * 2.0, CountsRows, r"'x3' number the rows.*row_names='x3'"),
            (np.arange(300) % 3, FewValues, "'x3' has only 3 distinct values"),
            (np.where(np.arange(300) % 10, np.random.default_rng(1).normal(size=300), -999), MissingCodes, "-999 30"),
            (3 * np.random.default_rng(0).normal(size=(300, 3))[:, 1] + 1, EqualColumns, "columns=.* without 'x3'"),
        ],
    )
    def test_they_are_told(self, tmp_path: Path, column: np.ndarray, warning: type[Warning], words: str) -> None:
        with pytest.warns(warning, match=words):
            latens.GaussianMixture(2, random_state=0).fit(self.scanned(tmp_path, column))

    def test_measurements_bring_none(self, tmp_path: Path) -> None:
        whole = np.random.default_rng(2).integers(0, 300, 300)
        model = latens.FactorAnalysis(1).fit(self.scanned(tmp_path, whole))
        assert not {w.code for w in model.warnings_} & {"counts-rows", "few-values", "missing-codes", "equal-columns"}
