"""One posterior of the sources of two."""

from __future__ import annotations

import numpy as np

import latens
from latens.core import Rows, State
from latens.estimators.fitted_parts import fitted_parts
from latens.inference.ascent import ascend


def test_united_sources_are_those_of_both_and_rise_above_either() -> None:
    x, _ = latens.datasets.make_ica(400, 6, 3, snr=10, random_state=0)
    seen = np.random.default_rng(0).random(x.shape) > 0.05
    fit = latens.NoisyICA(3, random_state=0, max_iter=200).fit(x)
    model, q = fitted_parts(fit).model, fit.posterior_
    for rows in (Rows(x), Rows(np.where(seen, x, 0.0), seen)):
        rows = fitted_parts(fit).units.enter(rows)
        parts = [ascend(model, [rows], State(q.only(np.array(own))), max_iter=60) for own in ([0], [1, 2])]
        both = model.united(parts[0].state.q, parts[1].state.q)
        assert both.n_components == 3
        ends = [part.state.q for part in parts]
        assert np.array_equal(both.loadings.mean[:3], np.vstack([ends[0].loadings.mean[:1], ends[1].loadings.mean[:2]]))
        assert np.array_equal(both.loadings.mean[3], ends[0].loadings.mean[1])
        assert np.array_equal(both.shapes.tails, np.concatenate([end.shapes.tails for end in ends]))
        assert np.all(both.loadings.mean_noise <= ends[0].loadings.mean_noise * (1 + 1e-12))
        assert ascend(model, [rows], State(both), max_iter=60).elbo > max(part.elbo for part in parts) + 10
