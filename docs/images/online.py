"""Draws the bound of all rows against rows seen in stochastic passes: `python docs/images/online.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def main() -> None:
    from benchmarks.scale.passes import curves
    from benchmarks.setting import FULL

    mpl.use("agg")
    mpl.rcParams["svg.hashsalt"] = "latens"
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6.0, 3.4))
    for curve in curves(FULL):
        shares = [100 * curve.share(at) for at in range(len(curve.seen))]
        print(curve.name, [round(share, 2) for share in shares])
        ax.plot(curve.seen, shares, marker=".", label=curve.name)
    ax.axhline(99, color="grey", linewidth=0.8, linestyle=":")
    ax.set_xlabel("passes over the rows")
    ax.set_ylabel("% of the gain of a batch fit")
    ax.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(Path(__file__).with_name("online.svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
