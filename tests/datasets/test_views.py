"""Generated views: what was asked for is what is there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from latens.datasets import make_multiview

MIXED = ("gaussian", "bernoulli", "poisson")


def test_rows_follow_the_factors() -> None:
    views, truth = make_multiview(4000, (30, 25, 20), MIXED, 4, random_state=0)
    assert list(views) == ["view0", "view1", "view2"]
    assert truth.likelihoods == dict(zip(views, MIXED, strict=True))
    eta = {v: truth.codes @ truth.components[v] + truth.intercepts[v] for v in views}
    assert truth.expected["view0"] == pytest.approx(eta["view0"])
    assert truth.expected["view1"] == pytest.approx(expit(eta["view1"]))
    assert truth.expected["view2"] == pytest.approx(np.log1p(np.exp(eta["view2"])))
    left = views["view0"] - truth.expected["view0"]
    assert left.var(axis=0) == pytest.approx(truth.noise_variance["view0"], rel=0.12)
    assert set(truth.noise_variance) == {"view0"}
    assert np.sqrt(truth.noise_variance["view0"]).min() >= 1
    assert np.sqrt(truth.noise_variance["view0"]).max() <= 2
    for v in ("view1", "view2"):
        assert np.mean(views[v] - truth.expected[v], axis=0) == pytest.approx(0, abs=0.25)
    assert set(np.unique(views["view1"])) == {0, 1}
    assert np.all(views["view2"] == np.floor(views["view2"]))


def test_factors_are_off_in_some_views_and_sparse_in_the_others() -> None:
    _, truth = make_multiview(10, (2000, 1000), n_factors=5, random_state=0)
    on = np.array([np.any(w != 0, axis=1) for w in truth.components.values()])
    assert on.tolist() == [[True, True, True, False, True], [True, False, True, True, False]]
    filled = np.concatenate([w[w.any(axis=1)].ravel() != 0 for w in truth.components.values()])
    assert filled.mean() == pytest.approx(0.3, abs=0.02)
    dense = make_multiview(10, (200, 100), sparsity=1.0, random_state=0)[1].components["view0"]
    assert np.all(dense[dense.any(axis=1)] != 0)


def test_entries_and_views_are_taken_away_but_never_all_of_a_row() -> None:
    views, truth = make_multiview(3000, (40, 30), missing=0.2, missing_views=0.4, random_state=0)
    for name, view in views.items():
        assert np.array_equal(np.isnan(view), truth.missing[name])
        assert not np.isnan(truth.complete[name]).any()
    empty = np.stack([np.isnan(view).all(axis=1) for view in views.values()], axis=1)
    assert not empty.all(axis=1).any()
    assert empty.mean() == pytest.approx(0.4 - 0.4**2 / 2, abs=0.02)
    there = views["view0"][~empty[:, 0]]
    assert np.isnan(there).mean() == pytest.approx(0.2, abs=0.01)


def test_rare_events_are_as_rare_as_asked() -> None:
    views, truth = make_multiview(2000, (50, 100), ("gaussian", "bernoulli"), rate=0.08, random_state=3)
    assert truth.expected["view1"].mean() == pytest.approx(0.08)
    assert views["view1"].mean() == pytest.approx(0.08, abs=0.01)


def test_groups_silence_factors() -> None:
    _, truth = make_multiview(90, (5, 5), n_factors=4, groups=3, random_state=0)
    names, counts = np.unique(truth.groups, return_counts=True)
    assert names.tolist() == ["group0", "group1", "group2"]
    assert counts.tolist() == [30, 30, 30]
    loud = [[bool(truth.codes[truth.groups == g, k].any()) for k in range(4)] for g in names]
    assert loud == [[True, True, True, True], [True, False, True, True], [True, True, False, True]]


def test_noise_scales_and_seeds_repeat() -> None:
    one, two, other = (make_multiview(20, (5, 4), random_state=seed)[0]["view0"] for seed in (3, 3, 4))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    quiet, loud = (make_multiview(20, (5, 4), noise=s, random_state=3)[1].noise_variance["view0"] for s in (1.0, 5.0))
    assert loud == pytest.approx(25 * quiet)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"likelihoods": ["gaussian"]}, r"does not fit 2 view\(s\)"),
        ({"likelihoods": "normal"}, "choose one of 'gaussian', 'bernoulli', 'poisson'"),
        ({"sparsity": 1.5}, "sparsity=1.5 is no fraction"),
        ({"missing": True}, "missing=True is no fraction"),
        ({"rate": 0.0}, "rate=0.0 leaves nothing to see"),
        ({"noise": -1}, "noise=-1 is no scale"),
        ({"n_features": (3, 0)}, "n_features=0 is too small"),
        ({"n_samples": 1}, "n_samples=1 is too small"),
        ({"groups": 501}, "groups=501 is too large"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_multiview(**options)
