"""Codes under a fixed global posterior: leaps, and Newton's steps, are taken back where they lead astray."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from latens.core import Rows
from latens.inference.local_fixed_point import local_fixed_point, newton_factors
from tests.inference.toy import Local, Place, Scripted

STEADY, TRAPPED = 0, 1  # the two rows


@dataclass(frozen=True)
class Movable(Local):
    """Codes that may be carried to other places; counts the times that a row was carried further than any step goes."""

    n_leaps: int = 0

    def moved_to(self, mean: np.ndarray) -> Movable:
        far = bool(np.max(np.abs(mean - self.mean)) > 0.3)
        return replace(self, mean=mean, n_leaps=self.n_leaps + far)

    def mirrored(self, other: Movable) -> Movable:
        return replace(self, mean=2 * self.mean - other.mean)


@dataclass(frozen=True)
class Trap(Scripted):
    """Local steps of two rows that begin alike, as if both led to 1.

    The steady row ends there. Steps of the other bend towards 0.7 on the way, and from 0.8 on they lead to 10: a leap
    to 1 puts it behind a ridge that its own steps never cross.
    """

    def local_step(self, q: Place, batch: Rows, warm: Movable | None = None) -> Movable:
        before = Movable(np.zeros((len(batch), 1))) if warm is None else warm
        end, speed = np.ones_like(before.mean), np.full_like(before.mean, 0.1)
        x = before.mean[TRAPPED]
        end[TRAPPED] = np.where(x < 0.6, 1.0, np.where(x < 0.8, 0.7, 10.0))
        speed[TRAPPED] = np.where(x < 0.8, 0.1, 0.5)
        return replace(before, mean=before.mean + speed * (end - before.mean), n_steps=before.n_steps + 1)


def test_a_leap_after_which_steps_are_longer_is_taken_back() -> None:
    local = local_fixed_point(Trap([0.0]), Place(), Rows(np.ones((2, 1))))
    assert local.n_leaps >= 1
    assert local.mean[TRAPPED] == pytest.approx(0.7, abs=1e-6)
    assert local.mean[STEADY] == pytest.approx(1.0, abs=1e-6)


def test_steps_that_only_rounding_makes_end() -> None:
    @dataclass(frozen=True)
    class Rounded(Scripted):
        """Steps that fall to 3e-12 and then go up and down by as much, as where noise is next to nothing."""

        def local_step(self, q: Place, batch: Rows, warm: Local | None = None) -> Local:
            before = Local(np.zeros((len(batch), 1))) if warm is None else warm
            nearer = 1 + 0.8 * (before.mean - 1) + (3e-12 if before.n_steps % 2 else -3e-12)
            return replace(before, mean=nearer, n_steps=before.n_steps + 1)

    local = local_fixed_point(Rounded([0.0]), Place(), Rows(np.ones((2, 1))), tol=1e-11, max_iter=300)
    assert local.n_steps < 200
    assert local.mean == pytest.approx(1.0, abs=2e-11)


def test_leaps_save_steps_and_end_where_steps_alone_end() -> None:
    @dataclass(frozen=True)
    class Slow(Scripted):
        def local_step(self, q: Place, batch: Rows, warm: Movable | None = None) -> Movable:
            before = Movable(np.zeros((len(batch), 1))) if warm is None else warm
            return replace(before, mean=before.mean + 0.02 * (1 - before.mean), n_steps=before.n_steps + 1)

    leaping = local_fixed_point(Slow([0.0]), Place(), Rows(np.ones((2, 1))))
    walking = local_fixed_point(Scripted([0.0], pull=0.02), Place(), Rows(np.ones((2, 1))))
    assert leaping.mean == pytest.approx(walking.mean, abs=1e-6)
    assert leaping.n_steps < walking.n_steps / 10


@dataclass(frozen=True)
class Bent(Scripted):
    """Two codes of a row that pull at each other, and lead to an end that is moved by `shift`."""

    shift: float = 0.0

    def local_step(self, q: Place, batch: Rows, warm: Movable | None = None) -> Movable:
        before = Movable(np.zeros((len(batch), 2))) if warm is None else warm
        turned = np.array([[0.1, 0.8], [-0.7, 0.3]])
        mean = np.tanh(before.mean @ turned + [0.5 + self.shift, -0.2])
        return replace(before, mean=mean, n_steps=before.n_steps + 1)


def test_newtons_steps_end_where_the_others_do_in_a_third_of_them() -> None:
    rows, here, there = Rows(np.ones((3, 2))), Bent([0.0]), Bent([0.0], shift=0.01)
    start = replace(local_fixed_point(here, Place(), rows, tol=1e-12), n_steps=0)
    factors = newton_factors(here, Place(), rows, start)
    assert factors is not None
    quick = local_fixed_point(there, Place(), rows, start, tol=1e-10, factors=factors)
    usual = local_fixed_point(there, Place(), rows, start, tol=1e-10)
    assert quick.mean == pytest.approx(usual.mean, abs=1e-9)
    assert quick.n_steps <= usual.n_steps / 3


def test_factors_that_lead_astray_are_given_up() -> None:
    rows, model = Rows(np.ones((3, 2))), Bent([0.0])
    end = local_fixed_point(model, Place(), rows, tol=1e-12)
    wrong = np.broadcast_to(-5 * np.eye(2), (3, 2, 2))
    found = local_fixed_point(model, Place(), rows, model.local_step(Place(), rows), tol=1e-10, factors=wrong)
    assert found.mean == pytest.approx(end.mean, abs=1e-9)
