"""Every family answers through one interface, and a point twin stands in for the family it is the twin of."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from latens.families.beta import Beta
from latens.families.dirichlet import Dirichlet
from latens.families.family import Family
from latens.families.gamma import Gamma
from latens.families.known_dirichlet import KnownDirichlet
from latens.families.known_gamma import KnownGamma
from latens.families.normal_columns import NormalColumns
from latens.families.point_beta import PointBeta
from latens.families.point_dirichlet import PointDirichlet
from latens.families.sticks import Sticks
from latens.io.registry import records

COUNTS = np.array([3.0, 1.0])
# family, its twins, and sums that all of them observe
TWINS: list[tuple[Any, list[Any], tuple[np.ndarray, ...]]] = [
    (Beta(np.ones(2), np.ones(2)), [PointBeta(np.full(2, 0.5))], (COUNTS, np.array([1.0, 2.0]))),
    (
        Dirichlet(np.ones(2)),
        [PointDirichlet(np.full(2, 0.5)), KnownDirichlet(np.full(2, 0.5)), Sticks.prior(1.0, 1.0).tiled(2)],
        (COUNTS,),
    ),
    (Gamma(np.ones(2), np.ones(2)), [KnownGamma(np.ones(2))], (COUNTS, np.array([2.0, 5.0]))),
]
# set by models or drawn; rates are counted
NO_UPDATE = {"NegativeBinomialPoints", "StudentPoints", "Normals", "Offsets", "PointGamma", "SpikeSlab"}


def test_every_family_has_the_interface() -> None:
    families = {name: cls for name, cls in records().items() if cls.__module__.startswith("latens.families.")}
    members = [name for name in dir(Family) if not name.startswith("_")]
    lacking = {
        name: [member for member in members if not hasattr(cls, member) and member not in cls.__dataclass_fields__]
        for name, cls in families.items()
        if name not in NO_UPDATE
    }
    assert {name: members for name, members in lacking.items() if members} == {}
    assert set(families) >= NO_UPDATE


@pytest.mark.parametrize(("family", "twins", "sums"), TWINS, ids=lambda value: type(value).__name__)
def test_twins_take_the_same_sums(family: Any, twins: list[Any], sums: tuple[np.ndarray, ...]) -> None:
    for prior in (family, *twins):
        after = prior.observe(*sums, current=prior)
        assert type(after) is type(prior)
        assert isinstance(after, Family)
        assert after.mean.shape == (2,)
        assert after.kl(prior) >= 0
        assert "current" in inspect.signature(prior.observe).parameters


@pytest.mark.parametrize(("family", "twins", "sums"), TWINS, ids=lambda value: type(value).__name__)
def test_points_estimate_and_what_is_known_stays(family: Any, twins: list[Any], sums: tuple[np.ndarray, ...]) -> None:
    """With many rows the posterior's mean is the point; a known twin is not moved by any."""
    many = tuple(1e9 * part for part in sums)
    for twin in twins:
        name, after = type(twin).__name__, twin.observe(*many, current=twin)
        if name.startswith("Point"):
            assert after.mean == pytest.approx(family.observe(*many).mean, rel=1e-6)
        if name.startswith("Known"):
            assert after is twin
        if not name.startswith("Sticks"):
            assert after.kl(twin) == 0
            assert after.sample(np.random.default_rng(0)) is after


def test_densities_of_fewer_rows_than_columns_are_those_of_their_rows_among_others() -> None:
    rng = np.random.default_rng(1)
    family = NormalColumns(
        rng.normal(size=(3, 8)), rng.gamma(2.0, size=(3, 1)), rng.gamma(2.0, size=(3, 8)), rng.gamma(2.0, size=(3, 8))
    )
    x, seen = rng.normal(size=(20, 8)), (rng.random((20, 8)) < 0.8).astype(float)
    few, many = (family.log_density(x[:n], seen[:n]) for n in (5, 20))
    np.testing.assert_allclose(few, many[:5], rtol=1e-12)
