"""One offline HTML page about fitted models.

`latens.report` is both this package and a function, `latens.report(model, X, path)`: Python binds a subpackage
to its name on first import, so the package itself is made callable and the two meanings cannot collide.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from latens.report.build import report, report_many
from latens.report.content import Figure, Section, Table
from latens.report.page import write_page
from latens.report.subject import Entry

__all__ = ["Entry", "Figure", "Section", "Table", "report", "report_many", "write_page"]


class _CallableReport(ModuleType):
    __doc__ = report.__doc__

    def __call__(
        self,
        model: Any,
        X: Any = None,
        path: str | os.PathLike[str] = "report.html",
        *,
        truth: Any = None,
        title: str | None = None,
        shape: Sequence[int] | None = None,
        metadata: Any = None,
        y: Any = None,
        **about: Any,
    ) -> Path:
        return report(model, X, path, truth=truth, title=title, shape=shape, metadata=metadata, y=y, **about)


sys.modules[__name__].__class__ = _CallableReport
