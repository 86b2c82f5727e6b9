"""The four regression sets of document 002, from a folder, or made-up ones of their shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

__all__ = ["SETS", "read"]

SETS = {"housing": (506, 13), "concrete": (1030, 8), "energy": (768, 8), "yacht": (308, 6)}  # rows, columns: table 6.1


def read(folder: str, name: str, file: str = "data.csv.gz") -> np.ndarray:
    """A table from FOLDER/uci/NAME/FILE or FOLDER/NAME/FILE."""
    places = [Path(folder) / part / name / file for part in ("uci", ".")]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise ValueError(f"no file {places[0]} or {places[1]}; give the folder that holds the data sets.")
    return np.loadtxt(found, delimiter=",")
