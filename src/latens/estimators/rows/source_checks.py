"""Scans and Dask collections as sources that an estimator can take: one survey instead of looks at whole arrays."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from latens.core import Rows, Source
from latens.errors import ValuesCut, caller_level
from latens.estimators.frames.roles import refuse_roles
from latens.estimators.parameters import positive_number
from latens.estimators.rows.exposures import ExposureColumn
from latens.models.mixture.features import EXPOSURE
from latens.scale.dask_blocks import dask_source
from latens.scale.scan import Known, Scan
from latens.system.wording import listed

__all__ = ["check_columns", "check_source", "compare_names"]


def check_source(estimator: Any, X: Any, *, reset: bool) -> Source:
    """The rows of a scan or a Dask collection, surveyed; refuses what `fit` refuses of arrays."""
    if isinstance(X, Scan):
        refuse_roles(estimator, X)
    source = X.source(*_known(X)) if isinstance(X, Scan) else dask_source(X)
    check_columns(estimator, source.feature_names, source.n_columns, reset=reset)
    survey = source.survey
    if survey.n_infinite:
        raise ValueError(
            f"X contains infinity in {survey.n_infinite} entries; replace it by a number, or by NaN if it is missing."
        )
    if survey.n_rows < 2:
        raise ValueError(f"X shows values in {survey.n_rows} row(s); a fit needs at least 2.")
    if not survey.n > 0:
        raise ValueError("the weights of the rows that show a value add up to 0; give one of them a positive weight.")
    source = replace(source.then(_counted_rows), surveyed=survey)
    return _binary(source, estimator.binarize) if getattr(estimator, "binary", False) else source


def _known(scan: Scan) -> list[Known]:
    """What rows carry beside their values."""
    return [] if scan.exposure is None else [Known(EXPOSURE, (scan.exposure,), ExposureColumn())]


def check_columns(estimator: Any, names: tuple[str, ...] | None, n_columns: int, *, reset: bool) -> None:
    """Names and number of the columns, remembered in a fit and compared later, as scikit-learn does for arrays."""
    if reset:
        estimator.n_features_in_ = n_columns
        if names is None:
            estimator.__dict__.pop("feature_names_in_", None)
        else:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return
    if names is not None and hasattr(estimator, "feature_names_in_"):
        compare_names([str(name) for name in estimator.feature_names_in_], list(names))
    if n_columns != estimator.n_features_in_:
        raise ValueError(
            f"X has {n_columns} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input."
        )


def compare_names(fitted: list[str], names: list[str]) -> None:
    """Answers about columns in another order would be wrong without a sign."""
    if names == fitted:
        return
    differences = [
        f"{what}: {listed(sorted(found), 8)}."
        for what, found in (
            ("Unseen at fit time", set(names) - set(fitted)),
            ("Seen at fit time, yet now missing", set(fitted) - set(names)),
        )
        if found
    ]
    order = "They must be in the same order: latens.scan(..., columns=list(model.feature_names_in_))."
    raise ValueError(
        " ".join(["The feature names should match those that were passed during fit.", *(differences or [order])])
    )


def _counted_rows(rows: Rows) -> Rows:
    """Without the rows of weight 0, which are as if they had never been given."""
    if rows.weight is None or bool(np.all(rows.weight > 0)):
        return rows
    return rows.take(np.flatnonzero(rows.weight > 0))


def _binary(source: Source, binarize: float | None) -> Source:
    n_odd = source.survey.n_odd
    if not n_odd:
        return source
    if binarize is None:
        raise ValueError(
            f"{n_odd} value(s) of X are not 0 or 1, and binarize=None takes only 0, 1 and NaN (missing); set binarize "
            "to the value above which an entry counts as 1, such as 0.5."
        )
    cut = positive_number("binarize", binarize, zero=True)
    warnings.warn(
        f"{n_odd} value(s) of X were not 0 or 1 as binarize={cut:g} asks for; those above it became 1, the rest 0.",
        ValuesCut,
        stacklevel=caller_level(),
    )
    return source.then(_Cut(cut))


@dataclass(frozen=True)
class _Cut:
    cut: float

    def __call__(self, rows: Rows) -> Rows:
        return replace(rows, x=(rows.x > self.cut).astype(rows.x.dtype))
