"""The text of a header, read as strictly as it is written."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from latens.errors import FileRefused
from latens.io.archive.npy import DTYPES
from latens.io.archive.writing import MODEL, Kind

__all__ = ["parse_header"]

MOST_AXES = 16


def parse_header(text: bytes, kind: Kind = MODEL) -> dict[str, Any]:
    """The header, with its format, its version and its list of arrays checked; the rest is not looked at.

    Raises
    ------
    FileRefused
        If it is of another format, of a newer version, or no header at all.
    """
    header = _parse(text)
    if not isinstance(header, dict) or header.get("format") != kind.format:
        raise FileRefused(
            f"its header does not say that it is a {kind.format}; give a file that {kind.written_by} wrote."
        )
    _check_version(header, kind.version)
    if set(header) != set(kind.keys):
        raise FileRefused(f"its header has the keys {', '.join(header)[:200]}; expected {', '.join(kind.keys)}.")
    if not isinstance(header["latens"], str):
        raise FileRefused("its header does not name the version of latens that wrote it.")
    _check_entries(header["arrays"])
    return header


def _check_version(header: dict[str, Any], newest: int) -> None:
    version = header.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise FileRefused(f"its format version is {str(version)[:40]!r}; expected a whole number from 1 to {newest}.")
    if version > newest:
        raise FileRefused(
            f"it was written by a newer latens (format {str(version)[:40]}, latens {str(header.get('latens'))[:40]}); "
            f"this one reads formats up to {newest}. Upgrade latens: pip install --upgrade latens"
        )


def _parse(text: bytes) -> Any:
    try:
        return json.loads(
            text.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite_float
        )
    except RecursionError:
        raise FileRefused("its header is nested too deeply; no model is.") from None
    except ValueError as error:
        raise FileRefused(f"its header is no valid JSON ({error}).") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise ValueError("a key is given twice")
    return entries


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _finite_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is too large")
    return value


def _check_entries(entries: Any) -> None:
    """The declared arrays, each with a dtype and a shape that numbers can have."""
    if not isinstance(entries, list):
        raise FileRefused("its header lists no arrays.")
    for number, entry in enumerate(entries):
        name = f"arrays/{number}"
        if not isinstance(entry, dict) or set(entry) != {"name", "dtype", "shape", "layout", "sha256"}:
            raise FileRefused(f"{name} is not given by name, dtype, shape, layout and sha256.")
        if entry["name"] != name:
            raise FileRefused(f"{name} is called {str(entry['name'])[:80]!r}; arrays are numbered in their order.")
        if not isinstance(entry["dtype"], str) or entry["dtype"] not in DTYPES:
            raise FileRefused(f"{name} has dtype {str(entry['dtype'])[:80]!r}; a file holds only {', '.join(DTYPES)}.")
        shape, layout = entry["shape"], entry["layout"]
        if not _is_sizes(shape) or len(shape) > MOST_AXES:
            raise FileRefused(f"{name} has shape {str(shape)[:80]}; expected at most {MOST_AXES} sizes from 0 on.")
        if not _is_sizes(layout) or sorted(layout) != list(range(len(shape))):
            raise FileRefused(f"{name} has layout {str(layout)[:80]}; expected an order of its {len(shape)} axes.")
        if not isinstance(entry["sha256"], str) or not re.fullmatch("[0-9a-f]{64}", entry["sha256"]):
            raise FileRefused(f"{name} has no SHA-256 checksum of 64 hexadecimal digits.")


def _is_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(entry) is int and entry >= 0 for entry in value)
