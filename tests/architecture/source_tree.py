"""The source tree as it is parsed, once for all tests of a process."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "latens"


@cache
def sources() -> dict[Path, ast.Module]:
    """Every file of the package, by its path within it."""
    gc.disable()  # a million nodes that stay: to look for garbage among them would take as long as to parse them
    try:
        return {path.relative_to(PACKAGE): ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
    finally:
        gc.enable()
        gc.freeze()
