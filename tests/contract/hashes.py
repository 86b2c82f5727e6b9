"""Whether fits still give the same bits: `python -m tests.contract.hashes`.

For every variant and every way its data come, `hashes.json` holds of the bound, its history, each published array and
the codes of a few rows: the first 16 digits of SHA-256, and one number that sums the entries up. Bits depend on the
processor and on the versions of packages, so they are compared on demand, on the machine that wrote them; the numbers
are compared to `CLOSE` by a test on a part of the table; on other machines the bounds alone, to `ELSEWHERE`.

    python -m tests.contract.hashes              differences between the stored set and this code
    python -m tests.contract.hashes --write      replace the stored set, on purpose; say why in hash_changes.md
    python -m tests.contract.hashes --only NAME  fits whose name contains NAME alone; with --write, the others stay
    python -m tests.contract.hashes --to FILE    write this code's set elsewhere, to compare with --from FILE later
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_info

from tests.contract.variants import VARIANTS, Variant

STORED = Path(__file__).with_name("hashes.json")
COMPILED_FIRST = "factors-online-em / plain"  # a loop that others share is compiled as its first user needs it
CLOSE = 1e-9  # relative to the size of an array's entries
ELSEWHERE = 1e-5  # the same for the bound on another processor or with other packages: an ascent carries rounding on
SITUATIONS: dict[str, dict[str, bool]] = {
    "plain": {},
    "weighted": {"weighted": True},
    "holes": {"holes": True},
    "float32": {"single": True},
    "streamed": {"streamed": True},
    "streamed, weighted, with holes": {"streamed": True, "weighted": True, "holes": True},
}

Digest = list[Any]  # SHA-256 of the bits, and a weighted sum of the entries with the size that it is to be judged by
Digests = dict[str, dict[str, Digest]]


def keys() -> list[str]:
    """Every variant in every situation that it takes."""
    return [
        f"{name} / {situation}"
        for name, variant in VARIANTS.items()
        for situation, how in SITUATIONS.items()
        if variant.takes(**how)
    ]


def digests_of(key: str) -> dict[str, Digest]:
    """Digests of one fit, by attribute."""
    name, situation = key.split(" / ")
    how = dict(SITUATIONS[situation])
    streamed = how.pop("streamed", False)
    return {
        attribute: [digest(value), *summary(value)]
        for attribute, value in published(VARIANTS[name], streamed, how).items()
    }


def published(variant: Variant, streamed: bool, how: Mapping[str, bool]) -> dict[str, np.ndarray]:
    """What a fit says in numbers: its public attributes, and the codes and the score of a few rows."""
    model, call = variant.make(), variant.batch(0, **how)
    if streamed:
        call.partial_fit(model)
        variant.batch(1, **how).partial_fit(model)
    else:
        call.fit(model)
    for name, member in vars(type(model)).items():
        if isinstance(member, cached_property):
            getattr(model, name)  # made when it is asked for
    found = dict(_numbers(vars(model)))
    return found | {"transform": call.codes(model), "score": np.asarray(call.score(model))}


def _numbers(attributes: Mapping[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
    """Public fitted attributes that are arrays, numbers or arrays by name."""
    for name, value in sorted(attributes.items()):
        if not name.endswith("_") or name.startswith("_") or name == "n_features_in_":
            continue
        parts = value.items() if isinstance(value, dict) else [("", value)]
        for key, part in parts:
            if isinstance(part, np.ndarray | np.generic | bool | int | float):
                entries = np.asarray(part)
                if entries.dtype.kind in "biuf":
                    yield (f"{name}[{key}]" if key else name), entries


def digest(value: np.ndarray) -> str:
    start = f"{value.dtype.str} {value.shape} ".encode()
    return hashlib.sha256(start + np.ascontiguousarray(value).tobytes()).hexdigest()[:16]


def summary(value: np.ndarray) -> tuple[float, float]:
    """A sum of the entries with weights that differ, so that no two entries can change places unseen; and its scale."""
    entries = np.asarray(value, float).ravel()
    weights = np.cos(np.arange(len(entries)))
    return float(f"{weights @ entries:.13g}"), float(f"{np.abs(entries).sum():.2g}")


def machine() -> dict[str, str]:
    return {
        "processor": _processor(),
        "kernels": _kernels(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())


def _kernels() -> str:
    """For which processors the library of linear algebra multiplies here: names of processors are often hidden."""
    found = {library.get("architecture", "") for library in threadpool_info() if library["user_api"] == "blas"}
    return " ".join(sorted(found))


def comparable(digests: Mapping[str, Digest]) -> tuple[dict[str, Digest], float]:
    """What of a stored fit can be compared on this machine, and how closely."""
    if stored()["machine"] == machine():
        return dict(digests), CLOSE
    return {"elbo_": digests["elbo_"]}, ELSEWHERE


def stored(path: Path = STORED) -> dict[str, Any]:
    return dict(json.loads(path.read_text()))


def write(path: Path, found: Digests) -> None:
    """One line for each fit: a diff then shows which changed."""
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items()]
    body = ",\n".join(lines)
    path.write_text(f'{{"machine": {json.dumps(machine())},\n"fits": {{\n{body}\n}}}}\n')


def differences(before: Mapping[str, Digest], now: Mapping[str, Digest], tolerance: float | None) -> list[str]:
    """What differs in one fit: in bits where `tolerance` is None, else by more than that part of its size."""
    notes = []
    for name in [*before, *(name for name in now if name not in before)]:
        if name not in now:
            notes.append(f"{name} is gone")
        elif name not in before:
            if tolerance is None:
                notes.append(f"{name} is new")
        elif tolerance is None and before[name][0] != now[name][0]:
            notes.append(f"{name} by {distance(before[name], now[name]):.1e}")
        elif tolerance is not None and not distance(before[name], now[name]) <= tolerance:
            notes.append(f"{name} by {distance(before[name], now[name]):.1e}: {before[name][1]} and {now[name][1]}")
    return notes


def distance(before: Digest, now: Digest) -> float:
    """How far two sums are apart, relative to the size of their entries."""
    gap = abs(before[1] - now[1])
    return 0.0 if gap == 0 else gap / max(before[2], math.ulp(0.0))


def report(before: Digests, now: Digests) -> Iterator[str]:
    for key in [*before, *(key for key in now if key not in before)]:
        if key not in now or key not in before:
            yield f"{key}: {'new' if key in now else 'gone'}"
        elif answer := differences(before[key], now[key], None):
            yield f"{key}: {'; '.join(answer)}"


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare the bits of fits with a stored set.")
    parser.add_argument("--write", action="store_true", help="replace the stored set")
    parser.add_argument("--to", type=Path, help="write this code's set to a file")
    parser.add_argument("--from", dest="source", type=Path, default=STORED, help="compare with this set")
    parser.add_argument("--only", default="", help="fits whose name contains this")
    options = parser.parse_args(None if arguments is None else list(arguments))
    with TemporaryDirectory() as folder:
        os.environ.setdefault("NUMBA_CACHE_DIR", folder)  # loops compiled at other times round otherwise
        digests_of(COMPILED_FIRST)
        now = {key: digests_of(key) for key in keys() if options.only in key}
    stored_set = stored(options.source)
    if options.write or options.to:
        known = stored_set["fits"] | now
        write(options.to or STORED, {key: known[key] for key in keys() if key in known})
        return 0
    if stored_set["machine"] != machine():
        print(f"the stored set is of another machine: {stored_set['machine']}, here {machine()}")  # noqa: T201
    before = {key: value for key, value in stored_set["fits"].items() if options.only in key}
    lines = list(report(before, now))
    print("\n".join([*lines, f"{len(lines)} of {len(now)} fits differ"]))  # noqa: T201
    return int(bool(lines))


if __name__ == "__main__":
    raise SystemExit(main())
