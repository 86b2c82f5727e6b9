"""Clusters and classes against what is known about the rows, corrected for rows assigned to the wrong one."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine

import latens
from latens.errors import DirectEffects, UnusedColumns
from latens.estimators.class_association import Assigned, covariates_table, outcomes_table
from latens.estimators.intervals.error_rates import ErrorRates, rates_of

MEANS, SLOPE = np.array([0.0, 3.0]), 1.2
N = 4000


@cache
def people() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, latens.LatentClassAnalysis]:
    """Six yes/no items of two classes that overlap, an outcome, a covariate, the classes, and a fit."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=N)
    label = (rng.random(N) < 1 / (1 + np.exp(-SLOPE * x))).astype(int)
    items = (rng.random((N, 6)) < np.where(label == 1, 0.75, 0.3)[:, None]).astype(float)
    model = latens.LatentClassAnalysis(2, prune=False, n_init=1, random_state=0, n_jobs=1).fit(items)
    return items, MEANS[label] + rng.normal(size=N), x, label, model


def test_known_errors_are_divided_out_exactly() -> None:
    # ten rows of a, ten of b; one in five of each is assigned to the other, and outcomes follow the true class
    share = np.array([[0.8, 0.2]] * 10 + [[0.2, 0.8]] * 10)
    y = np.array([1.0] * 8 + [5.0] * 2 + [1.0] * 2 + [5.0] * 8)
    assigned = Assigned(share, ("a", "b"))
    assert assigned.errors == pytest.approx(np.array([[0.8, 0.2], [0.2, 0.8]]))
    assert assigned.weights.sum(axis=1) == pytest.approx(1)
    table = outcomes_table(assigned, {"y": y + 1e-3 * np.tile([1, -1], 10)}, None, 0.95)
    assert table["estimate"] == pytest.approx([1.0, 5.0], abs=1e-6)
    assert table["uncorrected"] == pytest.approx([1.8, 4.2], abs=1e-6)


def test_outcomes_by_class_hold_the_truth_where_assignments_do_not() -> None:
    items, y, _, _, model = people()
    table = model.associate({"y": y, "site": np.where(y > 1, "north", "south")}, items)
    assert table.columns == (
        "column", "of", "cluster", "estimate", "low", "high", "uncorrected", "p", "adjusted p", "n",
    )  # fmt: skip
    order = np.argsort(model.means_.sum(axis=1))
    by_name = {(row[0], row[1], row[2]): row[3:] for row in table.rows}
    for truth, k in zip(MEANS, order, strict=True):
        estimate, low, high, uncorrected, p, _, n = by_name["y", "mean", f"class{k}"]
        assert low < truth < high
        assert abs(estimate - truth) < 0.12 < abs(uncorrected - truth)
        assert p < 1e-6
        assert n == N
        shares = [by_name["site", level, f"class{k}"][0] for level in ("north", "south")]
        assert sum(shares) == pytest.approx(1)
    noise = model.associate({"noise": np.random.default_rng(0).normal(size=N)}, items)
    assert noise["p"][0] > 0.01


def test_shares_lie_between_0_and_1() -> None:
    table = outcomes_table(Assigned(np.eye(2)[[0] * 3 + [1] * 3], ("a", "b")), {"site": [*"nnsssn"]}, None, 0.95)
    assert table["estimate"] == pytest.approx([2 / 3, 1 / 3, 1 / 3, 2 / 3])
    assert (min(table["low"]), max(table["high"])) == (0, 1)


def test_membership_is_regressed_on_covariates() -> None:
    items, _, x, _, model = people()
    sign = 1 if model.means_.sum(axis=1).argmax() == 1 else -1
    table = model.associate({"x": x, "noise": np.random.default_rng(1).normal(size=N)}, items, role="covariates")
    assert table["covariate"] == ["(intercept)", "x", "noise"]
    assert np.isnan(table["adjusted p"]).tolist() == [True, False, False]  # nothing is asked of an intercept
    at = table["covariate"].index("x")
    assert table["low"][at] < sign * SLOPE < table["high"][at]
    assert table["odds ratio"][at] == pytest.approx(np.exp(table["log odds"][at]))
    assert table["low"][2] < 0 < table["high"][2]
    sure = Assigned(np.eye(2)[np.asarray(model.predict(items))], ("class0", "class1"))
    naive = covariates_table(sure, {"x": x}, None, 0.95)
    assert abs(naive["log odds"][1]) < 0.85 * SLOPE  # rows assigned to the wrong class pull it towards 0


def test_without_errors_the_regression_is_the_usual_one() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    x, site = rng.normal(size=300), rng.choice(["a", "b", "c"], 300)
    label = np.array([rng.choice(3, p=p) for p in np.exp(np.outer(x, [0, 1, -1])) /
                      np.exp(np.outer(x, [0, 1, -1])).sum(axis=1, keepdims=True)])  # fmt: skip
    table = covariates_table(Assigned(np.eye(3)[label], ("k0", "k1", "k2")), {"x": 100 * x, "site": site}, None, 0.95)
    assert table["covariate"][:4] == ["(intercept)", "x", "site = b", "site = c"]
    design = np.column_stack([x, site == "b", site == "c"])
    usual = LogisticRegression(C=1e10, tol=1e-10, max_iter=2000).fit(design, label)
    expected = usual.coef_[1:] - usual.coef_[:1]
    assert np.array(table["log odds"]).reshape(2, 4)[:, 1:] * [100, 1, 1] == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize(
    ("make", "rows"),
    [
        (lambda: latens.GaussianMixture(2, n_init=1, random_state=0), "real"),
        (lambda: latens.FactorAnalysis(1), "real"),
        (lambda: latens.BernoulliMixture(2, n_init=1, random_state=0), "binary"),
    ],
)
def test_other_estimators_are_asked_about_rows(make: Any, rows: str) -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=120)
    X = rng.normal(size=(120, 4)) + 4 * label[:, None]
    X = (X > 2).astype(float) if rows == "binary" else X
    model = make().fit(X)
    table = model.associate({"label": np.where(label, "yes", "no"), "noise": rng.normal(size=120)}, X)
    found = dict(zip(table["column"], table["adjusted p"], strict=True))
    assert found["label"] < 1e-6
    assert found["noise"] > 0.01
    with pytest.raises(ValueError, match=r"model\.associate\(metadata, X\)"):
        model.associate({"label": label})


def test_names_and_columns_that_nobody_filled_in_are_told_and_left_out() -> None:
    items, y, x, _, model = people()
    names, nothing = [f"p{i}" for i in range(len(y))], [None] * len(y)
    for role, known in (("outcomes", {"y": y}), ("covariates", {"x": x})):
        with pytest.warns(
            UnusedColumns, match=r"2 column\(s\) of metadata are not used: name \(4,000 levels.*notes \(no"
        ):
            table = model.associate({"name": names, **known, "notes": nothing}, items, role=role)
        assert str(table) == str(model.associate(known, items, role=role))


def test_what_cannot_be_compared_is_refused() -> None:
    items, y, _, _, model = people()
    with pytest.raises(ValueError, match="role='both' is not known"):
        model.associate({"y": y}, items, role="both")
    with pytest.raises(ValueError, match=r"no column of metadata can be used: .*4,000 levels; at most 50"):
        model.associate({"name": [f"p{i}" for i in range(N)]}, items)
    with pytest.raises(ValueError, match="no columns"):
        model.associate({}, items)
    with pytest.raises(ValueError, match="do not distinguish the 2 clusters"):
        Assigned(np.full((10, 2), 0.5), ("a", "b"))
    with pytest.raises(ValueError, match="no value in any row"):
        model.associate({"y": [None] * N}, items)


def test_error_rates_move_with_each_row_as_a_fit_does_in_which_it_counts_more() -> None:
    items, more = people()[0][:300], 0.5
    model = latens.LatentClassAnalysis(2, prune=False, n_init=1, random_state=0, n_jobs=1, tol=1e-11, max_iter=5000)
    share = np.asarray(model.fit(items).predict_proba(items))
    estimated, labels = model._error_rates(model._rows_in_memory(items, {}), share), share.argmax(axis=1)
    assert estimated is not None
    assert not len(estimated.others)
    for n in (0, 7, 50):
        moved = []
        for sign in (1, -1):
            weight = np.ones(len(items))
            weight[n] += sign * more
            other = model.__class__(**model.get_params()).fit(items, sample_weight=weight)
            own = np.asarray(other.predict_proba(items))
            if np.abs(own - share).max() > 0.5:  # the same classes under other numbers
                own = own[:, ::-1]
            moved.append(rates_of(weight[:, None] * own, labels))
        slope = (moved[0] - moved[1]) / (2 * more)
        assert estimated.by_row[n] == pytest.approx(slope, rel=0.1, abs=2e-5)


def test_error_rates_are_those_of_rows_that_the_fit_has_not_seen() -> None:
    rng, gaps = np.random.default_rng(0), []
    for _ in range(12):
        label = rng.integers(2, size=80)
        items = (rng.random((80, 6)) < np.where(label == 1, 0.75, 0.25)[:, None]).astype(float)
        model = latens.LatentClassAnalysis(2, prune=False, n_init=1, random_state=0, n_jobs=1).fit(items)
        share = np.asarray(model.predict_proba(items))
        order, assigned = np.argsort(model.means_.sum(axis=1)), share.argmax(axis=1)
        estimated = model._error_rates(model._rows_in_memory(items, {}), share)
        assert estimated is not None
        true = rates_of(np.eye(2)[label], np.argsort(order)[assigned])
        gaps.append([np.trace(each[order][:, order] - true) for each in (rates_of(share, assigned), estimated.rates)])
    hopeful, fair = np.mean(gaps, axis=0)
    assert hopeful > 0.08  # clusters suit the rows they were fitted to
    assert abs(fair) < 0.5 * hopeful


def _estimates(share: np.ndarray, y: np.ndarray, role: str, estimated: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Estimates and their variances."""
    make, name = (outcomes_table, "estimate") if role == "outcomes" else (covariates_table, "log odds")
    table = make(Assigned(share, ("a", "b"), estimated), {"y": y}, None, 0.95)
    return np.array(table[name]), ((np.array(table["high"]) - np.array(table["low"])) / 2 / 1.959964) ** 2


@pytest.mark.parametrize("role", ["outcomes", "covariates"])
def test_errors_of_rates_widen_intervals_by_what_they_move_estimates(role: str) -> None:
    rng, step = np.random.default_rng(0), 1e-4
    label = rng.integers(2, size=400)
    y = label + rng.normal(size=400)

    def share(shift: float) -> np.ndarray:
        """Memberships whose error rates are .8 and .2, the first cluster's moved by `shift`."""
        sure = np.where(label == 0, 0.8, 0.2)
        base = np.column_stack([sure, 1 - sure])
        move = np.array([1.0, -1.0])[label] / np.bincount(label)[label]  # keeps the sum over all rows
        base[:, 0] += shift * base[:, 0].sum() * move
        return base

    up, at, down = (Assigned(share(shift), ("a", "b")).errors for shift in (step, 0.0, -step))
    towards = (up - down) / (2 * step)
    slope = (_estimates(share(step), y, role)[0] - _estimates(share(-step), y, role)[0]) / (2 * step)
    assert at[0, 0] + towards[0, 0] > at[0, 0]
    part, none = 0.05 * towards, np.zeros((400, 2, 2))
    narrow, wide = (
        _estimates(share(0.0), y, role, estimated)[1] for estimated in (None, ErrorRates(at, none, part[None]))
    )
    assert wide - narrow == pytest.approx((0.05 * slope) ** 2, rel=1e-3)
    # of the rows themselves, it goes with their own outcome
    by_row = none.copy()
    by_row[0] = part
    together = _estimates(share(0.0), y, role, ErrorRates(at, by_row, none[:0]))[1]
    assert not np.allclose(together, wide)
    assert np.all(together < 2 * (narrow + (0.05 * slope) ** 2))


def test_rows_that_the_fit_has_not_seen_and_large_posteriors_are_told() -> None:
    items, y, _, _, model = people()
    of_fit = model.associate({"y": y}, items)
    other = model.associate({"y": y[: N // 2]}, items[: N // 2])
    assert of_fit.note == other.note == "intervals and p count that the clusters are estimated"
    known = outcomes_table(Assigned(np.asarray(model.predict_proba(items)), ("class0", "class1")), {"y": y}, None, 0.95)
    assert known.note == "intervals and p take the clusters as known"
    assert known["estimate"] == pytest.approx(of_fit["estimate"], abs=0.05)
    for of, low, high in zip(known["cluster"], known["low"], known["high"], strict=True):
        at = of_fit["cluster"].index(of)
        assert 1.1 < (of_fit["high"][at] - of_fit["low"][at]) / (high - low) < 3
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(80, 30)) + 4 * rng.integers(2, size=80)[:, None]
    large = latens.GaussianMixture(2, n_init=1, random_state=0, prune=False).fit(wide)
    assert "as known" in large.associate({"y": rng.normal(size=80)}, wide).note


def test_labels_that_have_nothing_to_do_with_clusters_are_seldom_found_though_clusters_lack_them() -> None:
    X = load_wine().data
    model = latens.GaussianMixture(random_state=0).fit(X)
    rng = np.random.default_rng(0)
    noise = {f"c{i}": np.where(rng.random(len(X)) < 0.2, "yes", "no") for i in range(100)}
    table = model.associate(noise, X)
    at = {name: i for i, name in enumerate(table.columns)}
    p = {row[at["column"]]: row[at["p"]] for row in table.rows}
    assert np.mean([each < 0.05 for each in p.values()]) < 0.12  # two standard errors; 76 % below .001 before
    yes = [row for row in table.rows if row[at["of"]] == "yes"]
    low, high, shown = (np.array([row[at[name]] for row in yes]) for name in ("low", "high", "estimate"))
    assert np.mean((low <= 0.2) & (high >= 0.2)) > 0.93
    assert np.all((low <= shown) & (shown <= high) & (low >= 0) & (high <= 1))


def split(
    seed: int, n: int = 800, gap: float = 1.6
) -> tuple[np.ndarray, np.ndarray, latens.GaussianMixture, np.ndarray]:
    """Clusters that overlap, rows, a fit, and its clusters in the order of their means."""
    rng = np.random.default_rng(seed)
    label = (rng.random(n) < 0.4).astype(int)
    X = rng.normal(size=(n, 3)) + gap * label[:, None]
    model = latens.GaussianMixture(2, prune=False, n_init=1, random_state=0, n_jobs=1).fit(X)
    return label, X, model, np.argsort(model.means_[:, 0])


def test_outcomes_are_corrected_only_where_they_depend_on_the_clusters_alone() -> None:
    held, gaps = {name: list[bool]() for name in ("class", "site", "row", "own")}, list[np.ndarray]()
    for seed in range(8):
        label, X, model, order = split(seed)
        rng = np.random.default_rng(100 + seed)
        site = np.where(rng.random(len(X)) < 0.2 + 0.5 * label, "y", "n")
        by_class = 3.0 * label + rng.normal(size=len(X))
        by_row = 2.0 * X[:, 0] + rng.normal(size=len(X))
        with pytest.warns(DirectEffects, match=r"beyond the clusters: 'row'\. .* weighted by memberships") as warned:
            table = model.associate({"class": by_class, "site": site, "row": by_row, "own": X[:, 1]}, X)
        assert len(warned) == 1
        assert "columns of the fit: 'own'" in table.note
        rows = {(row[0], row[2]): row[3:6] for row in table.rows if row[1] in ("mean", "y")}
        truth = {"class": (0.0, 3.0), "site": (0.2, 0.7), "row": (0.0, 3.2), "own": (0.0, 1.6)}
        for name, true in truth.items():
            for value, k in zip(true, order, strict=True):
                _, low, high = rows[name, f"cluster{k}"]
                held[name].append(low <= value <= high)
        gaps.append(np.array([rows["own", f"cluster{k}"][0] - model.means_[k, 1] for k in order]))
    assert {name: np.mean(each) > 0.85 for name, each in held.items()} == dict.fromkeys(held, True)
    assert np.abs(gaps).max() < 0.02  # means of a column of the fit are the model's


def test_corrected_means_are_never_beyond_the_values() -> None:
    _, X, model, _ = split(0, 1500, 1.4)
    rng = np.random.default_rng(0)
    price = 3.0 + np.maximum(X.sum(axis=1) - 1.0, 0.0) + 0.01 * rng.random(len(X))  # goes by the columns
    weights = Assigned(np.asarray(model.predict_proba(X)), ("a", "b")).weights
    assert np.min(weights.T @ price / weights.sum(axis=0)) < price.min()
    with pytest.warns(DirectEffects):
        table = model.associate({"price": price, "late": np.where(X[:, 0] > 2.5, "yes", "no")}, X)
    for name, least, most in (("price", price.min(), price.max()), ("late", 0.0, 1.0)):
        estimates = [row[3] for row in table.rows if row[0] == name]
        assert min(estimates) >= least
        assert max(estimates) <= most
    # nothing to test by: assignments alone, beyond all values by more than chance
    share = np.array([[0.6, 0.4], [0.4, 0.6]])[np.repeat([0, 1], 200)]
    far = np.repeat([0.0, 1.0], 200) + 1e-3 * rng.normal(size=400)
    with pytest.warns(DirectEffects, match="beyond all values: 'far'"):
        table = outcomes_table(Assigned(share, ("a", "b")), {"far": far}, None, 0.95)
    assert table["estimate"] == pytest.approx([0.4, 0.6], abs=1e-3)
    # by chance: at the end of the range
    near = np.where(np.arange(400) < 200, rng.random(400) < 0.36, rng.random(400) < 0.64).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = outcomes_table(Assigned(share, ("a", "b")), {"near": near}, None, 0.95)
    assert min(table["estimate"]) >= 0
    assert max(table["estimate"]) <= 1


def test_error_rates_next_to_nothing_move_by_next_to_nothing() -> None:
    rng, label = np.random.default_rng(0), np.repeat([0, 1, 2], [80, 80, 20])
    X = rng.normal(size=(180, 1)) + np.array([0.0, 4.0, 40.0])[label][:, None]
    model = latens.GaussianMixture(3, n_init=4, prune=False, random_state=0, n_jobs=1).fit(X)
    share = np.asarray(model.predict_proba(X))
    share[(share > 0) & (share < 1e-30)] = 1e-318  # a step of fixed size divided by it has no end
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimated = model._error_rates(model._rows_in_memory(X, {}), share)
    assert estimated is not None
    assert np.isfinite(estimated.by_row).all()
    assert np.abs(estimated.by_row).max() > 1e-4
