"""Rows of very many columns: products of pairs of columns are not made, and the answers are those of the products."""

from __future__ import annotations

import numpy as np
import pytest

from latens.array import packed_symmetric
from latens.core import Rows
from latens.families.normal_wishart import NormalWishart
from latens.models.mixture.features import Features, WideRows, look

N, D, K = 30, 6, 3


def clusters(rng: np.random.Generator) -> NormalWishart:
    prior = NormalWishart(np.zeros((1, D)), np.ones(1), np.array([D + 2.0]), np.eye(D)[None])
    x = rng.normal(size=(K, 12, D))
    products = np.stack([each.T @ each for each in x])[:, *np.triu_indices(D)]
    return prior.tiled(K).observe(np.full((K, 1), 12.0), x.sum(axis=1), products)


def test_densities_and_sums_are_those_of_the_products(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    x, weight, share = rng.normal(size=(N, D)), rng.uniform(0.5, 2, N), rng.dirichlet(np.ones(K), N)
    log_weights = np.log(np.full(K, 1 / K))
    rows = Rows(x, weight=weight)
    expected, made = look(clusters(np.random.default_rng(5)), log_weights, rows)
    monkeypatch.setattr(packed_symmetric, "MOST_PAIRS", 1)
    found, wide = look(clusters(np.random.default_rng(5)), log_weights, Rows(x, weight=weight))
    assert isinstance(made, Features)
    assert isinstance(wide, WideRows)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    weighted = rows.weigh(share)
    counts = weighted.sum(axis=0)
    for one, other in zip(wide.sums(rows, weighted, counts), made.sums(rows, weighted, counts), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_a_prior_of_many_clusters_holds_one_matrix() -> None:
    prior = NormalWishart(np.zeros((1, D)), np.ones(1), np.array([D + 2.0]), 2 * np.eye(D)[None]).tiled(5)
    assert prior.scatter.shape == (5, D, D)
    assert np.shares_memory(prior.scatter[0], prior.scatter[4])
    np.testing.assert_array_equal(prior.only(np.array([1, 3])).scatter, np.tile(2 * np.eye(D), (2, 1, 1)))


def test_evidence_of_wide_clusters_is_found_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(K, 12, D))
    prior = NormalWishart(np.zeros((1, D)), np.ones(1), np.array([D + 2.0]), np.eye(D)[None])
    sums = np.full((K, 1), 12.0), x.sum(axis=1), np.stack([each.T @ each for each in x])[:, *np.triu_indices(D)]
    expected = prior.evidence(*sums, prior)
    monkeypatch.setattr(packed_symmetric, "MOST_PAIRS", 1)
    np.testing.assert_allclose(prior.evidence(*sums, prior), expected, rtol=1e-12)
