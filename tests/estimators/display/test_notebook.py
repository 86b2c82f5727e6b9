"""A fitted estimator in a notebook."""

from __future__ import annotations

import numpy as np

import latens


def test_a_fitted_estimator_shows_a_sentence_and_one_small_picture() -> None:
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 1, (60, 2)), rng.normal(9, 1, (30, 2))]
    model = latens.GaussianMixture(4, random_state=0)
    assert "<svg" not in str(model._repr_mimebundle_().get("text/html", "")) or "clusters" not in model._repr_html_()
    model.fit(X).set_component_names(["<b>large</b>", "small"])
    shown = model._repr_html_()
    assert shown == model._repr_mimebundle_()["text/html"]
    assert "2 components; bound" in shown
    assert "converged after" in shown
    assert shown.count("<svg") == 1
    assert "<b>large" not in shown
    assert "66.7 %" in shown  # of the rows, 60 of 90
    assert len(shown) < 3000


def test_automatic_names_give_the_noun_and_a_regression_its_weights() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 5))
    assert "2 factors; bound" in latens.FactorAnalysis(2).fit(X)._repr_html_()
    shown = latens.BayesianLinearRegression().fit(X, X[:, 0] + rng.normal(size=80))._repr_html_()
    assert "5 weights; bound" in shown
    assert ">x0<" in shown
    assert " sd from 0<" in shown


def test_weights_that_are_unsure_are_no_shares() -> None:
    rng = np.random.default_rng(2)
    shown = latens.BayesianLinearRegression().fit(rng.normal(size=(40, 2)), rng.normal(size=40))._repr_html_()
    assert "%" not in shown
