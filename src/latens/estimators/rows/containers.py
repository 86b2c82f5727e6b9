"""Answers in the container that `set_output` asks for: frames of pandas or polars, and series of one number per row.

scikit-learn wraps `transform` alone. Answers that are not made yet (blocks of files, Dask) and tensors stay what they
are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

import numpy as np
from sklearn.utils._set_output import _get_output_config

from latens.system.optional_imports import require

__all__ = ["contained", "in_container"]

Method = TypeVar("Method", bound=Callable[..., Any])
Axis = Literal["components", "features"]  # what the columns of an answer are


def contained(axis: Axis, name: str = "") -> Callable[[Method], Method]:
    """A method of rows whose answer comes in the container of `set_output`.

    Parameters
    ----------
    axis : "components" or "features"
        What the columns of a table are; tables by view have the features of their view.
    name : str
        Of a series, where the answer is one number for each row.
    """

    def decorate(method: Method) -> Method:
        @functools.wraps(method)
        def answer(self: Any, X: Any, *rest: Any, **options: Any) -> Any:
            found = method(self, X, *rest, **options)
            kind = _get_output_config("transform", self)["dense"]
            return found if kind == "default" else in_container(found, kind, X, _names(self, axis), name)

        return cast("Method", answer)

    return decorate


def in_container(answer: Any, kind: str, X: Any, names: Mapping[str, Sequence[str]], name: str = "") -> Any:
    """An answer as frames or series of a kind, "pandas" or "polars".

    Parameters
    ----------
    answer : array, frame, dict, list or tuple of them
    X : as given to the method
        Whose row names a pandas frame takes.
    names : dict of lists of str
        Names of columns by view; "" where there are no views.
    name : str
        Of a series.
    """
    if isinstance(answer, tuple):
        return tuple(in_container(each, kind, X, names, name) for each in answer)
    if isinstance(answer, dict):
        return {view: in_container(part, kind, X, {"": names.get(view, ())}, name) for view, part in answer.items()}
    if isinstance(answer, list):
        views = [view for view in names if view] if len(answer) == len([view for view in names if view]) else []
        return [
            in_container(part, kind, X, {"": names[view]} if view else names, name)
            for part, view in zip(answer, views or [""] * len(answer), strict=True)
        ]
    if hasattr(answer, "iloc") or hasattr(answer, "schema"):
        return _converted(answer, kind)
    if not isinstance(answer, np.ndarray) or answer.ndim not in (1, 2):
        return answer
    return _built(answer, kind, X, _columns(names, answer), name)


def _columns(names: Mapping[str, Sequence[str]], answer: np.ndarray) -> list[str]:
    """Names for the columns of an array: those of the only table, or of all views side by side."""
    views = [view for view in names if len(names[view])]
    found = [each if len(views) < 2 else f"{view}: {each}" for view in views for each in names[view]]
    width = answer.shape[1] if answer.ndim == 2 else 0
    return found if len(found) == width else [str(k) for k in range(width)]


def _built(answer: np.ndarray, kind: str, X: Any, columns: list[str], name: str) -> Any:
    package = require(kind, "frames")
    if kind == "polars":
        return package.Series(name, answer) if answer.ndim == 1 else package.DataFrame(answer, schema=columns)
    index = X.index if hasattr(X, "iloc") and len(X) == len(answer) else None
    if answer.ndim == 1:
        return package.Series(answer, index=index, name=name or None)
    return package.DataFrame(answer, index=index, columns=columns)


def _converted(frame: Any, kind: str) -> Any:
    """A frame as one of the other kind, column by column; as it is where it is of that kind."""
    if hasattr(frame, "iloc") == (kind == "pandas"):
        return frame
    if kind == "pandas":
        return require("pandas", "frames").DataFrame({name: frame[name].to_numpy() for name in frame.columns})
    columns = {
        str(name): [None if _absent(value) else value for value in frame[name].tolist()] for name in frame.columns
    }
    return require("polars", "frames").DataFrame(columns)


def _absent(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _names(estimator: Any, axis: Axis) -> dict[str, list[str]]:
    if axis == "components":
        return {"": [str(name) for name in estimator.get_feature_names_out()]}
    return {view: [str(name) for name in names] for view, names in estimator._features_as_read().items()}
