"""The page about a posterior of a network's weights, against its own numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from tests.report.reading import Page

pytestmark = pytest.mark.extras


def posterior_of(rank: int = 3, outputs: int = 2) -> tuple[Any, Any]:
    """Snapshots that move along one common direction and a little each by itself."""
    import torch

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, outputs))
    start = [p.detach().clone() for p in net.parameters()]
    together = [torch.randn_like(p) for p in net.parameters()]
    found = latens.nets.FactorPosterior(net, rank=rank)
    for _ in range(60):
        step = torch.randn(())
        for p, base, direction in zip(net.parameters(), start, together, strict=True):
            p.data.copy_(base + 0.3 * step * direction + 0.02 * torch.randn_like(p))
        found.update()
    return net, found


def test_tensors_directions_and_answers_of_classes_are_told(tmp_path: Path) -> None:
    import torch

    _, posterior = posterior_of()
    X = torch.randn(50, 3)
    answer = posterior.predict([X], n_samples=8)
    y = np.arange(50) % 2
    text = Page(latens.report(posterior, answer, tmp_path / "page.html", y=y)).text
    factors, noise = (np.asarray(part, dtype=float) for part in posterior.covariance_factors())
    share = np.sum(factors**2) / (np.sum(factors**2) + noise.sum())
    assert f"hold {100 * share:.0f} % of the variance" in text or f"holds {100 * share:.0f} % of the variance" in text
    assert "26 weights in 4 tensors · FactorPosterior, 60 snapshots" in text
    for words in ("0.weight", "4 × 3", "2.bias", "calibration error", "Brier score", "as sure as right"):
        assert words in text
    assert f"{100 * np.mean(answer.classes == y):.1f} %" in text
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    axis = page[: page.rindex("probability of the answer")].rpartition('<svg class="chart"')[2]  # numbers of the axes
    ticks = [float(tick) for tick in re.findall(r">(\d+\.?\d*)</text>", axis)]
    assert len(ticks) > 0
    assert max(ticks) <= 1  # both axes are shares


def test_regressions_are_told_by_how_many_targets_their_intervals_hold(tmp_path: Path) -> None:
    import torch

    _, posterior = posterior_of(outputs=1)
    X = torch.randn(40, 3)
    answer = posterior.predict([X], n_samples=8, task="regression")
    y = np.asarray(answer.mean)
    text = Page(latens.report(posterior, answer, tmp_path / "page.html", y=y)).text
    assert "100 % of the targets lie in their 95 % interval." in text
    assert "level of the interval" in text


def test_a_posterior_without_answers_and_one_of_several_trainings_have_pages(tmp_path: Path) -> None:
    posteriors = [posterior_of()[1] for _ in range(2)]
    alone = Page(latens.report(posteriors[0], path=tmp_path / "one.html")).text
    assert "Calibration: not looked at" in alone
    several = latens.nets.MultiPosterior(posteriors)
    assert "120 snapshots of 2 trainings" in Page(latens.report(several, path=tmp_path / "two.html")).text
