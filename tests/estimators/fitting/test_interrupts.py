"""A fit stopped from the keyboard keeps its best state, says so, and leaves a usable estimator."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import latens
from latens.core import Iteration
from latens.errors import FitInterrupted
from latens.estimators.binary_factors import BinaryFactorAnalysis
from latens.inference.search.optimum import Search
from latens.models.binary_factors.model import BinaryFactors
from tests.estimators.subjects import SUBJECTS, Subject, table
from tests.estimators.switching_causes import switched_rows


def interrupted(fit: Callable[[], Any]) -> Any:
    """The estimator after an interrupt that must warn and must not fly past."""

    def survived() -> Any:
        try:
            return fit()
        except KeyboardInterrupt:
            pytest.fail("the interrupt went through and the fit was lost")

    with pytest.warns(FitInterrupted, match=r"interrupted after \d+ iteration.*can be used.*warm_start"):
        return survived()


def assert_usable(model: Any, X: np.ndarray) -> None:
    assert np.isfinite(model.elbo_)
    assert not model.converged_
    assert np.all(np.isfinite(model.transform(X)))
    assert np.all(np.isfinite(model.score_samples(X)))
    assert model.sample(3)[1].shape == (3, model.n_components_)
    model.summary()


class Pressed:
    """A callback that interrupts at one iteration of one restart, and remembers what it saw."""

    def __init__(self, restart: int, step: int) -> None:
        self.restart, self.step = restart, step
        self.seen: list[Iteration] = []

    def __call__(self, event: Iteration) -> None:
        self.seen.append(event)
        if (event.restart, event.step) == (self.restart, self.step):
            raise KeyboardInterrupt


@pytest.fixture
def X() -> np.ndarray:
    return switched_rows()


def test_an_interrupt_in_the_first_restart_keeps_what_it_reached(transformer: Subject) -> None:
    press, x = Pressed(0, 0), table(transformer)
    model = interrupted(lambda: transformer.make(callbacks=press, tol=0).fit(x))
    assert model.n_iter_ == 1
    assert model.elbo_ == press.seen[-1].elbo
    assert_usable(model, x)


# the others judge their starts on a sample, or have one optimum and one start
SEVERAL_STARTS = ["BinaryFactorAnalysis", "GaussianMixture", "BernoulliMixture", "NoisyICA", "MultiViewFactorAnalysis"]


@pytest.mark.parametrize("name", SEVERAL_STARTS)
def test_an_interrupt_in_a_later_restart_keeps_the_best_so_far(name: str) -> None:
    press, x = Pressed(1, 0), table(SUBJECTS[name])
    model = interrupted(lambda: SUBJECTS[name].make(callbacks=press, n_init=3, moves=False).fit(x))
    ends = {event.restart: event.elbo for event in press.seen}
    assert set(ends) == {0, 1}
    assert model.elbo_ == max(ends.values())


def test_an_interrupted_fit_can_be_taken_up_again(X: np.ndarray) -> None:
    model = interrupted(lambda: BinaryFactorAnalysis(4, callbacks=Pressed(0, 1), random_state=0).fit(X))
    before = model.elbo_
    model.set_params(warm_start=True, callbacks=None).fit(X)
    assert model.converged_
    assert model.elbo_ > before


def test_an_interrupt_during_moves_keeps_the_fit_before_them(X: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = BinaryFactorAnalysis(6, moves=False, n_init=1, random_state=0).fit(X)

    def candidates(self: BinaryFactors, q: Any, *rest: Any) -> Iterator[Any]:
        raise KeyboardInterrupt
        yield q

    monkeypatch.setattr(BinaryFactors, "first_candidates", candidates)
    model = interrupted(lambda: BinaryFactorAnalysis(6, n_init=1, random_state=0).fit(X))
    assert model.elbo_ == plain.elbo_


def test_an_interrupt_within_the_trial_of_a_move_keeps_the_fit_before_it(
    X: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = BinaryFactorAnalysis(6, moves=False, n_init=1, random_state=0).fit(X)
    original, step = BinaryFactors.first_candidates, BinaryFactors.global_step
    trying = threading.Event()

    def candidates(self: BinaryFactors, *rest: Any) -> Iterator[Any]:
        for candidate in original(self, *rest):
            trying.set()
            yield candidate

    def global_step(self: BinaryFactors, *rest: Any) -> Any:
        if trying.is_set():
            raise KeyboardInterrupt
        return step(self, *rest)

    monkeypatch.setattr(BinaryFactors, "first_candidates", candidates)
    monkeypatch.setattr(BinaryFactors, "global_step", global_step)
    model = interrupted(lambda: BinaryFactorAnalysis(6, n_init=1, random_state=0).fit(X))
    assert model.elbo_ == plain.elbo_


def test_an_interrupt_before_anything_was_reached_goes_through_and_leaves_nothing(
    X: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def global_step(self: BinaryFactors, *rest: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(BinaryFactors, "global_step", global_step)
    model = BinaryFactorAnalysis(3, n_init=1, random_state=0)
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert vars(model) == before


class Key:
    """Ctrl-C at one call of what works with numbers, as a profiler counts them: where a fit spends its time."""

    NUMERICAL = ("latens.array.", "latens.families.", "latens.models.")

    def __init__(self, at: int | None = None) -> None:
        self.at, self.calls, self.first, self.best = at, 0, 0, -np.inf
        self.pressed = False

    def see(self, event: Iteration) -> None:
        self.first, self.best = self.first or self.calls, max(self.best, event.elbo)

    def __call__(self, frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_globals.get("__name__", "").startswith(self.NUMERICAL):
            self.calls += 1
            if self.calls == self.at:
                self.pressed = True
                signal.raise_signal(signal.SIGINT)

    def during(self, subject: Subject, options: dict[str, Any]) -> Any:
        """The estimator after a fit during which the key was pressed; None where nothing was kept."""
        model, before = subject.make(callbacks=self.see, n_jobs=1, **options), sys.getprofile()
        try:
            sys.setprofile(self)
            return model.fit(table(subject))
        except KeyboardInterrupt:
            return None
        finally:
            sys.setprofile(before)


OFTEN = {  # with what else there is to be interrupted: starts, moves, finer tolerances, one component more
    "BernoulliMixture": {"n_components": 3, "n_init": 3, "moves": True},
    "FactorAnalysis": {"prior": "ard", "n_components": None},
    "GaussianMixture": {"n_components": 4, "n_init": 3, "moves": True, "tol": 1e-8},
    "LatentClassAnalysis": {"n_components": 3, "n_init": 2, "moves": True},
    "MultiViewFactorAnalysis": {"n_components": 3, "moves": True},
    "NoisyICA": {"moves": True},
    "NoisyOr": {"n_components": 4, "moves": True},
}


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals come to the main thread")
@pytest.mark.parametrize(
    ("name", "n_moments"),
    [
        ("BernoulliMixture", 5),
        ("LatentClassAnalysis", 5),
        *(pytest.param(name, 30, marks=pytest.mark.slow) for name in OFTEN),
    ],
)
@pytest.mark.usefixtures("hears_interrupts")
def test_an_interrupt_at_any_moment_after_the_first_iteration_keeps_the_best_state(name: str, n_moments: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (whole := Key()).during(SUBJECTS[name], OFTEN[name])
    moments = np.linspace(whole.first + 1, whole.calls, n_moments).astype(int)
    for moment in np.unique(moments):
        key = Key(int(moment))
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            model = key.during(SUBJECTS[name], OFTEN[name])
        if not key.pressed:  # the first fit of all has filled caches, too
            assert moment > 0.95 * whole.calls
            continue
        assert model is not None, f"nothing was kept at call {moment} of {whole.calls}"
        assert any(issubclass(one.category, FitInterrupted) for one in warned), f"swallowed at call {moment}"
        assert model.elbo_ >= key.best - 1e-6 * abs(key.best)
        assert np.all(np.isfinite(model.transform(table(SUBJECTS[name]))))


def test_an_interrupt_of_stochastic_passes_keeps_the_last_whole_one() -> None:
    press, x = Pressed(0, 1), table(SUBJECTS["GaussianMixture"])
    options = {"learning_method": "online", "batch_size": 10, "tol": 0, "max_iter": 50}
    model = interrupted(lambda: SUBJECTS["GaussianMixture"].make(callbacks=press, **options).fit(x))
    assert model.n_iter_ == 3  # two passes, and the iteration on all rows that ends every such fit
    assert_usable(model, x)


LONG_FIT = """
import _thread, itertools, signal, warnings
import numpy as np
from latens.errors import FitInterrupted
from latens.estimators.binary_factors import BinaryFactorAnalysis
from latens.models.binary_factors.model import BinaryFactors

rng = np.random.default_rng(0)
X = (rng.random((N, 12)) < 0.3) @ rng.normal(size=(12, 12)) + rng.normal(size=(N, 12))
# no moves: with them 12,000 rows begin on a part of themselves, in one block
OPTIONS = dict(e_step="mean-field", init="random", tol=0, moves=False, random_state=0)
model = BinaryFactorAnalysis(12, max_iter=10**7, n_init=N_INIT, n_jobs=N_JOBS, **OPTIONS)

# a shell that runs its command in the background makes it deaf to interrupts
signal.signal(signal.SIGINT, signal.default_int_handler)
counter, step = itertools.count(), BinaryFactors.global_step

def global_step(*arguments):
    if next(counter) == 20:
        _thread.interrupt_main()
    return step(*arguments)

BinaryFactors.global_step = global_step
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model.fit(X)
assert [w.category for w in caught] == [FitInterrupted], caught
assert np.isfinite(model.transform(X)).all() and model.n_iter_ > 1 and not model.converged_
print("usable")
"""


@pytest.mark.parametrize(
    ("n_rows", "n_init", "n_jobs"),
    [
        (300, 1, 1),
        pytest.param(300, 4, 1, marks=pytest.mark.slow),
        (300, 4, 2),
        pytest.param(12_000, 1, 2, marks=pytest.mark.slow),
    ],
    ids=["one start", "starts in turn", "starts in threads", "blocks in threads"],
)
def test_a_real_interrupt_stops_a_long_fit_and_keeps_what_was_reached(n_rows: int, n_init: int, n_jobs: int) -> None:
    """As Ctrl-C does it: a signal to the main thread, while the work may be going on in others."""
    script = LONG_FIT.replace("N_INIT", str(n_init)).replace("N_JOBS", str(n_jobs)).replace("N,", f"{n_rows},")
    try:
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=180, check=False)
    except subprocess.TimeoutExpired:
        pytest.fail("the fit went on after the interrupt")
    assert run.stdout == "usable\n", run.stderr[-2000:]


def test_an_interrupt_beside_what_a_sample_left_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Search, "_missed", lambda *args: ([], True))
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=(4200, 1))  # one cause or another: of causes that go together a sample is asked twice
    x = (rng.random((4200, 9)) < np.where(np.arange(9) // 3 == kind, 0.8, 0.05)).astype(float)
    with pytest.warns(FitInterrupted):
        model = latens.NoisyOr(3, random_state=0).fit(x)
    assert model.n_iter_ == 1
