"""Optional packages: imported when first needed, and named with their remedy when absent."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["is_dask", "require"]


def require(module: str, extra: str) -> ModuleType:
    """Import an optional module, or say what to install.

    Parameters
    ----------
    module : str
        Dotted name, such as "matplotlib.pyplot".
    extra : str
        The extra of latens that installs it, such as "plot".

    Returns
    -------
    ModuleType

    Raises
    ------
    ImportError
        If the package is not installed. A package that is there but fails while loading raises its own error.

    Examples
    --------
    >>> require("json", "plot").loads("[1]")
    [1]
    >>> require("not_a_package", "plot")
    Traceback (most recent call last):
    ImportError: needs not_a_package: pip install 'latens[plot]'
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise ImportError(f"needs {package}: pip install 'latens[{extra}]'", name=package) from error


def is_dask(X: Any) -> bool:
    """Whether X is an array or a dataframe of Dask; Dask is not imported for the question."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and "dask" in sys.modules
