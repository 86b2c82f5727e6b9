"""Batches of several views, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from latens.datasets import make_multiview
from tests.estimators.multi_view.estimator.views import MIXED, Views, model

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class TestStreams:
    @pytest.mark.slow
    @pytest.mark.parametrize("kind", MIXED)
    def test_later_batches_improve_what_is_said_of_unseen_samples(self, kind: str) -> None:
        views, _ = make_multiview(900, (40, 30), (kind, kind), n_factors=2, random_state=65)

        def part(rows: slice) -> Views:
            return {name: view[rows] for name, view in views.items()}

        stream, scores = model(4), []
        for start in range(0, 700, 70):
            stream.partial_fit(part(slice(start, start + 70)))
            scores.append(stream.score(part(slice(700, 900))))
        at_once = model(4).fit(part(slice(0, 700))).score(part(slice(700, 900)))
        assert scores[-1] > scores[0] + 0.5 * (at_once - scores[0])
        assert stream._state.stats.n == 700
        with pytest.raises(AttributeError, match=r"give the samples: model\.associate"):
            stream.associate({"x": np.arange(900)})
        assert np.all(stream.explained_["total"] <= 1)

    def test_a_stream_takes_any_views_and_groups(self) -> None:
        views, truth = make_multiview(300, (30, 20), n_factors=2, groups=2, random_state=66)
        stream = model(3).partial_fit(views, groups=truth.groups)
        before = stream.transform(views, groups=truth.groups)
        stream.partial_fit({"view1": views["view1"]}, groups=truth.groups)
        stream.partial_fit(views)
        assert stream._state.stats.n == 900
        after = stream.transform(views, groups=truth.groups)
        assert np.abs(np.corrcoef(before[:, 0], after[:, 0])[0, 1]) > 0.9

    def test_a_refused_batch_changes_nothing(self, data: tuple[Views, Any]) -> None:
        stream = model(3, max_iter=10).partial_fit(data[0])
        before = dict(vars(stream))
        with pytest.raises(ValueError, match="infinity"):
            stream.partial_fit({"view0": np.full((2, 60), np.inf)})
        assert vars(stream) == before
