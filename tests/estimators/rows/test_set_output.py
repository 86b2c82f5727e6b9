"""`set_output` reaches every method that answers about rows: same numbers, in frames and series with names."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import latens

pytestmark = pytest.mark.extras

N = 40
MODELS = {
    "binary factors": lambda: latens.BinaryFactorAnalysis(2, random_state=0, max_iter=5),
    "noisy-or": lambda: latens.NoisyOr(2, random_state=0, max_iter=5),
    "gaussian mixture": lambda: latens.GaussianMixture(2, random_state=0, max_iter=5),
    "bernoulli mixture": lambda: latens.BernoulliMixture(2, random_state=0, max_iter=5),
    "latent classes": lambda: latens.LatentClassAnalysis(2, random_state=0, max_iter=5),
    "noisy ICA": lambda: latens.NoisyICA(2, random_state=0, max_iter=5),
    "factor analysis": lambda: latens.FactorAnalysis(2, max_iter=5),
    "views": lambda: latens.MultiViewFactorAnalysis(2, random_state=0, max_iter=5),
}


def rows(binary: bool) -> np.ndarray:
    rng = np.random.default_rng(0)
    group = np.arange(N) % 2
    X = rng.normal(size=(N, 5)) + 3.0 * group[:, None] * [1, -1, 1, 0, 1]
    X = (X.mean(axis=0) < X).astype(float) if binary else X
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 0] = np.nan_to_num(X[:, 0])
    return X


def answers(model: Any, X: Any) -> dict[str, Any]:
    """Every method that answers about rows, and what its columns are."""
    codes = model.transform(X)
    found = {
        "transform": codes,
        "transform with std": model.transform(X, return_std=True),
        "inverse_transform": model.inverse_transform(codes),
        "impute": model.impute(X),
        "impute with std": model.impute(X, return_std=True),
        "score_samples": model.score_samples(X),
    }
    if hasattr(model, "predict_proba"):
        found |= {"predict_proba": model.predict_proba(X), "predict": model.predict(X)}
    return found


def flat(answer: Any) -> list[Any]:
    return [each for part in answer for each in flat(part)] if isinstance(answer, tuple) else [answer]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("name", MODELS)
def test_every_answer_is_a_frame_or_a_series_of_the_same_numbers(name: str, kind: str) -> None:
    import pandas as pd

    package = pytest.importorskip(kind)
    model = MODELS[name]()
    table = rows(bool(getattr(type(model), "binary", False)))
    features = [f"column {d}" for d in range(5)]
    X = pd.DataFrame(table, columns=features, index=[f"r{i}" for i in range(N)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
        plain = answers(model, X)
        framed = answers(model.set_output(transform=kind), X)
        again = MODELS[name]().set_output(transform=kind).fit(X)  # the setting before the fit changes no fit
    assert again.elbo_ == model.elbo_
    components = [str(each) for each in model.get_feature_names_out()]
    for method, answer in framed.items():
        for got, expected in zip(flat(answer), flat(plain[method]), strict=True):
            values = np.asarray(expected, dtype=float)
            assert isinstance(got, package.DataFrame if values.ndim == 2 else package.Series), method
            np.testing.assert_array_equal(np.asarray(got, dtype=float), values, err_msg=method)
            if values.ndim == 2:
                wanted = features if method.startswith(("im", "inv")) else components
                assert list(map(str, got.columns)) == wanted, method
            if kind == "pandas":
                assert list(got.index) == list(X.index), method


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_views_are_answered_by_view(kind: str) -> None:
    package = pytest.importorskip(kind)
    rng = np.random.default_rng(1)
    z = rng.normal(size=(N, 1))
    views = {name: z @ rng.normal(size=(1, d)) + 0.3 * rng.normal(size=(N, d)) for name, d in (("a", 3), ("b", 4))}
    views["a"][2, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.MultiViewFactorAnalysis(2, random_state=0).fit(views)
        plain = answers(model, views)
        framed = answers(model.set_output(transform=kind), views)
    for method in ("inverse_transform", "impute"):
        for view, d in (("a", 3), ("b", 4)):
            assert isinstance(framed[method][view], package.DataFrame)
            assert list(framed[method][view].columns) == [f"{view}_{i}" for i in range(d)]
            np.testing.assert_array_equal(np.asarray(framed[method][view]), np.asarray(plain[method][view]))
    means, spreads = framed["impute with std"]
    assert isinstance(means["a"], package.DataFrame)
    assert isinstance(spreads["b"], package.DataFrame)


def test_text_comes_back_as_text() -> None:
    import pandas as pd

    polars = pytest.importorskip("polars")
    frame = pd.DataFrame({"x": np.arange(40.0), "town": ["Oslo", "Rome"] * 20})
    frame.loc[3, "town"] = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.LatentClassAnalysis(2, random_state=0).fit(frame).set_output(transform="polars")
        whole = model.impute(frame)
    assert isinstance(whole, polars.DataFrame)
    assert set(whole["town"]) == {"Oslo", "Rome"}
