"""A fit that dies and goes on ends as if it had lived: every estimator, killed after every record of its journal."""

from __future__ import annotations

import copy
import hashlib
import os
import secrets
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count, repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.core import Iteration
from latens.errors import FitInterrupted, FitResumed
from latens.inference.search.journal import Journal
from latens.io.checkpoint import CheckpointStore
from tests.estimators.subjects import targets

RNG = np.random.default_rng(4)
CODES = (RNG.random((60, 2)) < 0.4).astype(float)
X = CODES @ RNG.normal(0, 3, (2, 4)) + 0.3 * RNG.normal(size=(60, 4))
SIGNS = (X > 0).astype(float)
HOLES = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
COUNTS = RNG.poisson(np.exp(0.3 * X)).astype(float)
SEARCH = {"n_init": 2, "max_iter": 40, "tol": 1e-3, "random_state": 0}  # restarts, then moves

# overlapping clusters and causes, in which several moves are accepted
OVERLAP = np.random.default_rng(4)
LABELS = OVERLAP.integers(0, 6, 120)
CLUSTERS = 2.2 * OVERLAP.normal(size=(6, 3))[LABELS] + OVERLAP.normal(size=(120, 3))
SWITCHES = (OVERLAP.random((120, 4)) < 0.35).astype(float)
CAUSES = SWITCHES @ OVERLAP.normal(0, 2, (4, 6)) + 0.4 * OVERLAP.normal(size=(120, 6))
MOVED = {"init": "random", "n_init": 1, "max_iter": 250, "tol": 3e-4}

FITS: dict[str, tuple[Callable[[], Any], Any]] = {
    "binary, exact": (lambda: latens.BinaryFactorAnalysis(3, **SEARCH), X),
    "binary, mean field": (lambda: latens.BinaryFactorAnalysis(3, e_step="mean-field", **SEARCH), HOLES),
    "binary, truncated": (lambda: latens.BinaryFactorAnalysis(4, e_step="truncated", **SEARCH), X),
    "noisy-OR": (lambda: latens.NoisyOr(3, **SEARCH), SIGNS),
    "noisy-OR, truncated": (lambda: latens.NoisyOr(4, e_step="truncated", **SEARCH), SIGNS),
    "noisy-OR, Jensen": (lambda: latens.NoisyOr(3, e_step="jensen", **SEARCH), SIGNS),
    "mixture, full": (lambda: latens.GaussianMixture(4, **SEARCH), X),
    "mixture, diagonal, holes": (lambda: latens.GaussianMixture(4, covariance_type="diag", **SEARCH), HOLES),
    "Bernoulli mixture": (lambda: latens.BernoulliMixture(3, **SEARCH), SIGNS),
    "classes": (lambda: latens.LatentClassAnalysis(3, **SEARCH), np.column_stack([X[:, :2], SIGNS[:, 2:], COUNTS])),
    "ICA": (lambda: latens.NoisyICA(2, **SEARCH), X),
    "factors": (lambda: latens.FactorAnalysis(2, **SEARCH), X),
    "factors, relevance, holes": (lambda: latens.FactorAnalysis(2, prior="ard", **SEARCH), HOLES),
    "factors, online": (lambda: latens.FactorAnalysis(2, solver="transport", **SEARCH), np.tile(X, (60, 1))),
    "views": (
        lambda: latens.MultiViewFactorAnalysis(3, likelihoods={"signs": "bernoulli"}, **SEARCH),
        {"numbers": HOLES, "signs": SIGNS, "counts": COUNTS},
    ),
    "views, sparse factors": (lambda: latens.MultiViewFactorAnalysis(3, sparse_factors=True, **SEARCH), {"x": X}),
    "regression": (lambda: latens.BayesianLinearRegression("gamma", "gamma", max_iter=20), X),
    "accepted moves": (lambda: latens.GaussianMixture(6, random_state=0, **MOVED), CLUSTERS),
    "accepted moves, posteriors of rows kept": (
        lambda: latens.BinaryFactorAnalysis(7, e_step="mean-field", random_state=2, **MOVED),
        CAUSES,
    ),
    "stochastic passes": (
        lambda: latens.GaussianMixture(
            3, learning_method="online", batch_size=20, **SEARCH | {"max_iter": 4, "tol": 0}
        ),
        X,
    ),
    "search on a part of the rows": (lambda: latens.GaussianMixture(3, **SEARCH), np.tile(X, (150, 1))),
}
SCANNED = ("binary, mean field", "mixture, full", "factors", "factors, online", "ICA")
NOT_SCANNED = {"views", "views, sparse factors", "regression"}  # views are scanned below; regression has one pass


class Killed(BaseException):
    """Ends a process, as far as the journal can tell."""


@contextmanager
def dying_after(n_records: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process dies after so many records were written; nothing that it still does reaches the disk."""
    left, write = [n_records], CheckpointStore.write

    def write_and_die(self: CheckpointStore, notes: Any) -> None:
        if left[0] > 0:
            write(self, notes)
            left[0] -= 1
            if not left[0]:
                raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(CheckpointStore, "write", write_and_die)
        yield


@pytest.fixture(autouse=True)
def at_every_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes are written as soon as there is something to note, without waiting for the disk."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    monkeypatch.setitem(Journal.__init__.__kwdefaults__, "interval", 0.0)
    monkeypatch.setitem(Journal.__init__.__kwdefaults__, "share", np.inf)


def fitted(make: Callable[[], Any], rows: Any, folder: Path | None = None, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = targets(rows) if isinstance(make(), latens.BayesianLinearRegression) else None
        return make().fit(rows, y, checkpoint=folder, **options)


def sha256(model: Any) -> str:
    """Of the bound, of every number that was found, and of the whole trace but for its clock."""
    digest = hashlib.sha256()
    for name, value in sorted(vars(model).items()):
        if isinstance(value, np.ndarray | float | int) and name.endswith("_"):
            digest.update(name.encode() + np.asarray(value).tobytes())
    for event in model.trace_:
        digest.update(repr((event.step, event.restart, event.elbo, event.terms, event.n_components)).encode())
    return digest.hexdigest()


def lives(
    make: Callable[[], Any], rows: Any, folder: Path, lengths: Iterable[int], monkeypatch: pytest.MonkeyPatch
) -> tuple[Any, int]:
    """The model after as many lives as it took, each of them so many records long; and how many those were."""
    for n_lives, length in enumerate(lengths, 1):
        with dying_after(length, monkeypatch):
            try:
                return fitted(make, rows, folder), n_lives
            except Killed:
                assert {path.suffix for path in folder.iterdir()} <= {".checkpoint", ".previous"}
    raise AssertionError("no end in sight")


SLOW_TO_END = {"stochastic passes"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW_TO_END else name for name in FITS]
)
def test_a_fit_that_is_killed_ever_later_ends_with_the_same_bits(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, rows = FITS[name]
    model, n_lives = lives(make, rows, tmp_path, count(1), monkeypatch)
    assert n_lives > 1
    assert sha256(model) == sha256(fitted(make, rows))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", FITS)
def test_a_fit_that_is_killed_after_every_single_record_ends_with_the_same_bits(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, rows = FITS[name]
    model, n_lives = lives(make, rows, tmp_path, repeat(1), monkeypatch)
    assert n_lives > 2
    assert sha256(model) == sha256(fitted(make, rows))


@pytest.mark.parametrize(
    "name",
    [
        name if name in SCANNED else pytest.param(name, marks=pytest.mark.slow)
        for name in FITS
        if name not in NOT_SCANNED
    ],
)
def test_rows_that_are_read_in_blocks_go_on_too(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make, rows = FITS[name]
    np.save(tmp_path / "rows.npy", rows)
    scan = latens.scan(tmp_path / "rows.npy", block_rows=len(rows) // 3)
    model, n_lives = lives(make, scan, tmp_path / "notes", count(1), monkeypatch)
    assert n_lives > 1
    assert sha256(model) == sha256(fitted(make, scan))


@pytest.mark.slow
def test_views_that_are_read_in_blocks_go_on_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make, views = FITS["views"]
    scans = {name: latens.scan(view, block_rows=20) for name, view in views.items()}
    model, n_lives = lives(make, scans, tmp_path, count(1), monkeypatch)
    assert n_lives > 1
    assert sha256(model) == sha256(fitted(make, scans))


def test_a_fit_that_goes_on_says_from_where_and_how_far_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make, _ = FITS["mixture, full"]
    die_once(make, tmp_path, 3, monkeypatch)
    with pytest.warns(
        FitResumed, match=r"GaussianMixture continues from '.*GaussianMixture-[0-9a-f]{16}\.checkpoint': 1 step"
    ):
        model = make().fit(X, checkpoint=tmp_path)
    assert "fit-resumed" in [record.code for record in model.warnings_]


def die_once(make: Callable[[], Any], folder: Path, n_records: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with dying_after(n_records, monkeypatch), pytest.raises(Killed):
        fitted(make, X, folder)


def test_other_questions_and_other_rows_have_files_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, _ = FITS["mixture, full"]
    others = [
        (lambda: make().set_params(covariance_type="diag"), X),
        (lambda: make().set_params(random_state=1), X),
        (lambda: make().set_params(tol=1e-4), X),
        (make, X + 1e-9),
    ]
    die_once(make, tmp_path, 3, monkeypatch)
    for other, rows in others:
        with dying_after(2, monkeypatch), pytest.raises(Killed):
            fitted(other, rows, tmp_path)
    assert len(list(tmp_path.glob("*.checkpoint"))) == 1 + len(others)
    assert sha256(fitted(make, X, tmp_path)) == sha256(fitted(make, X))
    assert len(list(tmp_path.glob("*.checkpoint"))) == len(others)


def test_what_does_not_change_the_answer_does_not_change_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, _ = FITS["mixture, full"]
    die_once(make, tmp_path, 3, monkeypatch)
    with pytest.warns(FitResumed):
        make().set_params(n_jobs=1, verbose=0, callbacks=lambda event: None).fit(X, checkpoint=tmp_path)


@pytest.mark.parametrize(
    "seed", [None, np.random.default_rng(5), np.random.RandomState(5)], ids=["none", "generator", "state"]
)
def test_generators_of_every_kind_go_on(seed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make() -> Any:
        return latens.GaussianMixture(4, init="random", **SEARCH | {"random_state": copy.deepcopy(seed), "n_init": 1})

    entropy = secrets.randbits(128)
    monkeypatch.setattr(secrets, "randbits", lambda n_bits: entropy)
    alone = sha256(fitted(make, X, tmp_path))
    model, n_lives = lives(make, X, tmp_path, count(2), monkeypatch)
    assert n_lives > 1
    assert sha256(model) == alone


def test_callbacks_see_each_iteration_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make, _ = FITS["mixture, full"]
    alone, seen = list[tuple[int, float]](), list[tuple[int, float]]()

    def watched(events: list[tuple[int, float]]) -> Callable[[], Any]:
        def note(event: Iteration) -> None:
            events.append((event.restart, event.elbo))

        return lambda: make().set_params(callbacks=note)

    fitted(watched(alone), X)
    lives(watched(seen), X, tmp_path, count(1), monkeypatch)
    # an iteration that was under way when the fit died is done again, and seen again
    assert list(dict.fromkeys(seen)) == list(dict.fromkeys(alone))
    assert len(seen) < 1.5 * len(alone)


def test_an_interrupt_keeps_the_checkpoint_and_the_next_fit_goes_on(tmp_path: Path) -> None:
    make, _ = FITS["mixture, full"]

    def press(event: Iteration) -> None:
        if event.step == 1:
            raise KeyboardInterrupt

    with pytest.warns(FitInterrupted, match="Call fit with the same checkpoint to go on"):
        broken = make().set_params(callbacks=press).fit(X, checkpoint=tmp_path)
    assert not broken.converged_
    assert len(list(tmp_path.glob("*.checkpoint"))) == 1
    assert sha256(fitted(make, X, tmp_path)) == sha256(fitted(make, X))
    assert list(tmp_path.iterdir()) == []


def test_an_error_keeps_the_checkpoint_and_the_next_fit_goes_on(tmp_path: Path) -> None:
    make, _ = FITS["mixture, full"]

    def fail(event: Iteration) -> None:
        if event.step == 1:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fitted(lambda: make().set_params(callbacks=fail), X, tmp_path)
    with pytest.warns(FitResumed):
        model = make().fit(X, checkpoint=tmp_path)
    assert sha256(model) == sha256(fitted(make, X))


def test_a_fit_whose_time_is_over_goes_on_with_more_of_it(tmp_path: Path) -> None:
    make, _ = FITS["mixture, full"]
    with pytest.warns(UserWarning, match="used all max_time=1e-05 seconds.*Call fit with the same checkpoint to go on"):
        make().set_params(max_time=1e-5).fit(X, checkpoint=tmp_path)
    with pytest.warns(FitResumed):
        model = make().fit(X, checkpoint=tmp_path)
    assert sha256(model) == sha256(fitted(make, X))


def test_a_fit_that_a_callback_stops_is_done(tmp_path: Path) -> None:
    make, _ = FITS["mixture, full"]
    fitted(lambda: make().set_params(callbacks=lambda event: event.step == 1), X, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_short_fits_write_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Journal.__init__.__kwdefaults__, "interval", 30.0)
    monkeypatch.setattr(CheckpointStore, "write", lambda self, notes: pytest.fail("written"))
    fitted(*FITS["mixture, full"], tmp_path)


@pytest.mark.parametrize(
    ("checkpoint", "error", "words"),
    [
        (7, TypeError, "checkpoint=7 is no path; give the name of a folder"),
        (
            "rows.npy",
            FileExistsError,
            "nothing can be written to checkpoint=.*rows.npy.*give a folder that you may write",
        ),
    ],
)
def test_a_folder_that_cannot_be_written_is_refused_before_the_fit(
    checkpoint: Any, error: type[Exception], words: str, tmp_path: Path
) -> None:
    (tmp_path / "rows.npy").write_bytes(b"")
    model = latens.GaussianMixture(2)
    with pytest.raises(error, match=words):
        model.fit(X, checkpoint=tmp_path / checkpoint if isinstance(checkpoint, str) else checkpoint)
    assert not hasattr(model, "posterior_")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.npy"]


OF_TORCH = ("binary, exact", "binary, mean field", "binary, truncated", "noisy-OR, truncated", "ICA", "views")


@pytest.mark.extras
@pytest.mark.parametrize("name", OF_TORCH)
def test_rows_of_torch_go_on_too(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    make, rows = FITS[name]
    rows = {view: torch.asarray(x) for view, x in rows.items()} if isinstance(rows, dict) else torch.asarray(rows)
    model, n_lives = lives(make, rows, tmp_path, count(1, 2), monkeypatch)
    assert n_lives > 1
    assert sha256(model) == sha256(fitted(make, rows))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.extras
def test_a_checkpoint_of_rows_of_torch_is_not_that_of_the_same_rows_of_numpy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    make, rows = FITS["ICA"]
    for each in (torch.asarray(rows), rows):
        with dying_after(1, monkeypatch), pytest.raises(Killed):
            fitted(make, each, tmp_path)
    assert len(list(tmp_path.glob("*.checkpoint"))) == 2
