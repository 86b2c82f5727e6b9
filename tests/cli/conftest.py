"""Tables that commands read, each in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two clusters in three columns, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 1, (60, 3)), rng.normal(6, 1, (40, 3))].round(3)
    X[3, 1] = np.nan
    lines = [",".join("" if value != value else str(value) for value in row) for row in X]
    (tmp_path / "n.csv").write_text("\n".join(["a,b,c", *lines]))
    return Path("n.csv")


@pytest.fixture
def mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    z = rng.normal(size=80)
    lines = ["who,height,weight,smokes,town"]
    for i in range(80):
        weight = "" if i == 7 else f"{70 + 8 * z[i] + rng.normal():.2f}"
        smokes = "yes" if z[i] + 0.5 * rng.normal() > 0 else "no"
        town = ["Oslo", "Rome", "Lima"][int(np.clip(z[i] + 1.5, 0, 2))]
        lines.append(f"p{i},{170 + 10 * z[i] + rng.normal():.1f},{weight},{smokes},{town}")
    (tmp_path / "mixed.csv").write_text("\n".join(lines))
    return Path("mixed.csv")
