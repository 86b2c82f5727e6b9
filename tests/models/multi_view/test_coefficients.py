"""What a sweep tells at no cost is what its coefficients say when they are asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import latens
from latens.array.row_matrices import times_kinds
from latens.core import Rows
from latens.core.rows import MOST_MISSING_BY_COMPLEMENT
from latens.models.likelihoods.gaussian import Gaussian
from latens.models.multi_view import codes
from latens.models.multi_view import model as multi_view_model
from latens.models.multi_view.coefficients import Regressors, ViewStatistics


@pytest.mark.parametrize(
    "missing", [0.0, 0.1, MOST_MISSING_BY_COMPLEMENT + 0.1], ids=["complete", "few holes", "many holes"]
)
@pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
def test_moments_divergences_and_parabolas_of_a_sweep(missing: float, sparse: bool) -> None:
    views, truth = latens.datasets.make_multiview(
        40, (12, 9, 7), ("gaussian", "bernoulli", "poisson"), n_factors=2, missing=missing, random_state=0
    )
    model = latens.MultiViewFactorAnalysis(
        3, likelihoods=truth.likelihoods, sparse_loadings=sparse, moves=False, tol=0, max_iter=4, random_state=0
    ).fit(views)
    q, stats = model._state.q, model._state.stats
    for name, p in q.views.items():
        sums = stats.views[name]
        again = replace(p, weights=replace(p.weights))  # the same numbers, and nothing remembered
        assert p.parabola_of_step[0] is sums
        assert again.parabola_of_step[0] is None
        assert sums.parabola(p) == pytest.approx(sums.parabola(again), rel=1e-9, abs=1e-9)
        assert np.array_equal(p.mean, again.mean)
        assert np.array_equal(p.square, again.square)
        for moment in ("mean", "square", "used", "sizes", "entropy"):
            assert getattr(p.weights, moment) == pytest.approx(getattr(again.weights, moment), rel=1e-10), moment


@pytest.mark.parametrize("share", [0.1, MOST_MISSING_BY_COMPLEMENT + 0.1], ids=["few holes", "many holes"])
def test_sums_over_what_was_seen_are_those_of_the_mask(share: float) -> None:
    rng = np.random.default_rng(0)
    seen = rng.random((30, 8)) > share
    seen[4] = False
    x = np.where(seen, rng.normal(size=(30, 8)), 0.0)
    weight, kind = rng.gamma(1.0, size=30), Gaussian()
    rows, at = Rows(x, seen, weight), Regressors(rng.normal(size=(30, 2)), np.eye(2)[None], np.ones((30, 1)))
    found = ViewStatistics.of(rows, kind, kind.tangent(rows, lambda: None), at)
    assert found.gram == pytest.approx((seen * weight[:, None]).T @ at.pairs)
    assert found.pull == pytest.approx((x * weight[:, None]).T @ at.mean)


@pytest.mark.parametrize("lacking", [0.0, 0.3])
@pytest.mark.parametrize("groups", [1, 3])
def test_samples_of_one_kind_share_what_each_would_find_alone(
    groups: int, lacking: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    views, _ = latens.datasets.make_multiview(300, (14, 9), n_factors=3, missing_views=lacking, random_state=1)
    rng = np.random.default_rng(2)
    labels, weight = rng.integers(groups, size=300), rng.gamma(2.0, size=300)
    unknown = [None if i % 7 == 0 else label for i, label in enumerate(labels)]

    def fit() -> tuple[latens.MultiViewFactorAnalysis, list[np.ndarray]]:
        model = latens.MultiViewFactorAnalysis(4, max_iter=20, tol=0, moves=False, random_state=0)
        of_rows = labels if groups > 1 else None
        model.fit(views, groups=of_rows, sample_weight=weight)
        later = {"groups": unknown} if groups > 1 else {}
        answers = [*model.transform(views, return_std=True, **later), model.score_samples(views, **later)]
        return model, [*answers, model.impute(views, **later)["view0"]]

    kinds = list[int]()

    def counted(matrices: np.ndarray, vectors: np.ndarray, kind: np.ndarray) -> np.ndarray:
        kinds.append(len(matrices))
        return times_kinds(matrices, vectors, kind)

    monkeypatch.setattr(codes, "times_kinds", counted)
    shared, of_rows = fit()
    assert max(kinds, default=0) <= 3 * (groups + (groups > 1))  # both views, or either; of each group, or unknown
    assert len(kinds) >= 20 or (not lacking and groups == 1)  # then all are of one kind
    kinds.clear()
    monkeypatch.setattr(multi_view_model, "FEW_ROWS", 1000)
    single, alone = fit()
    assert not kinds
    assert shared.elbo_ == pytest.approx(single.elbo_, rel=1e-12)
    for one, other in zip(of_rows, alone, strict=True):
        assert one == pytest.approx(other, rel=1e-8, abs=1e-9)
