"""Whether rows and targets are complete and of a size that can be squared; else an error that says what to do."""

from __future__ import annotations

from typing import Any

import numpy as np

from latens.array import Floats
from latens.estimators.rows.validation import readable_table

__all__ = ["check_sizes", "complete_target", "missing_message"]

LARGEST_ENTRY = 2.0**505  # its square is still a number


def check_sizes(x: Floats, y: Floats, weight: Floats | None) -> None:
    """Refuse numbers whose squares would leave the range of floats."""
    sizes = {"entries of X": float(np.max(np.abs(x))), "entries of y": float(np.max(np.abs(y)))}
    if weight is not None:
        sizes["entries of sample_weight"] = float(weight.sum())
    for name, size in sizes.items():
        if size > LARGEST_ENTRY or 0 < size < 1 / LARGEST_ENTRY:
            raise ValueError(
                f"the {name} are up to {size:.0e} in size, too {'large' if size > 1 else 'small'} to be squared; "
                f"choose units in which they are nearer to 1."
            )


def complete_target(y: Any) -> Any:
    """y as scikit-learn may read it, once it is known to lack nothing; None inside objects means missing, too."""
    y = readable_table(y, "y")
    if getattr(getattr(y, "dtype", None), "kind", "") == "c":
        return y  # refused by scikit-learn, in its words
    try:
        values = np.asarray(0.0 if y is None else y, dtype=np.float64)
    except (TypeError, ValueError):
        _refuse_text(y)
        return y  # refused by scikit-learn, in its words
    except OverflowError as error:
        raise ValueError("y holds a whole number beyond the range of floats; choose a larger unit.") from error
    if not np.isfinite(values).all():
        raise ValueError(missing_message("y", values))
    return y


def _refuse_text(y: Any) -> None:
    values = np.asarray(y, dtype=object)
    words = [value for value in values.ravel().tolist() if isinstance(value, str)]
    if values.ndim == 1 and words:
        raise ValueError(
            f"y holds text, such as {words[0]!r}; a regression predicts numbers. Give y as floats, or each answer its "
            "number: np.where(y == 'yes', 1.0, 0.0)."
        )


def missing_message(name: str, values: Floats) -> str:
    """What to say of X or y that hold NaN or infinity."""
    odd = ~np.isfinite(values)
    first = ", ".join(map(str, np.argwhere(odd)[0]))
    what = "infinity" if np.isinf(values[odd]).any() else "NaN"
    fill = ", or fill X by `impute` of a model such as latens.FactorAnalysis" if name == "X" else ""
    return (
        f"{name} contains {what} or masked entries, {int(odd.sum())} in all, the first at {name}[{first}]; "
        f"BayesianLinearRegression takes complete rows only. Drop the rows that lack a value{fill}."
    )
