"""Files of multi-view models: parts by the name of a view, groups, what is kept of the samples."""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import FileRefused
from latens.io.estimator_state import attributes_of
from tests.io.fits import difference, estimators_differ
from tests.io.refusals.forging import Forgery

MIXED = ("gaussian", "bernoulli", "poisson")
# parameters, how the views are made, and whether samples are grouped; some fits are told precisions
SETTINGS: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "gaussian": ({}, {"likelihoods": "gaussian"}, False),
    "mixed": ({}, {}, False),
    "missing": ({}, {"missing": 0.1, "missing_views": 0.2}, False),
    "groups": ({"prune": False}, {"groups": 2, "missing": 0.1}, True),
    "no factor": ({}, {"groups": 2, "missing": 0.1}, True),
    "dense loadings": ({"sparse_loadings": False}, {}, False),
    "sparse factors": ({"sparse_factors": True}, {"groups": 2}, True),
    "known precisions": ({}, {"groups": 2}, True),
    "likelihoods given": ({"likelihoods": {"view1": "gaussian"}}, {}, False),
}


@cache
def made(name: str) -> tuple[dict[str, np.ndarray], Any]:
    options = {"likelihoods": MIXED, **SETTINGS[name][1]}
    views, truth = latens.datasets.make_multiview(60, (9, 8, 7), n_factors=2, random_state=0, **options)
    return views, truth.groups if SETTINGS[name][2] else None


def precision(name: str) -> dict[str, np.ndarray] | None:
    if name != "known precisions":
        return None
    return {"view0": np.random.default_rng(8).uniform(0.5, 2, made(name)[0]["view0"].shape)}


@cache
def _fitted(name: str, streamed: bool) -> Any:
    views, groups = made(name)
    model = latens.MultiViewFactorAnalysis(3, max_iter=12, moves=False, random_state=0, **SETTINGS[name][0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = precision(name)
        model.fit(views, groups=groups, precision=known)
        return model.partial_fit(views, groups=groups, precision=known) if streamed else model


def fitted(name: str = "mixed", streamed: bool = False) -> Any:
    return deepcopy(_fitted(name, streamed))


def again(model: Any, folder: Path) -> Any:
    return latens.load(latens.save(model, folder / "model.latens"))


@pytest.mark.parametrize("streamed", [False, True], ids=["fitted", "streamed"])
@pytest.mark.parametrize("name", SETTINGS)
def test_every_attribute_comes_back(name: str, streamed: bool, tmp_path: Path) -> None:
    model = fitted(name, streamed)
    assert hasattr(model, "scores_") is not streamed
    loaded = again(model, tmp_path)
    assert estimators_differ(model, loaded) is None
    assert difference(model.explained_, loaded.explained_) is None


@pytest.mark.parametrize("name", SETTINGS)
def test_a_loaded_model_answers_with_the_same_bits_and_goes_on(name: str, tmp_path: Path) -> None:
    model, (views, groups) = fitted(name), made(name)
    loaded = again(model, tmp_path)
    part, known = {"view1": views["view1"]}, precision(name)
    for ask in (
        lambda m: m.transform(views, groups=groups, precision=known),
        lambda m: m.transform(part, return_std=True, groups=groups),
        lambda m: m.impute(part, groups=groups, coverage=0.9),
        lambda m: m.score_samples(views, groups=groups, precision=known),
        lambda m: m.sample(5),
        lambda m: m.sample_posterior(2),
        lambda m: m.inverse_transform(np.eye(m.n_components_)),
        lambda m: m.top_features(3),
        lambda m: m.associate({"side": np.arange(60) % 2}).rows,
    ):
        assert difference(ask(model), ask(loaded)) is None
    model.partial_fit(views, groups=groups, precision=known)
    loaded.partial_fit(views, groups=groups, precision=known)
    model.trace_ = loaded.trace_ = ()  # holds the seconds that each batch took
    assert estimators_differ(model, loaded) is None


def test_any_name_of_a_view_a_feature_or_a_group_is_safe(tmp_path: Path) -> None:
    views, _ = made("mixed")
    names = ["'].weights['", "../../evil", "array\n\0\N{SNOWMAN}"]
    strange = dict(zip(names, views.values(), strict=True))
    groups = np.array(["{}", "dict", "__class__"])[np.arange(60) % 3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.MultiViewFactorAnalysis(2, max_iter=3, prune=False, random_state=0).fit(strange, groups=groups)
    model.set_component_names([f"\N{GREEK SMALL LETTER BETA}{k}" for k in range(model.n_components_)])
    loaded = again(model, tmp_path)
    assert estimators_differ(model, loaded) is None
    assert list(loaded.components_) == names
    assert difference(model.transform(strange, groups=groups), loaded.transform(strange, groups=groups)) is None


@pytest.mark.extras
def test_a_model_of_frames_comes_back_with_its_names(tmp_path: Path) -> None:
    import pandas as pd

    views, _ = made("mixed")
    frames = {
        name: pd.DataFrame(x, index=[f"p{i}" for i in range(60)], columns=[f"{name} {d}" for d in range(x.shape[1])])
        for name, x in views.items()
    }
    model = latens.MultiViewFactorAnalysis(2, random_state=0).fit(frames).set_output(transform="pandas")
    loaded = again(model, tmp_path)
    assert estimators_differ(model, loaded) is None
    new = {"view0": frames["view0"].iloc[:5, ::-1]}
    assert loaded.row_names_[:2] == ("p0", "p1")
    assert loaded.impute(new)["view2"].index.tolist() == ["p0", "p1", "p2", "p3", "p4"]
    assert model.variance_explained_ == loaded.variance_explained_


def test_one_plain_table_comes_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 9)) + 0.3 * rng.normal(size=(60, 9))
    model = latens.MultiViewFactorAnalysis(2, random_state=0).fit(X)
    assert model.n_components_ == 2
    loaded = again(model, tmp_path)
    assert estimators_differ(model, loaded) is None
    assert loaded.inverse_transform(loaded.transform(X)).shape == X.shape


def test_a_loaded_model_saves_to_the_same_bytes(tmp_path: Path) -> None:
    first = latens.save(fitted("groups"), tmp_path / "first")
    assert first.read_bytes() == latens.save(latens.load(first), tmp_path / "second").read_bytes()


def test_what_is_kept_is_what_answers_need_besides_the_posterior() -> None:
    assert set(attributes_of(fitted())) == set(latens.MultiViewFactorAnalysis.file_attributes) - {
        "stream_"
    }  # which is of streams
    assert attributes_of(latens.MultiViewFactorAnalysis()) == {}


Lie = Callable[[Forgery], Any]


def at(path: str, **changes: Any) -> Lie:
    return lambda f: f.at(path).update(changes)


def put(path: str, change: Callable[[np.ndarray], Any]) -> Lie:
    return lambda f: f.put(path, np.asarray(change(f.get(path))))


def changed_attributes(**changes: Any) -> Lie:
    return at("attributes", **changes)


def dropped(path: str, name: str) -> Lie:
    return lambda f: f.at(path).pop(name)


LIES: dict[str, tuple[Lie, str]] = {
    "a likelihood that is no likelihood": (
        at("model.views.0", likelihood={"record": "MeanField", "fields": {}}),
        r"likelihood is MeanField.*expected",
    ),
    "another likelihood": (
        at("model.views.0", likelihood={"record": "SoftplusPoisson", "fields": {}}),
        "likelihoods_ are not those of its model",
    ),
    "likelihoods that are stated otherwise": (
        lambda f: f.header["params"].update(likelihoods={"dict": {"view0": "poisson"}}),
        "built with likelihoods=",
    ),
    "dense loadings that are stated": (
        lambda f: f.header["params"].update(sparse_loadings=False),
        "built with sparse_loadings=True",
    ),
    "a view that the posterior lacks": (dropped("state.q.views", "view1"), "MultiViewPosterior and its model have"),
    "a view that the sums lack": (dropped("state.stats.views", "view2"), "MultiViewStatistics and its model have"),
    "no layout": (dropped("attributes", "layout_"), "tells of views without layout_"),
    "no deviances": (dropped("attributes", "deviances_"), "tells of views without deviances_"),
    "something else that is kept": (changed_attributes(os="x"), "keeps no 'os'"),
    "a layout that is a text": (changed_attributes(layout_="x"), "layout_ is a str"),
    "a column more in the layout": (
        lambda f: f.at("attributes.layout_.features.0").append("x"),
        "different views or columns",
    ),
    "a column of another view": (
        lambda f: f.at("attributes.layout_.features.0").append(f.at("attributes.layout_.features.1").pop()),
        "different views or columns",
    ),
    "a view without columns": (
        lambda f: [
            f.at("attributes.layout_.features.0").append(f.at("attributes.layout_.features.1").pop()) for _ in range(8)
        ],
        "without columns",
    ),
    "other names of views": (
        lambda f: f.at("attributes.layout_.views").__setitem__(0, "viewX"),
        "different views or columns",
    ),
    "columns beyond the data": (at("model.views.2", stop=25), "different views or columns"),
    "10**12 columns": (at("model.views.2", stop=10**12), "model.views.*stop is 1000000000000; expected at most"),
    "a group that is not there": (
        lambda f: f.at("attributes.layout_")["groups"]["tuple"].extend(["a", "b"]),
        "2 group.s. and its model 1",
    ),
    "precisions that are not there": (
        lambda f: f.at("attributes.layout_")["precise"]["tuple"].append("view0"),
        "different known precisions",
    ),
    "a unit of precisions that is none": (at("model.views.0", precision_unit=0.0), "precisions in units of 0"),
    "a unit of exposures that is none": (at("model.views.0", exposure_unit=0.0), "exposures in units of 0"),
    "measurements without precisions": (
        at("model.views.0", likelihood={"record": "Measured", "fields": {}}),
        "different known precisions",
    ),
    "2**20 groups": (at("model", n_groups=2**20), r"0 group\(s\) and its model 1048576"),
    "loadings of other factors": (
        put("state.q.views.view1.weights.slab", lambda x: x[:, :1]),
        r"state.q.views\['view1'\].weights.slab has shape \(8, 1\); expected \(d.1 k\) with d.1=8, k=3",
    ),
    "a chance of a half more": (put("state.q.views.view0.weights.on", lambda x: x + 1.5), "not unit"),
    "a negative variance": (put("state.q.views.view2.offsets.variance", lambda x: -x), "not positive"),
    "NaN in the sums": (put("state.stats.views.view0.pull", lambda x: x * np.nan), "NaN or infinity"),
    "Grams of other sizes": (
        put("state.stats.views.view1.gram", lambda x: x[:, 1:]),
        r"stats.views\['view1'\].gram has shape .*expected \(1\|d.1 sym\(k\+n_groups\+n_covariates\)\) "
        r"with d.1=8, k=3, n_groups=1, n_covariates=0",
    ),
    "noise of another family": (
        lambda f: f.at("state.q.views.view1").update(noise=f.at("state.q.views.view0")["noise"]),
        r"views\['view1'\].noise.shape has shape|not of the family",
    ),
    "no switches": (at("state.q.views.view0", theta=None), "not of the family|belong to nothing"),
    "exponents for other columns": (put("units.exponent", lambda x: x[:3]), r"units.exponent has shape \(3,\)"),
    "exponents beyond range": (put("units.exponent", lambda x: x + 5000), "beyond the range"),
    "exponents that are no whole numbers": (
        put("units.exponent", lambda x: x + 0.5),
        "exponent is an array of float64",
    ),
    "deviances of other factors": (
        put("attributes.deviances_.single", lambda x: x[..., :1]),
        r"deviances_.single has shape \(1, 3, 1\); expected \(n_groups n_views k\) with n_groups=1, n_views=3, k=3",
    ),
    "infinite deviances": (put("attributes.deviances_.none", lambda x: x * np.inf), "NaN or infinity"),
    "scores of other factors": (put("attributes.scores_", lambda x: x[:, :0]), r"scores_ has shape \(60, 0\)"),
    "scores without names": (dropped("attributes", "row_names_"), "tells scores_, group_of_ alone"),
    "names of other samples": (changed_attributes(row_names_={"tuple": ["a", "b"]}), "2 names for 60 samples"),
    "groups of no sample": (put("attributes.group_of_", lambda x: x + 7), "does not give each of 60 samples one of 1"),
    "several views as one table": (changed_attributes(_plain=True), "or it is one table"),
    "a truth value that is a number": (changed_attributes(_plain=1), "_plain is a int"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_refused_and_told(lie: str, tmp_path: Path) -> None:
    change, message = LIES[lie]
    forged = Forgery(latens.save(fitted(), tmp_path / "honest.latens"))
    change(forged)
    path = forged.write(tmp_path / "model")
    tracemalloc.start()
    with pytest.raises(FileRefused, match=f"(?s)model is refused: .*({message})"):
        latens.load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**23


def test_a_forgery_without_a_lie_is_read(tmp_path: Path) -> None:
    forged = Forgery(latens.save(fitted(), tmp_path / "honest.latens"))
    for path in ("state.q.views.view0.weights.on", "units.exponent", "attributes.scores_"):
        forged.put(path, forged.get(path))
    assert estimators_differ(fitted(), latens.load(forged.write(tmp_path / "model"))) is None


def test_parameters_changed_after_fit_are_refused(tmp_path: Path) -> None:
    for change in ({"likelihoods": "poisson"}, {"likelihoods": {"view3": "poisson"}}, {"sparse_factors": True}):
        with pytest.raises(ValueError, match=r"cannot be saved.*change it back or fit again"):
            latens.save(fitted().set_params(**change), tmp_path / "model")
    latens.save(fitted().set_params(likelihoods={"view1": "bernoulli"}), tmp_path / "model")
