"""What a fit publishes is where its intervals are: within a standard deviation of their estimates."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import latens
from tests.contract.variants import VARIANTS, Call

SEARCHED = ("max_iter", "moves", "n_init", "n_components")  # as a user has them

KINDS = [
    "binary-ard-exact-diagonal",
    "noisy-or-ard-exact-1",
    "factors-ard",
    "mixture-full-dirichlet",
    "mixture-diag-dirichlet",
    "mixture-bernoulli-dirichlet",
    "classes-mixed",
    "classes-counts",
    "ica-heavy",
    "views-binary",
    "views-counts",
    "views-common-counts",
    "views-covariates",
    "views-groups",
    "views-precision",
    "views-sparse-codes-groups",
    "views-one-table",
]


def farthest(model: Any, table: Any) -> dict[str, float]:
    """By parameter, how many standard deviations the published numbers are from the sound estimates at most."""
    shown = dict(zip(model.get_feature_names_out(), [row[2] for row in model.summary().rows], strict=True))
    places = {(one.parameter, one.component, one.feature, one.view): one for one in model._numbers()}
    found: dict[str, float] = {}
    for row in table.rows:
        parameter, component, feature, view, estimate, std, *_, sound, _ = row
        number = int(re.sub(r"\D", "", component)) if component else None
        one = places[parameter, number, feature, view]
        if parameter == "share":  # those of the summary; of views as the model has them, not as samples show them
            views = isinstance(model, latens.MultiViewFactorAnalysis)
            value = model._shares_at(model.posterior_)[number] if views else shown[component]
        else:
            published = getattr(model, f"{parameter}_", None)
            if published is None:  # of classes, told as profiles_
                published = model._own_numbers(model.posterior_, model._state.stats)[parameter]
            value = np.asarray(published[view] if isinstance(published, dict) else published)[one.place]
        if sound:
            found[parameter] = max(found.get(parameter, 0.0), abs(value - estimate) / std)
    return found


@pytest.mark.parametrize("name", KINDS)
def test_published_numbers_are_those_of_intervals(name: str) -> None:
    given = VARIANTS[name]
    params = {key: value for key, value in given.params.items() if key not in SEARCHED}
    variant = replace(given, params=params, n_rows=210)
    call: Call = variant.batch(0)
    model = call.fit(variant.make())
    table = model.intervals(**call.arguments, method="response")
    found = farthest(model, table)
    assert found or not any(row[8] for row in table.rows)
    assert all(gap < 1 for gap in found.values()), found


def firms(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three columns of eleven groups whose sizes differ by hundreds, as of firms of which one is large."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(11), 20)
    size = np.exp(rng.normal(size=11) * 1.5)[group]
    growth, luck = rng.normal(size=(2, 220)) * size
    x = np.stack([0.1 * growth + 0.05 * luck, growth, 0.5 * growth - 0.4 * luck], axis=1)
    return 100 * x + 300 * size[:, None] + rng.normal(size=x.shape) * [3.0, 20.0, 10.0], group


@pytest.mark.parametrize("seed", [0, 1])
def test_loadings_of_groups_are_those_of_their_intervals(seed: int) -> None:
    x, group = firms(seed)
    model = latens.MultiViewFactorAnalysis(random_state=0).fit(x, groups=group)
    table = model.intervals(x, groups=group, method="response")
    found = farthest(model, table)
    assert found["components"] < 1
    assert found["intercepts"] < 0.5
