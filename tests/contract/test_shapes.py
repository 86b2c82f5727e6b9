"""Posteriors, local posteriors and statistics have the shapes that their fields declare."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from latens.core import without_transients
from latens.io.checks.shape_checks import arrays_with_shapes, check_axes, check_sizes, switches_of
from tests.contract.cases import CASES, posterior_midway, random_rows

N, D, K = 14, 6, 2


def sizes_of(model: Any) -> dict[str, int]:
    """What shapes refer to: of a model that sees rows cut or dealt by the contract, those of the model within."""
    views = getattr(model, "views", ())
    columns = {f"d.{number}": view.stop - view.start for number, view in enumerate(views)}
    return {"n": N, "k": K, "d": views[-1].stop if views else D, **switches_of(model), **columns}


@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
@pytest.mark.parametrize("name", CASES)
def test_arrays_have_the_shapes_that_their_fields_declare(name: str, holes: bool) -> None:
    rng = np.random.default_rng(3)
    rows = random_rows(rng, N, D, holes=holes, weighted=True)
    model, q = posterior_midway(CASES[name], rows, K, rng)
    local = model.local_step(q, rows)
    within = getattr(model, "model", model)
    for what, part in (("q", q), ("local", without_transients(local)), ("stats", model.statistics(rows, local))):
        found = [one for one in arrays_with_shapes(part, what) if what != "local" or one.shape is not None]
        assert found or what == "local"
        check_axes(found, name)
        check_sizes(found, sizes_of(within))
