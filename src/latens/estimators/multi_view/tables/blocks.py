"""Views that are read in blocks: aligned scans or Dask collections as one wide source, and what a fit says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial, wraps
from inspect import signature
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latens.array import Floats
from latens.array.transfer import cross_sums, is_sparse
from latens.core import Rows, Source, Statistics
from latens.estimators.multi_view.covariates import CovariateColumns, Covariates, learn_in_blocks
from latens.estimators.multi_view.findings import levels_from_sums
from latens.estimators.multi_view.tables.input import is_in_blocks
from latens.estimators.multi_view.tables.row_names import group_numbers, groups_in_blocks
from latens.estimators.multi_view.tables.wide import Layout
from latens.estimators.rows.exposures import ExposureColumn
from latens.estimators.rows.lazy import answers_of_blocks
from latens.estimators.rows.source_checks import check_columns, compare_names
from latens.inference.local_fixed_point import local_fixed_point
from latens.models.multi_view.explained import Deviances, deviances
from latens.models.multi_view.model import MultiView, MultiViewPosterior
from latens.models.multi_view.view import COVARIATES, GROUP, exposure_of
from latens.scale.dask_blocks import dask_source
from latens.scale.scan import Known, Scan
from latens.system.optional_imports import is_dask

__all__ = ["covariates_of", "explain_source", "in_view_blocks", "view_by_view", "wide_source"]

Method = TypeVar("Method", bound=Callable[..., Any])


def in_view_blocks(method: Method) -> Method:
    """A method about views that also takes scans, one or a dict of them, and then answers block by block."""

    @wraps(method)
    def answer(self: Any, X: Any, *rest: Any, **options: Any) -> Any:
        if not is_in_blocks(X):
            return method(self, X, *rest, **options)
        scans = {str(name): view for name, view in X.items()} if isinstance(X, Mapping) else {"": X}
        if not all(isinstance(scan, Scan) for scan in scans.values()):
            raise TypeError(
                "answers about several views take scans and arrays, not Dask collections; compute them first."
            )
        check_is_fitted(self)
        asked = dict(list(signature(method).bind(self, X, *rest, **options).arguments.items())[2:])  # all by name
        given = [name for name in ("groups", "precision", "exposure", "covariates") if asked.get(name) is not None]
        if given:
            raise ValueError(
                f"{given[0]} cannot be given beside a scan; name a column of groups, exposures or covariates in "
                "latens.scan."
            )
        for view, features in zip(self.layout_.views, self.layout_.as_read.features, strict=True):
            names = scans[view].feature_names if view in scans else scans[""].feature_names if "" in scans else None
            if names is not None and set(names) & set(features):  # else features of the fit had no names
                compare_names(list(features), list(names))
        blocks = ViewBlocks(scans, bool(self.layout_.groups))
        return answers_of_blocks(lambda block: method(self, block.views, **{**asked, **block.known}), blocks, asked)

    return cast("Method", answer)


def view_by_view(partial_fit: Method) -> Method:
    """A `partial_fit` of views that also takes scans: each of their blocks is a batch."""

    @wraps(partial_fit)
    def fit_batches(self: Any, X: Any, *rest: Any, **options: Any) -> Any:
        scans = X if isinstance(X, Mapping) and not is_sparse(X) else {"": X}
        if not scans or not all(isinstance(scan, Scan) for scan in scans.values()):
            return partial_fit(self, X, *rest, **options)
        blocks = ViewBlocks({str(name): scan for name, scan in scans.items()}, grouped=True)
        for number in range(blocks.n_blocks):
            block = blocks.numbers(number)
            partial_fit(self, block.views, *rest, **options, **block.known)
        return self

    return cast("Method", fit_batches)


@dataclass(frozen=True)
class ViewBlock:
    """The same rows of several views, and what else is known of them, by the names that methods give it."""

    views: Any
    known: dict[str, Any]


@dataclass(frozen=True)
class ViewBlocks:
    """Scans of several views, read side by side."""

    scans: dict[str, Scan]  # one of no name is a plain table
    grouped: bool  # whether the model has several groups: only then it wants to know those of the rows

    @property
    def n_blocks(self) -> int:
        return next(iter(self.scans.values())).n_blocks

    def numbers(self, number: int) -> ViewBlock:
        parts = {name: scan.numbers(number) for name, scan in self.scans.items()}
        known: dict[str, Any] = {}
        telling = next((scan for scan in self.scans.values() if scan.groups is not None), None)
        if telling is not None and self.grouped:
            known["groups"] = telling.column(number, telling.groups)
        exposed = {
            name: scan.column(number, scan.exposure) for name, scan in self.scans.items() if scan.exposure is not None
        }
        if exposed:
            known["exposure"] = exposed.get("", exposed)
        covered = next((scan for scan in self.scans.values() if scan.covariates), None)
        if covered is not None:
            known["covariates"] = covered.known_covariates(number)
        return ViewBlock(parts.get("", parts), known)

    def known(self, number: int) -> dict[str, Any]:
        return {}  # blocks bring it along

    def names_of_rows(self, number: int) -> Any:
        named = [scan for scan in self.scans.values() if scan.row_names is not None]
        return named[0].names_of_rows(number) if named else None

    def identity(self, number: int) -> Any:
        return {name: scan.identity(number) for name, scan in self.scans.items()}


def covariates_of(views: Any, names: Any = None) -> Covariates | None:
    """What covariates are like, block by block: those that a scan names, or columns of a Dask dataframe by `names`."""
    each = list(views.values()) if isinstance(views, Mapping) else [views]
    if names is not None:
        wanted = _names_of_columns(names)
        frame = next((one for one in each if is_dask(one) and set(wanted) <= set(getattr(one, "columns", ()))), None)
        if frame is None:
            raise ValueError(
                f"covariates={names!r} cannot be given beside views that are read in blocks, unless they are names of "
                "columns of a Dask dataframe; of files, name them in latens.scan."
            )
        return learn_in_blocks(partial(_blocks_of_frame, frame[wanted]))
    telling = next((scan for scan in each if isinstance(scan, Scan) and scan.covariates), None)
    return None if telling is None else learn_in_blocks(partial(_blocks_of_scan, telling))


def _names_of_columns(names: Any) -> list[str]:
    given = [names] if isinstance(names, str) else names
    return list(given) if isinstance(given, list | tuple) and all(isinstance(one, str) for one in given) else [""]


def _blocks_of_scan(scan: Scan) -> Iterator[tuple[dict[str, Any], Floats]]:
    """Covariates of each block, and how often its rows count."""
    for number in range(scan.n_blocks):
        values = scan.known_covariates(number)
        n = len(next(iter(values.values())))
        weight = np.ones(n) if scan.weights is None else scan.column(number, scan.weights)
        yield values, np.asarray(weight, dtype=float)


def _blocks_of_frame(frame: Any) -> Iterator[tuple[dict[str, Any], Floats]]:
    for part in frame.to_delayed():
        rows = part.compute()
        yield {str(name): rows[name].to_numpy() for name in rows.columns}, np.ones(len(rows))


def wide_source(
    views: Any, estimator: Any, covariates: Covariates | None = None, *, reset: bool = True
) -> tuple[Source, Layout]:
    """All views side by side, and which columns belong to which; nothing is read but for the survey.

    `reset`: names of columns are remembered as those of a fit, else compared with them.
    """
    named = {str(name): view for name, view in views.items()} if isinstance(views, Mapping) else {"x": views}
    for name, view in named.items():
        if isinstance(view, Scan) and view.weights is not None and len(named) > 1:
            raise ValueError(f"the scan of view {name!r} has weights; several views in blocks take none.")
    groups = _groups(named)
    known = {name: _known(name, view, groups, covariates) for name, view in named.items() if isinstance(view, Scan)}
    sources = {
        name: view.source(*known[name]) if isinstance(view, Scan) else dask_source(view, *_beside_of(view, covariates))
        for name, view in named.items()
    }
    layout = Layout(
        tuple(sources),
        tuple(_features(name, source) for name, source in sources.items()),
        groups=groups,
        exposed=tuple(name for name, view in named.items() if getattr(view, "exposure", None) is not None),
    )
    first, *rest = sources.values()
    wide = first if not rest else _beside([first, *rest], layout.views)
    plain = not isinstance(views, Mapping)
    check_columns(estimator, wide.feature_names if plain else None, wide.n_columns, reset=reset)
    survey = wide.survey
    if survey.n_infinite:
        raise ValueError(f"the views contain infinity in {survey.n_infinite} entries; give numbers or NaN.")
    if survey.n_rows < 2:
        raise ValueError(f"the views show values in {survey.n_rows} row(s); a fit needs at least 2.")
    return wide, layout


def _groups(views: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the groups, from the first scan that tells them; one group is none."""
    telling = next((view for view in views.values() if isinstance(view, Scan) and view.groups is not None), None)
    if telling is None:
        return ()
    labels = (telling.column(number, telling.groups) for number in range(telling.n_blocks))
    names = groups_in_blocks(telling.groups, labels)
    return names if len(names) > 1 else ()


def _known(name: str, scan: Scan, groups: tuple[str, ...], covariates: Covariates | None) -> list[Known]:
    """What the rows of a view carry beside their values."""
    found = []
    if covariates is not None and tuple(map(str, scan.covariates)) == covariates.columns:
        found.append(Known(COVARIATES, scan.covariates, CovariateColumns(covariates)))
    if groups and scan.groups is not None:
        found.append(Known(GROUP, (scan.groups,), _GroupNumbers(groups)))
    if scan.exposure is not None:
        found.append(Known(exposure_of(name), (scan.exposure,), ExposureColumn(f" of view {name!r}")))
    return found


def _beside_of(frame: Any, covariates: Covariates | None) -> list[Known]:
    """The covariates among the columns of a Dask dataframe."""
    if covariates is None or not set(covariates.columns) <= set(map(str, getattr(frame, "columns", ()))):
        return []
    return [Known(COVARIATES, covariates.columns, CovariateColumns(covariates))]


@dataclass(frozen=True)
class _GroupNumbers:
    groups: tuple[str, ...]

    def __call__(self, values: Any, rows: Rows) -> Floats:
        return group_numbers(values, [], None, len(rows), self.groups)[0].astype(rows.x.dtype)


def explain_source(model: MultiView, q: MultiViewPosterior, source: Source) -> Deviances:
    """How much of the views the factors explain: two passes, nothing kept of any row."""
    sums: _LevelSums = source.total(partial(_sum_levels, model))
    usual = [levels_from_sums(view, q, sums.x[:, view.columns], sums.seen[:, view.columns]) for view in model.views]
    total: Deviances = source.total(partial(_deviances, model, q, usual))
    return total


@dataclass(frozen=True)
class _LevelSums(Statistics):
    n: float
    x: Floats  # (G, D), sums by group
    seen: Floats  # (G, D), weights of the rows that show each column


def _sum_levels(model: MultiView, rows: Rows, _: Any) -> tuple[None, _LevelSums]:
    weighted = rows.weigh(model.members(rows))
    return None, _LevelSums(rows.n, cross_sums(weighted, rows.x), cross_sums(weighted, rows.mask + 0 * rows.x[:, :1]))


def _deviances(
    model: MultiView, q: MultiViewPosterior, usual: list[Floats], rows: Rows, _: Any
) -> tuple[None, Deviances]:
    return None, deviances(model, q, usual, rows, local_fixed_point(model, q, rows).mean)


def _features(name: str, source: Source) -> tuple[str, ...]:
    return source.feature_names or tuple(f"{name}_{d}" for d in range(source.n_columns))


def _beside(sources: list[Source], names: tuple[str, ...]) -> Source:
    """Blocks of the same rows joined; they must be cut alike."""
    first, counts = sources[0], [len(source.handles) for source in sources]
    if len(set(counts)) > 1:
        raise ValueError(
            f"the views {', '.join(names)} have {', '.join(map(str, counts))} blocks; cut them alike, with the same "
            "block_rows in latens.scan or the same chunks."
        )
    dtype = np.dtype(np.float32) if all(source.dtype == np.float32 for source in sources) else np.dtype(np.float64)
    return replace(
        first,
        handles=tuple(zip(*(source.handles for source in sources), strict=True)),
        load=_LoadBeside(tuple(source.load for source in sources), names),
        n_columns=sum(source.n_columns for source in sources),
        dtype=dtype,
        feature_names=None,
        concurrent=all(source.concurrent for source in sources),
    )


@dataclass(frozen=True)
class _LoadBeside:
    loads: tuple[Callable[[Any], Rows], ...]
    names: tuple[str, ...]

    def __call__(self, handles: tuple[Any, ...]) -> Rows:
        parts = [load(handle) for load, handle in zip(self.loads, handles, strict=True)]
        lengths = [len(part) for part in parts]
        if len(set(lengths)) > 1:
            counts = ", ".join(f"{name} {n}" for name, n in zip(self.names, lengths, strict=True))
            raise ValueError(
                f"a block has different numbers of rows by view ({counts}); the views must hold the same rows in the "
                "same order, cut alike: the same block_rows, or the same chunks."
            )
        x = np.concatenate([part.x for part in parts], axis=1)
        seen = None
        if any(part.seen is not None for part in parts):
            seen = np.concatenate([np.broadcast_to(part.mask > 0, part.x.shape) for part in parts], axis=1)
        shown = np.ones(len(x), dtype=bool) if seen is None else seen.any(axis=1)
        aux = {name: values for part in reversed(parts) for name, values in part.aux.items()}
        # what no view shows counts nothing
        return Rows(x, seen, None if shown.all() else shown.astype(x.dtype), aux)
