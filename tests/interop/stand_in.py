"""A fitted model as far as files and tables can see, made without fitting."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from latens.datasets import make_multiview
from latens.estimators.multi_view.tables.wide import lay_out


class StandIn(SimpleNamespace):
    """Carries the fitted attributes of MultiViewFactorAnalysis; its factors are the true ones."""

    def get_feature_names_out(self) -> np.ndarray:
        return np.array(["growth", "sex", "batch"], dtype=object)


def stand_in(
    *, groups: int = 1, row_names: tuple[str, ...] | None = None, **options: Any
) -> tuple[dict[str, Any], Any]:
    """Views and a model of them."""
    kinds = ("gaussian", "bernoulli", "poisson")
    views, truth = make_multiview(40, (7, 5, 4), kinds, 3, missing=0.1, groups=groups, random_state=0, **options)
    names = ("rna/seq", "mut", "counts")
    views = dict(zip(names, views.values(), strict=True))
    layout = lay_out(views, groups=truth.groups if groups > 1 else None).layout
    rng = np.random.default_rng(0)
    own = dict(zip(names, truth.components, strict=True))
    model = StandIn(
        layout_=layout,
        likelihoods_={name: truth.likelihoods[view] for name, view in own.items()},
        components_={name: truth.components[view] for name, view in own.items()},
        intercepts_={name: np.tile(truth.intercepts[view], (groups, 1)) for name, view in own.items()},
        inclusion_={name: (truth.components[view] != 0) * 0.9 for name, view in own.items()},
        noise_variance_={"rna/seq": truth.noise_variance["view0"]},
        scores_=truth.codes,
        row_names_=row_names,
        group_of_=np.array([int(name[-1]) for name in truth.groups]),
        explained_={"per_factor": 0.2 * rng.random((groups, 3, 3)), "total": 0.5 * rng.random((groups, 3))},
        elbo_history_=np.array([-300.0, -200.0, -190.0]),
        trace_=[SimpleNamespace(seconds=0.1 * (i + 1), n_components=3) for i in range(3)],
        n_components_=3,
        random_state=0,
        max_iter=50,
    )
    return views, model
