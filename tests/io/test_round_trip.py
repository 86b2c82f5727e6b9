"""What is saved comes back, bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from tests.io.fits import SETTINGS, difference, estimators_differ, fitted


def again(model: Any, folder: Path) -> Any:
    return latens.load(latens.save(model, folder / "model.latens"))


@pytest.mark.parametrize("name", SETTINGS)
def test_every_attribute_comes_back_with_its_bits_and_its_layout(name: str, tmp_path: Path) -> None:
    model = fitted(name)
    assert estimators_differ(model, again(model, tmp_path)) is None


# of regressions, and of models of components
QUESTIONS: dict[bool, list[Callable[[Any, dict[str, Any]], Any]]] = {
    True: [
        lambda m, rows: m.predict(**rows, return_std=True),
        lambda m, _: m.set_params(random_state=0).sample_coef(3),
    ],
    False: [
        lambda m, rows: m.transform(**rows, return_std=True),
        lambda m, rows: m.score_samples(**rows),
        lambda m, _: m.sample(5),
        lambda m, _: m.inverse_transform(np.eye(m.n_components_)),
        lambda m, _: m.sample_posterior(2),
        lambda m, rows: m.impute(**rows),
        lambda m, _: m.get_feature_names_out(),
    ],
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_loaded_model_answers_with_the_same_bits(name: str, tmp_path: Path) -> None:
    model, arguments = fitted(name), SETTINGS[name].batch(2).arguments
    asked = {key: value for key, value in arguments.items() if key not in ("y", "sample_weight")}
    loaded = again(model, tmp_path)
    for ask in QUESTIONS[hasattr(model, "predict") and not hasattr(model, "transform")]:
        assert difference(ask(model, asked), ask(loaded, asked)) is None


@pytest.mark.parametrize("name", SETTINGS)
def test_a_stream_goes_on_as_if_it_had_not_been_saved(name: str, tmp_path: Path) -> None:
    model, loaded = fitted(name), again(fitted(name), tmp_path)
    for number in (2, 3):
        for one in (model, loaded):
            SETTINGS[name].batch(number).partial_fit(one)
    model.trace_ = loaded.trace_ = ()  # holds the seconds that each batch took
    assert estimators_differ(model, loaded) is None


def test_names_of_columns_and_components_come_back(tmp_path: Path) -> None:
    model = fitted().set_component_names(["a", "β", "'", "\N{SNOWMAN}"])
    model.feature_names_in_ = np.array([f"Größe {d}" for d in range(16)], dtype=object)
    loaded = again(model, tmp_path)
    assert estimators_differ(model, loaded) is None
    assert list(loaded.get_feature_names_out()) == ["a", "β", "'", "\N{SNOWMAN}"]
    assert "Größe" in str(loaded.summary())


@pytest.mark.extras
def test_a_model_of_a_data_frame_comes_back_with_its_names(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame(SETTINGS["ard"].batch(0).arguments["X"], columns=[f"Größe {d}" for d in range(16)])
    model = latens.BinaryFactorAnalysis(4, n_init=1, moves=False, tol=0.1, random_state=0).fit(frame)
    loaded = again(model.set_output(transform="pandas"), tmp_path)
    assert estimators_differ(model, loaded) is None
    before, after = model.transform(frame), loaded.transform(frame)
    assert type(after) is type(before)
    np.testing.assert_array_equal(after, before)
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(frame.rename(columns=str.upper))


def test_the_container_asked_of_transform_comes_back(tmp_path: Path) -> None:
    model = fitted().set_output(transform="polars")
    assert estimators_differ(model, again(model, tmp_path)) is None


def test_callbacks_and_generators_stay_behind(tmp_path: Path) -> None:
    model = fitted().set_params(callbacks=[lambda event: None], random_state=np.random.default_rng(0))
    loaded = again(model, tmp_path)
    assert loaded.callbacks is None
    assert loaded.random_state is None
    assert callable(model.callbacks[0])


@pytest.mark.parametrize(
    ("param", "value", "loaded_value"),
    [
        ("n_components", 4.0, 4.0),
        ("n_components", np.int64(4), 4),
        ("tol", np.float64(0.1), 0.1),
        ("tol", float("inf"), float("inf")),
        ("moves", np.bool_(True), True),
        ("random_state", np.int32(7), 7),
        ("random_state", 2**100, 2**100),
        ("init", [[0.1, -0.0], [1e-320, 2.0]], [[0.1, -0.0], [1e-320, 2.0]]),
        ("init", {"parts": (1, None, "x")}, {"parts": (1, None, "x")}),
    ],
)
def test_parameters_come_back_as_plain_values(param: str, value: Any, loaded_value: Any, tmp_path: Path) -> None:
    loaded = again(fitted().set_params(**{param: value}), tmp_path)
    assert difference(getattr(loaded, param), loaded_value) is None


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<i8", "|b1", "|u1", ">i2"])
def test_array_parameters_keep_their_numbers_and_precision(dtype: str, tmp_path: Path) -> None:
    init = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    loaded = again(fitted().set_params(init=init), tmp_path)
    assert difference(loaded.init, init.astype(np.dtype(dtype).newbyteorder("="))) is None


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1, 1, 1), (2, 3, 4)])
def test_arrays_of_any_shape_come_back(shape: tuple[int, ...], tmp_path: Path) -> None:
    init = np.random.default_rng(0).normal(size=shape)
    assert difference(again(fitted().set_params(init=init), tmp_path).init, init) is None


@pytest.mark.parametrize("axes", [(2, 1, 0), (0, 2, 1), (1, 2, 0), (2, 0, 1)])
def test_arrays_lie_in_memory_as_they_did(axes: tuple[int, ...], tmp_path: Path) -> None:
    init = np.random.default_rng(0).normal(size=(2, 3, 4)).transpose(axes)
    assert difference(again(fitted().set_params(init=init), tmp_path).init, init) is None


def test_a_loaded_model_saves_to_the_same_bytes(tmp_path: Path) -> None:
    first = latens.save(fitted("all at once, missing"), tmp_path / "first")
    second = latens.save(latens.load(first), tmp_path / "second")
    assert first.read_bytes() == second.read_bytes()


def test_numpy_opens_the_file_as_an_npz(tmp_path: Path) -> None:
    model = fitted()
    with np.load(latens.save(model, tmp_path / "model.latens"), allow_pickle=False) as arrays:
        assert arrays.files == ["header.json", *(f"arrays/{i}" for i in range(len(arrays.files) - 1))]
        found = [arrays[name] for name in arrays.files[1:]]
    assert any(np.array_equal(array, model._state.q.loadings.mean) for array in found)
    assert all(array.flags.c_contiguous for array in found)


def test_a_trace_whose_bounds_change_their_terms_comes_back(tmp_path: Path) -> None:
    model = fitted()
    first, *rest = model.trace_
    model.trace_ = (replace(first, terms={"only": first.elbo}), *rest)
    assert difference(again(model, tmp_path).trace_, model.trace_) is None


NOTHING = np.random.default_rng(0).normal(size=(40, 8))
FOUND_NOTHING: dict[str, tuple[Any, Any]] = {  # rows without structure: no component, or one cluster of all
    "factor analysis": (latens.FactorAnalysis(prior="ard"), NOTHING),
    "factor analysis, constant": (latens.FactorAnalysis(prior="ard"), np.full((40, 8), 3.0)),
    "factor analysis, missing": (latens.FactorAnalysis(prior="ard"), np.where(NOTHING > 2, np.nan, NOTHING)),
    "binary factors": (latens.BinaryFactorAnalysis(), NOTHING),
    "noisy ICA": (latens.NoisyICA(), NOTHING),
    "noisy-OR": (latens.NoisyOr(), np.zeros((40, 8))),
    "views": (latens.MultiViewFactorAnalysis(), {"a": NOTHING[:, :5], "b": NOTHING[:, 5:]}),
    "Gaussian mixture": (latens.GaussianMixture(), np.full((40, 8), 3.0)),
    "Bernoulli mixture": (latens.BernoulliMixture(), np.zeros((40, 8))),
    "latent classes": (latens.LatentClassAnalysis(), np.zeros((40, 8))),
}


@pytest.mark.parametrize("name", FOUND_NOTHING)
@pytest.mark.filterwarnings("ignore")
def test_a_model_that_found_nothing_comes_back(name: str, tmp_path: Path) -> None:
    estimator, X = FOUND_NOTHING[name]
    model = estimator.set_params(random_state=0).fit(X)
    loaded = again(model, tmp_path)
    assert model.n_components_ == (1 if name.endswith(("mixture", "classes")) else 0)
    assert loaded.n_components_ == model.n_components_
    assert loaded.transform(X).shape == (40, model.n_components_)
    assert loaded.score(X) == model.score(X)
    model.partial_fit(X)
    loaded.partial_fit(X)
    assert loaded.score(X) == model.score(X)
