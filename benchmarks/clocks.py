"""CPU time of a call, and of statements in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["ROOT", "cpu_seconds", "fastest", "in_new_process"]

ROOT = Path(__file__).resolve().parents[1]
T = TypeVar("T")


def cpu_seconds(call: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds of all threads, and the result."""
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


def fastest(call: Callable[[], Any], repeats: int) -> float:
    """Least CPU seconds of several calls: what the work costs when nothing disturbs the caches."""
    return min(cpu_seconds(call)[0] for _ in range(repeats))


def in_new_process(script: str, *arguments: str, **settings: str) -> dict[str, Any]:
    """Run Python statements whose last printed line is JSON; `settings` are environment variables."""
    run = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise RuntimeError(f"a benchmark's process ended with status {run.returncode}:\n{run.stderr}")
    result: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return result
