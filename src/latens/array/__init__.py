"""Array-library independence: namespaces, transfers, special functions, linear algebra, compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Floats", "Index"]

Floats = NDArray[np.float64]  # numbers on the host: posteriors, statistics, bounds
Index = NDArray[np.intp]  # positions
Array = Any  # an array-API array; annotations say its shape in a comment
