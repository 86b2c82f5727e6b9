"""What a reader types into the page is answered as the model answers it, with holes."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from tests.report.browser.chromium import Chromium

pytestmark = pytest.mark.extras

N = 150
TOLERANCE = 1e-6


def _real() -> np.ndarray:
    rng = np.random.default_rng(1)
    label = rng.integers(3, size=N)
    return rng.normal(size=(N, 5)) * [1, 2, 0.1, 50, 1] + 4 * label[:, None] * [1, 0, 0.1, 20, -1] + [0, 1e3, 0, -5, 2]


def _bits() -> np.ndarray:
    return latens.datasets.make_noisy_or(N, random_state=2)[0]


def _switched() -> np.ndarray:
    rng = np.random.default_rng(3)
    return (rng.random((60, 3)) < 0.4) @ rng.random((3, 7)) + 0.1 * rng.normal(size=(60, 7)) + 2


def _mixed() -> np.ndarray:
    rng = np.random.default_rng(4)
    label = rng.integers(2, size=N)
    columns = (rng.normal(5 * label), rng.choice([1.0, 2.0, 7.0], N), rng.poisson(1 + 8 * label), rng.random(N) < 0.3)
    return np.column_stack(columns).astype(float)


def _pair() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    z = rng.normal(size=(N, 2))
    return {"a": z @ rng.normal(size=(2, 4)) + rng.normal(size=(N, 4)), "b": 9 + z @ rng.normal(size=(2, 3)) * 3}


CASES: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "factors": (lambda: latens.FactorAnalysis(2), _real),
    "factors with their number found": (lambda: latens.FactorAnalysis(4, prior="ard"), _real),
    "full clusters": (lambda: latens.GaussianMixture(4, random_state=0), _real),
    "tied clusters": (lambda: latens.GaussianMixture(4, covariance_type="tied", random_state=0), _real),
    "diagonal clusters": (lambda: latens.GaussianMixture(4, covariance_type="diag", random_state=0), _real),
    "round clusters": (lambda: latens.GaussianMixture(4, covariance_type="spherical", random_state=0), _real),
    "clusters of known spread": (
        lambda: latens.GaussianMixture(4, covariance_type="known", noise_variance=9.0, random_state=0),
        _real,
    ),
    "binary clusters": (lambda: latens.BernoulliMixture(4, random_state=0), _bits),
    "classes": (
        lambda: latens.LatentClassAnalysis(4, likelihoods={1: "categorical", 2: "negative-binomial"}, random_state=0),
        _mixed,
    ),
    "classes of counts and scales": (
        lambda: latens.LatentClassAnalysis(4, likelihoods={1: "ordinal", 2: "poisson"}, random_state=0),
        _mixed,
    ),
    "switches": (lambda: latens.BinaryFactorAnalysis(5, random_state=0), _switched),
    "switches about a level": (lambda: latens.BinaryFactorAnalysis(5, fit_intercept=True, random_state=0), _switched),
    "causes": (lambda: latens.NoisyOr(5, random_state=0), _bits),
    "ten causes": (lambda: latens.NoisyOr(10, e_step="exact", prune=False, random_state=0, max_iter=20), _bits),
    "ten switches": (
        lambda: latens.BinaryFactorAnalysis(10, e_step="exact", prune=False, random_state=0, max_iter=10),
        _switched,
    ),
    "views": (lambda: latens.MultiViewFactorAnalysis(3, random_state=0), _pair),
}


def _typed(browser: Chromium, row: np.ndarray) -> np.ndarray:
    """What the page answers when these values are typed, NaN left empty."""
    texts = json.dumps(["" if np.isnan(value) else repr(float(value)) for value in row])
    return np.array(
        browser.run(
            f"(() => {{ const texts = {texts}, fields = document.querySelectorAll('.calculator label > :last-child');"
            " const level = (f, text) => f.tagName === 'SELECT' && text !== '' ? String(Number(text)) : text;"
            " fields.forEach((f, d) => { f.value = level(f, texts[d]); });"
            " fields[0].dispatchEvent(new Event('input'));"
            " return Array.from(document.querySelectorAll('.answer')).map(a => Number(a.dataset.exact)); })()"
        )
    )


@pytest.mark.parametrize("name", CASES)
def test_the_page_answers_as_transform_does(name: str, browser: Chromium, tmp_path: Path) -> None:
    build, make = CASES[name]
    X = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = build().fit(X)
        page = latens.report(model, X, tmp_path / "page.html")  # type: ignore[operator]
        wide = np.concatenate(list(X.values()), axis=1) if isinstance(X, dict) else X
        rows = wide[:6].copy()
        hole = np.random.default_rng(0).random(rows.shape) < 0.4
        rows[1:][hole[1:]] = np.nan  # the first is complete
        rows[5] = np.nan  # the last is unknown
        asked = {"a": rows[:, :4], "b": rows[:, 4:]} if isinstance(X, dict) else rows
        expected = np.asarray(model.transform(asked))
    browser.open(page)
    for row, codes in zip(rows, expected, strict=True):
        np.testing.assert_allclose(_typed(browser, row), codes, rtol=0, atol=TOLERANCE * max(1, np.abs(codes).max()))
    assert browser.messages == []


def test_the_page_answers_as_predict_does(browser: Chromium, tmp_path: Path) -> None:
    X = _real()
    y = X @ np.arange(5.0) + np.random.default_rng(0).normal(size=N)
    model = latens.BayesianLinearRegression().fit(X, y)
    browser.open(latens.report(model, X, tmp_path / "page.html", y=y))  # type: ignore[operator]
    for row, target in zip(X[:4], model.predict(X[:4]), strict=True):
        np.testing.assert_allclose(_typed(browser, row), target, rtol=TOLERANCE)


def test_yes_and_no_are_chosen_by_their_words(browser: Chromium, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X = _mixed()
    frame = pandas.DataFrame({"size": X[:, 0], "smoker": np.where(X[:, 3] > 0, "yes", "no"), "visits": X[:, 2]})
    model = latens.LatentClassAnalysis(3, random_state=0).fit(frame)
    browser.open(latens.report(model, frame, tmp_path / "page.html"))  # type: ignore[operator]
    for word in ("yes", "no", "unknown"):
        browser.run(
            "(() => { const s = document.querySelector('.calculator select');"
            f" s.value = Array.from(s.options).find(o => o.textContent === '{word}').value;"
            " s.dispatchEvent(new Event('input')); })()"
        )
        row = frame[:1].assign(smoker=None if word == "unknown" else word)
        shown = browser.run("Array.from(document.querySelectorAll('.answer')).map(a => Number(a.dataset.exact))")
        np.testing.assert_allclose(shown, np.asarray(model.transform(row))[0], atol=1e-5)


def test_levels_of_text_are_chosen_by_name(browser: Chromium, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X = _mixed()
    names = {1.0: "red", 2.0: "green", 7.0: "blue"}
    frame = pandas.DataFrame({"size": X[:, 0], "colour": [names[v] for v in X[:, 1]], "visits": X[:, 2]})
    model = latens.LatentClassAnalysis(3, random_state=0).fit(frame)
    browser.open(latens.report(model, frame, tmp_path / "page.html"))  # type: ignore[operator]
    browser.run(
        "(() => { const s = document.querySelector('.calculator select');"
        " s.value = Array.from(s.options).find(o => o.textContent === 'green').value;"
        " s.dispatchEvent(new Event('input')); })()"
    )
    row = frame[:1].assign(colour="green")
    shown = browser.run("Array.from(document.querySelectorAll('.answer')).map(a => Number(a.dataset.exact))")
    np.testing.assert_allclose(shown, np.asarray(model.transform(row))[0], atol=1e-5)  # the form starts with six digits
