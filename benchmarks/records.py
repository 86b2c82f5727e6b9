"""Long runs in pieces: the answer to each question is put on file when it is known, and never asked for again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

__all__ = ["answers", "slug"]


def answers(path: Path, ask: Callable[[int], Any], n: int, jobs: int) -> list[Any]:
    """What `ask` says to 0, ..., n - 1, as JSON gives it back.

    Answers stand in `path`, one line each with its number; a run that was broken off goes on after them. `ask` goes to
    `jobs` processes, in any order: it must depend on nothing but the number.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    known = dict(_on_file(path))
    missing = [number for number in range(n) if number not in known]
    with path.open("a", encoding="utf-8") as file:
        for number, answer in _asked(ask, missing, jobs):
            line = json.dumps([number, answer])
            file.write(line + "\n")
            file.flush()
            known[number] = json.loads(line)[1]
    return [known[number] for number in range(n)]


def _asked(ask: Callable[[int], Any], numbers: list[int], jobs: int) -> Iterator[tuple[int, Any]]:
    if jobs == 1 or len(numbers) < 2:
        yield from ((number, ask(number)) for number in numbers)
        return
    with ProcessPoolExecutor(jobs) as pool:
        under_way = {pool.submit(ask, number): number for number in numbers}
        for future in as_completed(under_way):
            yield under_way[future], future.result()


def _on_file(path: Path) -> Iterator[tuple[int, Any]]:
    """Numbers and answers; a line that was being written when the run was killed is not one of them."""
    if not path.exists():
        return
    whole = path.read_text(encoding="utf-8")
    lines = whole.split("\n")
    if lines[-1]:  # broken off: cut, so that the next line begins anew
        path.write_text("".join(line + "\n" for line in lines[:-1]), encoding="utf-8")
    for line in lines[:-1]:
        number, answer = json.loads(line)
        yield number, answer


def slug(name: str) -> str:
    """A name as part of a file's.

    >>> slug("mixture, 2.5 sd, N = 200")
    'mixture-2.5-sd-n-200'
    """
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")
