"""Dask: the same bits whoever does the work, whoever dies; clear words where it cannot be done."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.core.rows import BLOCK_FLOATS, rows_of_block
from latens.estimators.rows.sampling import SKETCH
from latens.inference.search.journal import Journal
from tests.estimators.fitting.test_checkpoints import lives, sha256

pytestmark = pytest.mark.extras

RNG = np.random.default_rng(3)
X = 4 * RNG.normal(size=(3, 5))[RNG.integers(0, 3, 2400)] + RNG.normal(size=(2400, 5))


@pytest.fixture(autouse=True)
def on_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows stay on the workers, though they are few."""
    from latens.scale import dask_blocks

    monkeypatch.setattr(dask_blocks, "MOST_BYTES_GATHERED", 0)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    from distributed import Client

    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


def mixture(**options: Any) -> latens.GaussianMixture:
    """Few passes: each costs tasks, and moves make many."""
    few = {"n_components": 3, "random_state": 0, "moves": False, "max_iter": 8, "tol": 0}
    return latens.GaussianMixture(**few | options)


def chunked(x: np.ndarray, rows: int = 600) -> Any:
    import dask.array

    return dask.array.from_array(x, chunks=(rows, x.shape[1]))


def same_bits(a: Any, b: Any) -> None:
    assert a.elbo_history_.tobytes() == b.elbo_history_.tobytes()
    assert a.means_.tobytes() == b.means_.tobytes()


def test_arrays_give_the_fit_of_memory_and_stay_lazy(client: Any) -> None:
    memory, spread = mixture().fit(X), mixture().fit(chunked(X))
    assert spread.n_components_ == memory.n_components_ == 3
    assert spread.elbo_ == pytest.approx(memory.elbo_, rel=1e-12)
    answers = spread.transform(chunked(X, 700))
    assert type(answers).__module__.startswith("dask")
    np.testing.assert_allclose(answers.compute(), spread.transform(X), atol=1e-12)
    np.testing.assert_array_equal(spread.predict(chunked(X)).compute(), spread.predict(X))
    assert spread.score(chunked(X)) == pytest.approx(spread.score(X), rel=1e-12)


def test_intervals_are_told_on_chunks_and_of_small_arrays_here(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from latens.scale import dask_blocks

    x = X[:300]
    model = mixture(max_iter=50).fit(x)
    expected = model.intervals(x)
    there = model.intervals(chunked(x, 150))
    assert there.method == expected.method == "response"
    assert there["std"] == pytest.approx(expected["std"], rel=1e-6)
    with pytest.raises(ValueError, match="X is not the data of the fit"):
        model.intervals(chunked(X[300:600], 150))
    with pytest.raises(ValueError, match="a Dask collection cannot be resampled or sampled"):
        model.intervals(chunked(x, 150), method="gibbs")
    monkeypatch.setattr(dask_blocks, "MOST_BYTES_GATHERED", 2**20)
    assert model.intervals(chunked(x, 150)).rows == expected.rows


@pytest.mark.parametrize(
    "make",
    [
        lambda: latens.FactorAnalysis(2, random_state=0),
        lambda: latens.BinaryFactorAnalysis(3, e_step="mean-field", random_state=0, max_iter=5, tol=0, moves=False),
        lambda: latens.NoisyICA(2, random_state=0, max_iter=5, tol=0, moves=False),
        lambda: latens.MultiViewFactorAnalysis(3, random_state=0, max_iter=5, tol=0, moves=False),
        lambda: latens.LatentClassAnalysis(3, random_state=0, max_iter=5, tol=0, moves=False),
    ],
    ids=["factor analysis", "binary factors", "noisy ica", "views", "latent classes"],
)
def test_every_kind_of_model_runs_on_chunks(client: Any, make: Any) -> None:
    memory, spread = make().fit(X), make().fit(chunked(X))
    assert spread.n_components_ == memory.n_components_
    assert spread.elbo_ >= memory.elbo_ - 1e-3 * len(X)


@pytest.mark.parametrize(("j", "columns"), [(0, 9), (1, 9), (2, 9), (1, 5)])
def test_chunks_of_one_two_and_four_blocks_give_the_bits_of_memory(client: Any, j: int, columns: int) -> None:
    rng = np.random.default_rng(11)
    centres = 4 * rng.normal(size=(3, columns))
    floats = columns + mixture(max_iter=1).fit(rng.normal(size=(100, columns)))._model.floats_per_row(3)
    block = BLOCK_FLOATS // floats
    n = 4 * block + 300
    assert (n > SKETCH) == (columns == 5)  # of that many rows some are out of the sketch, in memory as well
    assert rows_of_block(n, floats, BLOCK_FLOATS) == block  # memory goes through five of them
    many = centres[rng.integers(0, 3, n)] + rng.normal(size=(n, columns))
    same_bits(mixture(max_iter=3).fit(many), mixture(max_iter=3).fit(chunked(many, 2**j * block)))


@pytest.mark.parametrize("estimator", [latens.NoisyOr, latens.BernoulliMixture])
def test_sparse_chunks_give_the_fit_of_memory(client: Any, estimator: Any) -> None:
    from scipy.sparse import csr_matrix

    options = {"n_components": 3, "random_state": 0, "max_iter": 6, "tol": 0, "moves": False}
    few = (np.abs(X) > 4).astype(float)
    sparse = chunked(few).map_blocks(csr_matrix, meta=csr_matrix((0, 5)))
    memory, spread = estimator(**options).fit(few), estimator(**options).fit(sparse)
    assert spread.n_components_ == memory.n_components_
    assert spread.elbo_ == pytest.approx(memory.elbo_, rel=1e-10)


def test_a_dict_of_arrays_gives_the_fit_of_views_in_memory(client: Any) -> None:
    few = {"n_components": 3, "random_state": 0, "max_iter": 6, "tol": 0, "moves": False}
    memory = latens.MultiViewFactorAnalysis(**few).fit({"left": X[:, :3], "right": X[:, 3:]})
    chunks = {"left": chunked(X[:, :3]), "right": chunked(X[:, 3:])}
    spread = latens.MultiViewFactorAnalysis(**few).fit(chunks)
    assert spread.n_components_ == memory.n_components_
    assert spread.elbo_ == pytest.approx(memory.elbo_, rel=1e-10)
    with pytest.raises(ValueError, match="left, right have 4, 2 blocks; cut them alike"):
        latens.MultiViewFactorAnalysis(**few).fit({"left": chunks["left"], "right": chunked(X[:1200, 3:])})


def test_views_take_covariates_from_columns_of_a_dataframe(client: Any) -> None:
    import dask.dataframe
    import pandas

    site = np.random.default_rng(0).integers(0, 2, len(X))
    frame = pandas.DataFrame(X + 3.0 * site[:, None], columns=list("abcde")).assign(
        site=np.where(site, "Rome", "Oslo"), part=np.repeat(np.arange(4), 600)
    )
    parts = dask.dataframe.from_pandas(frame, npartitions=4)
    full_parts = parts[parts.part != 2][[*"abcde", "site"]]  # one partition has no row left
    few = {"n_components": 3, "random_state": 0, "max_iter": 5, "tol": 0, "moves": False}
    found = latens.MultiViewFactorAnalysis(**few).fit(full_parts, covariates=["site"])
    own = frame[frame.part != 2]
    usual = latens.MultiViewFactorAnalysis(**few).fit(own[list("abcde")], covariates=own[["site"]])
    assert found.covariate_names_ == usual.covariate_names_ == ("site = Rome",)
    assert found.elbo_ >= usual.elbo_ - 1e-3 * len(X)
    with pytest.raises(ValueError, match="pass covariates="):
        found.transform(own[list("abcde")])
    assert len(found.transform(own[list("abcde")], covariates=own[["site"]])) == len(own)
    with pytest.raises(ValueError, match="names of columns of a Dask dataframe"):
        latens.MultiViewFactorAnalysis(**few).fit(full_parts, covariates=["town"])


def test_dataframes_of_unknown_divisions_and_empty_partitions(client: Any) -> None:
    import dask.dataframe
    import pandas

    frame = pandas.DataFrame(X, columns=list("abcde"))
    frame["part"] = np.repeat(np.arange(4), 600)
    parts = dask.dataframe.from_pandas(frame, npartitions=4)
    full_parts = parts[parts.part != 2][list("abcde")]  # one partition has no row left
    model = mixture().fit(full_parts)
    assert model.elbo_ == pytest.approx(mixture().fit(X[frame.part != 2]).elbo_, rel=1e-12)
    assert model.feature_names_in_.tolist() == list("abcde")
    with pytest.raises(ValueError, match="column 'name' of X holds"):
        mixture().fit(parts.assign(name="x"))


def test_bits_do_not_depend_on_the_number_of_workers_or_on_their_deaths(cluster: Any, client: Any) -> None:
    calm = mixture().fit(chunked(X))
    cluster.scale(1)
    while len(client.scheduler_info()["workers"]) != 1:
        time.sleep(0.1)
    same_bits(calm, mixture().fit(chunked(X)))
    cluster.scale(2)
    client.wait_for_workers(2, timeout=60)
    pid = next(iter(client.run(os.getpid).values()))
    steps = []

    def kill_once(event: Any) -> None:
        steps.append(event.step)
        if len(steps) == 3:
            threading.Thread(target=os.kill, args=(pid, signal.SIGKILL)).start()

    same_bits(calm, mixture(callbacks=kill_once).fit(chunked(X)))
    assert len(steps) > 3


def worker_killer(client: Any, steps: list[int], at: int) -> Any:
    """A callback that kills a worker after so many iterations, and holds a client, which no process can send."""

    def kill_once(event: Any) -> None:
        steps.append(event.step)
        if len(steps) == at:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    return kill_once


def test_persisted_chunks_that_die_with_a_worker_are_made_again(client: Any) -> None:
    held, steps = chunked(X).persist(), list[int]()
    model = mixture(callbacks=worker_killer(client, steps, 3)).fit(held)
    same_bits(mixture().fit(chunked(X)), model)
    assert len(steps) > 3
    client.wait_for_workers(2, timeout=60)


def test_chunks_that_are_lost_for_good_end_in_an_error_with_the_remedy(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dask.array

    from latens.scale import dask_blocks

    monkeypatch.setattr(dask_blocks, "PATIENCE", 5.0)
    parts = [
        dask.delayed(part) for part in client.scatter([X[:1200], X[1200:]], workers=[next(iter(client.run(os.getpid)))])
    ]
    lost = dask.array.concatenate([dask.array.from_delayed(part, (1200, 5), X.dtype) for part in parts])
    began, model = time.monotonic(), mixture(callbacks=worker_killer(client, [], 2))
    with pytest.raises(RuntimeError, match=r"lost with their worker and cannot be made again .*; give lazy chunks"):
        model.fit(lost)
    assert time.monotonic() - began < 60
    assert not hasattr(model, "posterior_")
    client.wait_for_workers(2, timeout=60)


def test_a_fit_on_chunks_that_is_killed_goes_on_to_the_same_bits(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(Journal.__init__.__kwdefaults__, "interval", 0.0)
    monkeypatch.setitem(Journal.__init__.__kwdefaults__, "share", np.inf)
    model, n_lives = lives(mixture, chunked(X, 1200), tmp_path, repeat(3), monkeypatch)
    assert n_lives > 1
    assert sha256(model) == sha256(mixture().fit(chunked(X, 1200)))
    assert list(tmp_path.iterdir()) == []


def test_moves_too_are_made_on_chunks(client: Any) -> None:
    spread = mixture(n_components=4, moves=True, max_iter=30, tol=1e-4).fit(chunked(X, 1200))
    assert spread.n_components_ == 3


def test_few_rows_are_fetched(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from latens.scale import dask_blocks

    monkeypatch.setattr(dask_blocks, "MOST_BYTES_GATHERED", 2**20)
    same_bits(mixture().fit(X), mixture().fit(chunked(X)))


class OnGpu(np.ndarray):
    """Looks like an array of CuPy: only what the device reads says where its numbers lie."""

    __cuda_array_interface__ = property(lambda self: {"shape": self.shape})


def test_chunks_on_several_gpus_are_refused_before_anything_is_computed(client: Any) -> None:
    import dask.array

    spread = mixture().fit(chunked(X))
    there = dask.array.from_array(X.view(OnGpu), chunks=(600, 5), asarray=False)
    assert isinstance(there._meta, OnGpu)
    for act in (mixture().fit, spread.transform, spread.score):
        with pytest.raises(ValueError, match=r"chunks on a GPU \(tests.*OnGpu\); several GPUs are not used together"):
            act(there)


def test_chunks_that_turn_out_to_lie_on_a_gpu_are_refused_by_their_worker(client: Any) -> None:
    hidden = chunked(X).map_blocks(lambda chunk: chunk.view(OnGpu), meta=np.zeros((0, 5)))
    with pytest.raises(ValueError, match="Give chunks of NumPy or pandas"):
        mixture().fit(hidden)


def test_without_a_client_it_says_how_to_start_one() -> None:
    with pytest.raises(ValueError, match=r"no client is active; start one first: from dask\.distributed import Client"):
        mixture().fit(chunked(X))


def test_a_long_pass_says_how_many_chunks_are_done(
    client: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from distributed import Queue

    from latens.scale import dask_blocks

    tickets, said = Queue("tickets", client=client), dask_blocks.note_blocks

    def say_and_let_one_through(done: int, n_blocks: int) -> None:
        said(done, n_blocks)
        if not tickets.qsize():  # none are saved up while nothing is said
            tickets.put(None)

    monkeypatch.setattr(dask_blocks, "SECONDS_BETWEEN_LOOKS", 0.1)
    monkeypatch.setattr(dask_blocks, "note_blocks", say_and_let_one_through)
    mixture(max_iter=2, verbose=1).fit(chunked(X, 300).map_blocks(_Held, meta=np.zeros((0, 5))))
    done = [int(number) for number in re.findall(r"(\d+)/8 blocks of a pass", capsys.readouterr().err)]
    assert len(set(done)) > 2
    assert set(done) <= set(range(9))


class _Held:
    """A chunk that a step gets at once somebody has looked at the pass: steps end one by one, however slow they are."""

    def __init__(self, chunk: np.ndarray) -> None:
        self.chunk, self.shape, self.dtype, self.ndim = chunk, chunk.shape, chunk.dtype, chunk.ndim

    def todense(self) -> np.ndarray:
        from distributed import Queue

        Queue("tickets").get(timeout="60s")
        return self.chunk


def test_a_cluster_without_workers_is_given_up(client: Any) -> None:
    from latens.scale.dask_blocks import DaskSweep, dask_source

    source = dask_source(chunked(X))
    idle = DaskSweep(client, patience=0.5)
    workers = list(client.scheduler_info()["workers"])
    client.retire_workers(workers)
    with pytest.raises(RuntimeError, match="no worker for"):
        idle(lambda rows, _: (None, 0.0), source.handles, (None,) * len(source.handles))
