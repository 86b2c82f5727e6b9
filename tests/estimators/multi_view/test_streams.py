"""Streams of views in small batches: the first samples are kept until factors can be found in them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import latens
from latens.errors import ConstantColumns, FileRefused
from latens.estimators.multi_view.waiting import LEAST_SAMPLES
from tests.io.refusals.forging import Forgery

KINDS = ("gaussian", "bernoulli", "poisson")
Views = dict[str, np.ndarray]


def make(kind: str, n: int = 1300, d: int = 40, k: int = 3, seed: int = 61000) -> Views:
    rng = np.random.default_rng(seed)
    loadings = 1.2 * rng.normal(size=(k, d)) * (rng.random((k, d)) < 0.6)
    eta = rng.normal(size=(n, k)) @ loadings + 0.7 * rng.normal(size=d)
    if kind == "gaussian":
        return {"v": eta + rng.normal(size=eta.shape)}
    if kind == "bernoulli":
        return {"v": (rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(float)}
    return {"v": rng.poisson(np.log1p(np.exp(eta + 1))).astype(float)}


def part(views: Views, rows: slice) -> Views:
    return {name: view[rows] for name, view in views.items()}


def model(k: int | None = 5, **options: Any) -> Any:
    return latens.MultiViewFactorAnalysis(k, random_state=0, **options)


def streamed(views: Views, size: int, n: int | None = None, found: Any = None, **notes: Any) -> Any:
    n = len(next(iter(views.values()))) if n is None else n
    found = model() if found is None else found
    for at in range(0, n, size):
        rows = slice(at, min(at + size, n))
        found.partial_fit(part(views, rows), **{name: note[rows] for name, note in notes.items()})
    return found


@pytest.fixture(scope="module")
def few() -> Views:
    views, _ = latens.datasets.make_multiview(60, (9, 8, 7), KINDS, 2, missing=0.1, missing_views=0.2, random_state=3)
    return views


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [10, 20])
@pytest.mark.slow
def test_small_batches_find_what_a_fit_finds(kind: str, size: int) -> None:
    views = make(kind)
    train, test = part(views, slice(1000)), part(views, slice(1000, None))
    at_once, stream = model().fit(train), streamed(train, size)
    assert at_once.n_components_ == 3
    assert stream.n_components_ == 3
    assert stream.score(test) > at_once.score(test) - 0.15  # nats a sample; 0.1 at most on four other seeds
    assert stream._state.stats.n == 1000
    assert stream._waiting is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_the_first_samples_are_fitted_alike_in_any_batches(kind: str) -> None:
    views = make(kind, n=40)
    whole = model().partial_fit(views)
    for size in (1, 7, 20):
        stream = streamed(views, size)
        assert stream.elbo_ == pytest.approx(whole.elbo_, rel=1e-12)
        assert stream.likelihoods_ == whole.likelihoods_ == {"v": kind}
        assert stream.transform(views) == pytest.approx(whole.transform(views), abs=1e-9)
        assert stream.explained_["total"] == pytest.approx(whole.explained_["total"], abs=1e-9)
        assert stream._state.stats.n == 40
        assert not hasattr(stream, "scores_")
    assert whole.scores_ == pytest.approx(whole.transform(views), abs=0.01)  # in the order of the samples


def test_the_stream_begins_with_enough_samples() -> None:
    views = make("gaussian", n=LEAST_SAMPLES + 10)
    stream = streamed(views, 10, LEAST_SAMPLES - 10)
    assert len(stream._waiting.samples.values) == LEAST_SAMPLES - 10
    assert stream.partial_fit(part(views, slice(LEAST_SAMPLES - 10, LEAST_SAMPLES)))._waiting is None
    assert stream.elbo_ == pytest.approx(model().partial_fit(part(views, slice(LEAST_SAMPLES))).elbo_, rel=1e-9)
    n_events = len(stream.trace_)
    stream.partial_fit(part(views, slice(LEAST_SAMPLES, None)))
    assert (stream._state.stats.n, len(stream.trace_)) == (LEAST_SAMPLES + 10, n_events + 1)


@pytest.mark.slow
def test_one_sample_at_a_time_until_the_stream_goes_on() -> None:
    views = make("poisson", n=LEAST_SAMPLES + 5, d=12, k=1)
    stream = streamed(views, 1, found=model(2, max_iter=20))
    assert stream._state.stats.n == LEAST_SAMPLES + 5
    assert stream._waiting is None
    assert np.isfinite(stream.score(views))


@pytest.mark.slow
def test_samples_that_repeat_are_kept_once_and_count_as_often(few: Views) -> None:
    doubled = {name: np.repeat(view, 2, axis=0) for name, view in few.items()}
    twice = streamed(doubled, 14)
    weighted = streamed(few, 7, sample_weight=np.full(60, 2.0))
    assert twice._state.stats.n == weighted._state.stats.n == 120
    assert len(twice._waiting.samples.values) == 60
    assert twice.elbo_ == pytest.approx(weighted.elbo_, rel=1e-9)


def test_samples_of_no_weight_are_not_kept(few: Views) -> None:
    weight = np.tile([1.0, 0.0], 30)
    every_other = {name: view[::2] for name, view in few.items()}
    stream = streamed(few, 10, sample_weight=weight)
    assert len(stream._waiting.samples.values) == 30
    assert stream.elbo_ == pytest.approx(streamed(every_other, 10).elbo_, rel=1e-9)


def test_groups_join_while_samples_wait() -> None:
    views, truth = latens.datasets.make_multiview(60, (20, 10), n_factors=2, groups=3, random_state=4)
    groups = np.array([10, 9, 2])[np.unique(truth.groups, return_inverse=True)[1]]
    order = np.argsort(-groups, kind="stable")  # the first batches are of one group
    views, groups = {name: view[order] for name, view in views.items()}, groups[order]
    whole, stream = model().partial_fit(views, groups=groups), streamed(views, 6, groups=groups)
    assert stream.layout_.groups == whole.layout_.groups == ("2", "9", "10")
    assert stream.elbo_ == pytest.approx(whole.elbo_, rel=1e-9)
    assert stream._state.stats.sizes == pytest.approx([np.sum(groups == g) for g in (2, 9, 10)])
    stream.partial_fit(part(views, slice(5)))  # of unknown group
    assert stream._state.stats.sizes.sum() == 65
    alone = model().partial_fit(part(views, slice(4)), groups=groups[:4]).partial_fit(part(views, slice(4, 8)))
    assert alone.layout_.groups == ()
    assert alone._state.stats.n == 8
    alone.partial_fit(part(views, slice(56, 60)), groups=groups[56:])
    assert alone.layout_.groups == ("2", "10")
    assert alone._state.stats.sizes == pytest.approx([4, 8])


def test_known_precisions_stay_with_their_samples() -> None:
    views, truth = latens.datasets.make_multiview(50, (12, 8), n_factors=2, groups=2, random_state=5)
    known = np.random.default_rng(1).uniform(0.5, 2, views["view0"].shape)
    whole = model().partial_fit(views, groups=truth.groups, precision={"view0": known})
    stream = model()
    for at in range(0, 50, 5):
        rows = slice(at, at + 5)
        stream.partial_fit(part(views, rows), groups=truth.groups[rows], precision={"view0": known[rows]})
    assert stream.layout_ == whole.layout_
    assert stream.elbo_ == pytest.approx(whole.elbo_, rel=1e-9)
    with pytest.raises(ValueError, match="fitted with known precisions"):
        stream.partial_fit(part(views, slice(5)), groups=truth.groups[:5])


def test_a_view_may_come_later_than_others(few: Views) -> None:
    early = {name: np.where(name == "view2", np.nan, view[:10]) for name, view in few.items()}
    stream = model().partial_fit(early)
    assert stream.likelihoods_["view2"] == "gaussian"  # nobody knows yet
    stream.partial_fit(part(few, slice(10, 60)))
    assert stream.likelihoods_ == dict(zip(few, KINDS, strict=True))
    nothing = np.isnan(np.hstack(list(early.values()))).all(axis=1)
    assert stream._state.stats.n == 60 - nothing.sum()


@pytest.mark.extras
def test_names_choose_the_columns_of_later_batches() -> None:
    pd = pytest.importorskip("pandas")
    views = make("gaussian", n=30, d=8, k=1)
    frame = pd.DataFrame(views["v"], columns=list("abcdefgh"), index=[f"p{i}" for i in range(30)])
    stream = model(2).partial_fit({"v": frame[:10]}).partial_fit({"v": frame.iloc[10:, ::-1]})
    whole = model(2).partial_fit({"v": frame})
    assert stream.elbo_ == pytest.approx(whole.elbo_, rel=1e-9)
    assert whole.row_names_[:2] == ("p0", "p1")


@pytest.mark.parametrize("grouped", [False, True])
def test_samples_that_wait_are_saved(grouped: bool, few: Views, tmp_path: Path) -> None:
    groups = {"groups": np.repeat(["a", "b"], 30)} if grouped else {}
    early = streamed(few, 10, 20, **groups)  # of one group so far
    for stream in (early, streamed(few, 10, 40, **groups)):
        loaded = latens.load(latens.save(stream, tmp_path / "stream"))
        assert loaded._waiting.layout == stream._waiting.layout
        rest = {name: note[40:] for name, note in groups.items()}
        for one in (stream, loaded):
            one.partial_fit(part(few, slice(40, 60)), **rest)
        assert loaded.elbo_ == stream.elbo_
        assert loaded._state.stats.n == stream._state.stats.n
    assert clone(stream)._waiting is None


@pytest.fixture(scope="module")
def honest(few: Views, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return latens.save(model().partial_fit(few), tmp_path_factory.mktemp("streams") / "honest")


@pytest.mark.parametrize(
    ("path", "change", "message"),
    [
        ("values", lambda x: x[:, 1:], "_waiting.values has shape|expected"),
        ("weight", lambda x: -x, "count as none"),
        ("weight", lambda x: 2 * x, "samples wait, and its fit is of"),
        ("values", lambda x: x + 1, "values where they miss them"),
        ("values", lambda x: x * np.nan, "NaN or infinity"),
    ],
)
def test_lies_about_samples_that_wait_are_refused(
    path: str, change: Any, message: str, honest: Path, tmp_path: Path
) -> None:
    forged = Forgery(honest)
    where = f"attributes._waiting.samples.{path}"
    forged.put(where, change(forged.get(where)))
    with pytest.raises(FileRefused, match=message):
        latens.load(forged.write(tmp_path / "model"))


def test_a_refused_batch_leaves_those_that_wait(few: Views) -> None:
    stream = streamed(few, 10, 20)
    before = dict(vars(stream))
    for bad in ({"view1": np.full((2, 8), np.inf)}, {"other": np.ones((2, 3))}, {"view0": np.zeros((0, 9))}):
        with pytest.raises(ValueError, match=r"infinity|were not there|have no rows"):
            stream.partial_fit(bad)
        assert vars(stream) == before
    chosen = model(likelihoods={"view1": "bernoulli"}).partial_fit(part(few, slice(10)))
    with pytest.raises(ValueError, match="is to be bernoulli but holds other values"):
        chosen.partial_fit({"view1": np.full((2, 8), 3.0)})
    assert chosen._state.stats.n == 10


def test_columns_may_vary_later_and_are_told_when_they_do_not() -> None:
    views = make("gaussian", n=LEAST_SAMPLES, d=10, k=1)
    views["v"][:, 3] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stream = streamed(views, 50, LEAST_SAMPLES - 50)
    with pytest.warns(ConstantColumns, match="v_3"):
        stream.partial_fit(part(views, slice(LEAST_SAMPLES - 50, None)))


def test_a_warm_start_does_not_go_on_from_few_samples() -> None:
    views = make("bernoulli", n=150)
    warm = streamed(views, 10, found=model(warm_start=True))
    assert warm.elbo_ == pytest.approx(streamed(views, 50).elbo_, rel=1e-12)


def test_fit_forgets_those_that_wait(few: Views) -> None:
    assert streamed(few, 10, 20).fit(few)._waiting is None


def test_tables_without_rows_are_told(few: Views) -> None:
    found = model(max_iter=5).partial_fit(few)
    with pytest.raises(ValueError, match=r"'view0' have no rows; give at least one sample"):
        found.transform({"view0": np.zeros((0, 9))})
