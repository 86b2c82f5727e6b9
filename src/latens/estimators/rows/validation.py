"""Caller's arrays as rows: dtype and device kept, missing entries found, weights checked."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array
from scipy.sparse import csr_array
from sklearn.utils.validation import _check_sample_weight, validate_data

from latens.array import Array, Floats
from latens.array.transfer import detached, host, is_sparse, like, short_indices
from latens.core import Rows
from latens.errors import ValuesCut, WeightsTooLarge, WeightsTooSmall, warn
from latens.estimators.frames.raw_frames import is_raw_frame, refuse_lazy_frame, refuse_repeated_names
from latens.estimators.frames.roles import from_table, refuse_roles
from latens.estimators.frames.row_labels import in_row_order
from latens.estimators.parameters import positive_number
from latens.estimators.rows.doubts import doubt_columns
from latens.estimators.rows.sampling import row_keys
from latens.intake import Intake
from latens.models.known_codes import KNOWN

__all__ = [
    "binary_rows",
    "check_codes",
    "check_rows",
    "check_sparse",
    "check_weight",
    "checked_table",
    "doubt_weights",
    "encoded_rows",
    "is_foreign",
    "occupied",
    "readable_table",
    "refuse_dates",
    "refuse_name",
    "refuse_no_table",
    "taken_in",
    "unmasked",
    "with_known",
]

MANY_TIMES = 10.0  # the number of rows, beyond which what weights add up to is doubted


def is_foreign(X: Any) -> bool:
    """Whether X is an array of another library, which stays on its device."""
    return is_array_api_obj(X) and not is_numpy_array(X)


def check_rows(
    estimator: Any,
    X: Any,
    sample_weight: Any = None,
    *,
    reset: bool = False,
    at_least: int = 1,
    names: Sequence[str] | None = None,
) -> Rows:
    """Validate X (n, D) and its weights; NaN becomes a missing entry, a row without entries gets weight 0.

    The class flags of the estimator say whether CSR rows stay as they are and whether rows are binary. What is rows
    already has been checked. `names` are those of the columns of a frame that X was made of.
    """
    if isinstance(X, Rows):
        return X
    if hasattr(X, "collect_schema"):  # of polars
        refuse_lazy_frame(X)
    if isinstance(X, Intake):
        (sample_weight,) = from_table(X, sample_weight=sample_weight)
    if sample_weight is not None:
        sample_weight = in_row_order("sample_weight", sample_weight, X)
    X = taken_in(estimator, X, reset=reset)
    rows = _real_rows(estimator, X, sample_weight, reset, at_least)
    if not estimator.binary:
        if reset:
            named = getattr(estimator, "feature_names_in_", names)
            container = "array" if named is None else "frame"
            every = [f"x{j}" for j in range(rows.x.shape[1])] if named is None else named
            doubt_columns(rows, every, levels=hasattr(estimator, "covariance_type"), container=container)
        return rows
    if is_sparse(rows.x) and not estimator.sparse_cut and np.any(rows.x.data != 1):
        raise ValueError(
            f"sparse X holds {np.count_nonzero(rows.x.data != 1)} value(s) other than 0 and 1, which "
            f"{type(estimator).__name__} does not cut in sparse rows; pass (X > {estimator.binarize or 0.5:g})."
        )
    return binary_rows(rows, estimator.binarize)


def taken_in(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Tables that were read from files, and raw frames that are known to be encoded, as numbers; others as they are.

    A fit to what `latens.read` found keeps how its columns became numbers, and later frames are treated alike.
    """
    if reset:
        estimator.__dict__.pop("encodings_", None)  # that of another table
    if isinstance(X, Intake):
        refuse_roles(estimator, X)
    if not reset or not isinstance(X, Intake):
        return encoded_rows(estimator, X)
    numbers, estimator.encodings_ = X.encoded().frame(), X.encodings
    return numbers


def encoded_rows(estimator: Any, X: Any) -> Any:
    """A raw data frame as the numbers that the model was fitted to, where it knows how its columns were encoded."""
    encodings = getattr(estimator, "encodings_", None)
    if isinstance(X, Intake):
        X = X.like(estimator)
        X = X.encoded().frame() if encodings is None else X.frame
    if encodings is None or len(encodings) > 1 or not hasattr(X, "columns"):
        return X
    (encoding,) = encodings.values()
    is_encoded = tuple(map(str, X.columns)) == encoding.names and not is_raw_frame(X)
    return X if is_encoded else encoding.encode(X).frame()


def occupied(rows: Rows) -> Rows:
    """The rows that count: those of weight 0 are as if they had never been given, whatever they hold."""
    if rows.weight is None:
        return rows
    keep = np.flatnonzero(host(rows.weight) > 0)
    if len(keep) == len(rows):
        return rows
    return rows.take(keep)


def with_known(estimator: Any, rows: Rows, known: Any) -> Rows:
    """Rows with what was given of their codes."""
    return replace(rows, aux={**rows.aux, KNOWN: like(estimator._known_codes(known, len(rows)), rows.x)})


def doubt_weights(rows: Rows) -> None:
    """Warn of weights that count rows, all of weight above 0, for less or far more than they are; they are taken so."""
    if rows.weight is None or not len(rows):
        return
    weight = host(rows.weight)
    if rows.n > MANY_TIMES * len(rows) and not _counts_patterns(rows, weight):
        warn(
            WeightsTooLarge(
                f"sample_weight adds up to {rows.n:g}, {rows.n / len(rows):.0f} times the {len(rows)} rows, and "
                f"weights are counts: this is learnt from as if there were {rows.n:g} rows.",
                "If they are survey weights, weigh rows and do not count them: pass sample_weight=w / w.mean().",
            ),
            once=True,
        )
        return
    if rows.n >= 0.5 * len(rows) and weight.max() >= 1:
        return
    if rows.n >= (1 - 1e-9) * len(np.unique(row_keys(rows), axis=1).T):  # rows that repeat each other, counted once
        return
    effective = rows.n * (rows.n / float(np.sum(weight**2)))
    warn(
        WeightsTooSmall(
            f"sample_weight adds up to {rows.n:g} over {len(rows)} rows, and weights are counts: this is learnt from "
            f"as if there were {rows.n:g} rows.",
            f"If they are shares or survey weights, they are worth about {effective:.0f} rows: pass "
            "sample_weight=w * (w.sum() / (w**2).sum()).",
        )
    )


def _counts_patterns(rows: Rows, weight: Floats) -> bool:
    """Whether these may be counts of rows that are all alike: whole numbers of rows of whole numbers."""
    values = rows.x.data if is_sparse(rows.x) else rows.x
    xp = array_namespace(values)
    return bool(np.all(weight == np.floor(weight))) and bool(xp.all(values == xp.floor(values)))


def binary_rows(rows: Rows, binarize: float | None) -> Rows:
    """The rows with 1 where a value is above `binarize` and 0 elsewhere; missing entries stay missing.

    Values other than 0 and 1 are counted in a warning, or refused where `binarize` is None.
    """
    values = rows.x.data if is_sparse(rows.x) else rows.x
    xp = array_namespace(values)
    if binarize is None:
        odd = (values != 0) & (values != 1)
        if bool(xp.any(odd)):
            raise ValueError(_first_odd(rows.x))
        return rows
    cut = positive_number("binarize", binarize, zero=True)
    ones = xp.astype(values > cut, values.dtype)
    odd = ones != values
    if not bool(xp.any(odd)):
        return rows
    n_odd = int(xp.sum(xp.astype(odd, xp.int64)))
    remedy = f"Pass (X > {cut:g}) to silence this, or binarize=None to have such values refused."
    if not is_sparse(rows.x) and (levels := _levels_above(rows, cut)):
        low, high = levels
        remedy = (
            f"All of them are 1 now, since X holds {low:g} and {high:g} only: if {high:g} means yes, pass "
            f"(X == {high:g}), with NaN where it is missing."
        )
    warn(
        ValuesCut(
            f"{n_odd} value(s) of X were not 0 or 1 as binarize={cut:g} asks for; those above it became 1, the rest 0.",
            remedy,
        )
    )
    if not is_sparse(rows.x):
        return replace(rows, x=ones)
    x = csr_array((ones, rows.x.indices, rows.x.indptr), shape=rows.x.shape, copy=True)
    x.eliminate_zeros()
    return replace(rows, x=x)


def _levels_above(rows: Rows, cut: float) -> tuple[float, float] | None:
    """The two values that all entries have, both above the cut; None where there are others."""
    xp = array_namespace(rows.x)
    seen = xp.ones_like(rows.x, dtype=xp.bool) if rows.seen is None else rows.seen
    low = float(xp.min(xp.where(seen, rows.x, xp.full_like(rows.x, xp.inf))))
    high = float(xp.max(xp.where(seen, rows.x, xp.full_like(rows.x, -xp.inf))))
    only_two = bool(xp.all((rows.x == low) | (rows.x == high) | ~seen))
    return (low, high) if cut < low < high and only_two else None


def _first_odd(x: Array) -> str:
    x = x.tocoo() if is_sparse(x) else host(x)
    i, j, values = (x.row, x.col, x.data) if is_sparse(x) else (*np.indices(x.shape).reshape(2, -1), x.ravel())
    first = int(np.flatnonzero((values != 0) & (values != 1))[0])
    return (
        f"X[{i[first]}, {j[first]}] is {values[first]:g}, and binarize=None takes only 0, 1 and NaN (missing); "
        f"set binarize to the value above which an entry counts as 1, such as 0.5."
    )


def _real_rows(estimator: Any, X: Any, sample_weight: Any, reset: bool, at_least: int) -> Rows:
    if is_foreign(X):
        x = _check_foreign(estimator, X, reset, at_least)
    else:
        x = checked_table(
            estimator,
            X,
            accept_sparse="csr" if estimator.sparse else False,
            dtype=[np.float64, np.float32],
            reset=reset,
            ensure_all_finite=False,
            ensure_min_samples=at_least,
        )
    values = x.data if is_sparse(x) else x
    xp = array_namespace(values)
    with np.errstate(over="ignore", invalid="ignore"):
        finite = bool(xp.isfinite(xp.sum(values)))  # one pass, and nothing of the size of x, where nothing is missing
    if not finite and is_numpy_array(values):
        refuse_infinity(x, _names_of_columns(estimator, x.shape[1]))
    elif not finite and bool(xp.any(xp.isinf(x))):
        raise ValueError("X contains infinity; replace it by a number, or by NaN if it is missing.")
    if is_sparse(x) and not finite and np.isnan(x.data).any():
        x = x.toarray()  # a hole needs a mask, which is dense
    if is_sparse(x):
        weight = None if sample_weight is None else check_weight(sample_weight, np.empty(x.shape[0], x.dtype))
        return Rows(_canonical(x), None, weight)
    weight = None if sample_weight is None else check_weight(sample_weight, x)
    if finite:
        return Rows(x, None, weight)
    hole = xp.isnan(x)
    if not bool(xp.any(hole)):
        return Rows(x, None, weight)
    some = xp.any(~hole, axis=1)
    if reset and not bool(xp.any(some)):
        raise ValueError(f"X of shape {tuple(x.shape)} holds nothing but NaN; give at least one observed value.")
    if not bool(xp.all(some)):
        # nothing observed, nothing learnt: such a row must not move the usage of the components either
        known = xp.astype(some, x.dtype)
        weight = known if weight is None else weight * known
    return Rows(xp.where(hole, xp.zeros_like(x), x), ~hole, weight)


def checked_table(estimator: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
    """What scikit-learn's `validate_data` makes of X (and y); errors name the column that holds no numbers."""
    given = readable_table(X)
    X = with_column_names(estimator, given, reset=options.get("reset", True))
    try:
        # row by row, whatever was given: compiled passes read rows, and the order of sums would be another
        return validate_data(estimator, X, y, order="C", **options)
    except (TypeError, ValueError, OverflowError) as error:
        if str(error).startswith(OTHER_SHAPES):
            raise ValueError(_other_shape(estimator, X)) from error
        if str(error).startswith(OTHER_NAMES):
            raise ValueError(f"{str(error).rstrip()}\n{_other_names(estimator, given)}") from error
        if getattr(estimator, "binary", False) and (basket := _first_basket(X)) is not None:
            raise TypeError(
                f"X holds lists of items, such as {basket}; {type(estimator).__name__} takes rows of 0 and 1, a column "
                "for each item: sklearn.preprocessing.MultiLabelBinarizer(sparse_output=True).fit_transform(X)."
            ) from error
        if isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
            raise TypeError("X is a list of dicts; give rows as a data frame: pandas.DataFrame(X).") from error
        found = _first_not_a_number(X)
        if found is None:
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        if getattr(estimator, "binary", False) and (asked := _yes_of(X)) is not None:
            raise kind(f"{found}; give 1 where it is so and 0 elsewhere, {asked}.") from error
        raise kind(f"{found} ({error}); drop such columns, {_drop_line(X)}, {_text_remedy(estimator)}.") from error


def _yes_of(X: Any) -> str | None:
    """What makes zeros and ones of a table of two words, such as yes and no, in each column; None for other tables."""
    if not hasattr(X, "iloc"):
        return None
    words = [{str(value) for value in X.iloc[:, j].dropna()} for j in range(X.shape[1])]
    if not words or any(len(pair) > 2 for pair in words):
        return None
    every = sorted(set().union(*words), key=str.casefold)
    if len(every) == 2:  # yes comes after no, y after n, true after false
        return f"such as (X == {every[1]!r}).astype(float).mask(X.isna())"
    return "column by column, such as X['member'] == 'yes'; or read the file by latens.read, which does so"


def _text_remedy(estimator: Any) -> str:
    """What else to do with columns of text."""
    if type(estimator).__name__ in OF_ANY_KIND:
        return "give them as numbers, or all columns as a data frame, which may hold text: pandas.DataFrame(X)"
    others = ", ".join(f"latens.{name}" for name in OF_ANY_KIND)
    return f"give them as numbers, or take an estimator of columns of any kind: {others}"


def with_column_names(estimator: Any, X: Any, *, reset: bool) -> Any:
    """A frame of pandas whose columns are called by text, whatever their labels are; anything else as it is.

    scikit-learn knows no other names, and lets columns with other labels go by their place. Labels that only count
    columns in their order are no names, unless those of the fit are the same in another order.
    """
    labels = getattr(X, "columns", ()) if hasattr(X, "iloc") else ()
    if getattr(labels, "nlevels", 1) > 1 or all(isinstance(label, str) for label in labels):
        return X
    names, counted = list(map(str, labels)), [str(j) for j in range(len(labels))]
    fitted = None if reset else getattr(estimator, "feature_names_in_", None)
    if names == counted and (fitted is None or set(map(str, fitted)) != set(counted)):
        return X
    if not reset and fitted is None and sorted(names) == sorted(counted):
        raise ValueError(
            f"the columns of X are labelled {', '.join(names[:8])}, and those of the fit were counted from 0 in their "
            "order. Put them in that order: X[range(X.shape[1])]."
        )
    X = X.copy(deep=False)
    X.columns = names
    return X


OF_ANY_KIND = ("LatentClassAnalysis", "MultiViewFactorAnalysis")
MOST_DROPPED = 5  # columns that a line to type names one by one
# beginnings of scikit-learn's messages
OTHER_NAMES = "The feature names should match"
OTHER_SHAPES = ("Expected 2D array", "Expected a 2-dimensional container", "Found array with dim")


def _other_shape(estimator: Any, X: Any) -> str:
    """What X is where it is no table, and what to type."""
    shape = tuple(np.shape(X))
    what, remedy = f"has shape {shape}", "X.reshape(len(X), -1)"
    if not shape:
        what, remedy = f"is {repr(X)[:60]}, a single value", "[[X]] is a table of one entry"
    elif len(shape) == 1:
        remedy = "X[:, None] if it is one column, X[None, :] if it is one row"
        if hasattr(X, "to_frame"):
            remedy = "X.to_frame() if it is one column, X.to_frame().T if it is one row"
    return f"X {what}; {type(estimator).__name__} takes a 2D table, rows x columns. Reshape your data: {remedy}."


def refuse_infinity(x: Any, names: Sequence[str]) -> None:
    """Refuse a table (n, D), or CSR, that holds infinity, and say where."""
    if is_sparse(x):
        found = np.isinf(x.data)
        rows, columns = (each[found] for each in (np.repeat(np.arange(x.shape[0]), np.diff(x.indptr)), x.indices))
    else:
        rows, columns = np.nonzero(np.isinf(x))
    if len(rows):
        raise ValueError(
            f"X contains infinity in {len(rows)} entries, first in row {int(rows[0])}, column "
            f"{names[int(columns[0])]!r}; replace it by a number, or by NaN if it is missing."
        )


def _names_of_columns(estimator: Any, n_columns: int) -> list[str]:
    """Those of a frame, else x0, x1 and so on."""
    named = getattr(estimator, "feature_names_in_", ())
    return list(map(str, named)) if len(named) == n_columns else [f"x{j}" for j in range(n_columns)]


def _other_names(estimator: Any, X: Any) -> str:
    """What to type where columns are in another order, absent, or more than those of the fit."""
    known, given = list(map(str, estimator.feature_names_in_)), set(map(str, getattr(X, "columns", ())))
    if set(known) <= given:
        labels = {str(label): label for label in X.columns}
        own = [labels[name] for name in known]
        order = "model.feature_names_in_" if all(isinstance(label, str) for label in own) else f"{own}"
        return f"Put the columns in the order of the fit: X[{order}]."
    return "Columns that are absent may be taken as missing: X.reindex(columns=model.feature_names_in_)."


def readable_table(X: Any, name: str = "X") -> Any:
    """X as scikit-learn may read it: masked entries as NaN, no dates, no float16, no damaged sparse matrix."""
    refuse_no_table(X, name)
    refuse_dates(X, name)
    if hasattr(X, "columns"):
        refuse_repeated_names(X, name)
    if is_sparse(X):
        check_sparse(X, name)
    if getattr(X, "dtype", None) == np.float16:
        X = X.astype(np.float32)
    return unmasked(X)


def refuse_no_table(X: Any, name: str = "X") -> None:
    """Refuse what is no table yet: the path of one, columns in a dict, a frame without columns."""
    if isinstance(X, str | bytes | os.PathLike):
        path = os.fsdecode(X)
        raise TypeError(f"{name} is the string {path!r}; if it is the path of a file, read it: latens.read({path!r}).")
    if isinstance(X, Mapping) and not is_sparse(X):
        raise TypeError(f"{name} is a dict; give a data frame: pandas.DataFrame({name}).")
    if hasattr(X, "columns") and hasattr(X, "shape") and not len(X.columns):
        raise ValueError(f"{name} has no columns; give at least one.")


def unmasked(X: Any) -> Any:
    """A masked array with NaN where it is masked, anything else as it is."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X):
        return np.asarray(X.data)
    dtype = X.dtype if X.dtype.kind in "fO" else np.dtype(np.float64)
    return np.ma.filled(X.astype(dtype), np.nan)


def check_sparse(X: Any, name: str) -> None:
    """Refuse a sparse matrix that points outside of itself: compiled code would follow."""
    try:
        if hasattr(X, "check_format"):
            X.check_format(full_check=True)
        elif hasattr(X, "coords") and X.nnz:
            for axis, at in enumerate(X.coords):
                if at.min() < 0 or at.max() >= X.shape[axis]:
                    raise ValueError(f"indices along axis {axis} range from {at.min()} to {at.max()}")
    except ValueError as error:
        raise ValueError(
            f"{name} is a damaged sparse matrix of shape {X.shape} ({error}); its indices must lie within its shape. "
            "Build it anew, for example with scipy.sparse.csr_array((data, (rows, columns)), shape)."
        ) from error


def refuse_dates(X: Any, name: str = "X") -> None:
    """Dates and durations turn into numbers of some unit without a word, and then mean nothing."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        kinds = [(f" in column {column!r}", dtype) for column, dtype in zip(X.columns, list(X.dtypes), strict=True)]
    else:
        kinds = [("", getattr(X, "dtype", None))]
    for where, dtype in kinds:
        if _is_date(dtype):
            raise ValueError(
                f"{name} holds dates or durations{where} ({dtype}); turn them into numbers, such as days since the "
                "first."
            )


def _is_date(dtype: Any) -> bool:
    """Of NumPy and pandas by their kind, of polars by their names."""
    return getattr(dtype, "kind", "") in ("M", "m") or str(dtype).partition("(")[0] in ("Date", "Datetime", "Duration")


def _first_basket(X: Any) -> str | None:
    """The first of rows that are given as items, in short; None where rows are something else.

    Items of a basket are a set, or so many as were bought: rows of equal length are a table.
    """
    if len(getattr(X, "shape", (0,))) != 1 or (not isinstance(X, Sequence | np.ndarray) and not hasattr(X, "to_frame")):
        return None
    rows = [row for row in X if isinstance(row, list | tuple | set | frozenset)]
    if len(rows) < len(X) or not rows:
        return None
    unordered = isinstance(rows[0], set | frozenset)
    if not unordered and len({len(row) for row in rows}) == 1:
        return None
    first = max(rows[:10], key=len)
    return repr(list(first)[:3]) if all(isinstance(item, str | int) for item in first) else None


def _first_not_a_number(X: Any) -> str | None:
    """Where a table first holds something that is no number, in words; None where it holds none."""
    if is_sparse(X) or len(getattr(X, "shape", ())) not in (0, 2):
        return None
    values = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X, dtype=object)
    if values.ndim != 2 or values.dtype.kind in "fiubc":
        return None
    names = list(getattr(X, "columns", range(values.shape[1])))
    for j, i in np.ndindex(values.shape[::-1]):
        try:
            if values[i, j] is not None:
                float(values[i, j])
        except OverflowError:
            return f"column {names[j]!r} of X holds a whole number beyond the range of floats"
        except (TypeError, ValueError):
            if isinstance(values[i, j], complex):
                return None
            return f"column {names[j]!r} of X holds {repr(values[i, j])[:60]}, which is no number"
    return None


def _drop_line(X: Any) -> str:
    """What leaves out the columns of a frame that hold no numbers."""
    if not hasattr(X, "iloc"):
        return "X.drop(columns=[...])"
    texts = [name for name, kind in X.dtypes.items() if getattr(kind, "kind", "O") not in "fiubc"]
    few = 0 < len(texts) <= MOST_DROPPED
    return f"X.drop(columns={texts!r})" if few else "X.select_dtypes('number')"


def check_codes(codes: Any, n_components: int) -> Array:
    """Codes (n, K) for `inverse_transform`."""
    if is_foreign(codes):
        codes = detached(codes)
    else:
        given = np.asarray(codes)
        try:
            codes = given.astype(np.float32 if given.dtype in (np.float16, np.float32) else np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"codes of type {given.dtype} are no numbers; give what `transform` returns.") from error
        if np.iscomplexobj(given):
            raise ValueError("codes are complex; expected real numbers, such as `transform` returns.")
    if codes.ndim != 2 or codes.shape[1] != n_components:
        raise ValueError(
            f"codes have shape {tuple(codes.shape)}; expected (n, {n_components}), a column for each component."
        )
    xp = array_namespace(codes)
    if not bool(xp.all(xp.isfinite(codes))):
        raise ValueError("codes contain NaN or infinity; give finite numbers, such as `transform` returns.")
    return codes


def _check_foreign(estimator: Any, X: Array, reset: bool, at_least: int) -> Array:
    X, xp, name = detached(X), array_namespace(X), type(estimator).__name__
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; {name} expects 2, rows x columns. Try X[:, None] or X[None, :].")
    n, d = X.shape
    if n < at_least or d < 1:
        raise ValueError(f"X has shape ({n}, {d}); {name} needs at least {at_least} row(s) and 1 column.")
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError(f"X is complex ({X.dtype}); {name} expects real numbers. Try its real part.")
    if not xp.isdtype(X.dtype, "real floating"):
        X = xp.astype(X, xp.float64)
    elif X.dtype not in (xp.float32, xp.float64):
        X = xp.astype(X, xp.float32)
    if reset:
        estimator.n_features_in_ = d
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    elif d != estimator.n_features_in_:
        raise ValueError(f"X has {d} features, but {name} is expecting {estimator.n_features_in_} features as input.")
    return X


def _canonical(x: Any) -> Any:
    """Each entry once, in order, no stored zeros, short indices; the caller's matrix stays as it was."""
    x = csr_array(x, copy=not x.has_canonical_format or not x.data.all())
    x.sum_duplicates()
    x.eliminate_zeros()
    return short_indices(x)


def refuse_name(what: str, values: Any) -> None:
    """Refuse the name of a column where its values are wanted: the column would stay among the rows as well."""
    if isinstance(values, str):
        raise TypeError(
            f"{what}={values!r} is a string; give one number for each row. If it is a column of X: "
            f"fit(X.drop(columns=[{values!r}]), {what}=X[{values!r}])."
        )


def check_weight(sample_weight: Any, x: Array) -> Array:
    """Weights (n,) of the rows x, in the library and dtype of x."""
    refuse_name("sample_weight", sample_weight)
    if is_foreign(sample_weight):
        sample_weight = host(sample_weight)
    stand_in = np.empty((x.shape[0], 1))  # scikit-learn asks for its length alone, and x may be of another library
    if np.ma.is_masked(sample_weight):
        raise ValueError("sample_weight has masked entries; give each row a number, 0 to leave it out.")
    try:
        weight = _check_sample_weight(sample_weight, stand_in, dtype=np.float64, ensure_non_negative=True)
    except OverflowError as error:
        raise ValueError("sample_weight holds a number beyond the range of floats; choose smaller ones.") from error
    if not weight.sum() > 0:
        raise ValueError("sample_weight adds up to 0; give at least one row a positive weight.")
    return like(weight, x)
