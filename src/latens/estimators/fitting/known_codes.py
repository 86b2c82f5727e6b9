"""Codes of some rows that a caller knows: `fit(X, known=...)`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.optimize import linear_sum_assignment

from latens.array import Floats, Index
from latens.array.transfer import host
from latens.core import Fit, Rows, State
from latens.estimators.fitting.checkpoints import Checkpoint
from latens.estimators.fitting.context import FitContext, checkpointing
from latens.estimators.fitting.fit_doubts import looking_over
from latens.estimators.fitting.search import FitSearch
from latens.estimators.fitting.streams import Streaming
from latens.estimators.former_names import keywords_after_y
from latens.estimators.frames.row_labels import in_row_order
from latens.estimators.parameters import keep_warnings
from latens.estimators.rows.validation import check_rows, with_known
from latens.inference.sweep import tree_sum
from latens.models.known_codes import KNOWN

__all__ = ["KnownCodes", "known_labels", "known_switches"]

FEW_SHOWN = 5  # values that an error names


class KnownCodes(FitSearch):
    """Mixed into estimators whose codes may be given for some rows.

    Components are then those that were named: as many, in that order, none merged, split or taken out.
    """

    file_attributes: ClassVar[tuple[str, ...]] = (*Streaming.file_attributes, "_n_named")

    if TYPE_CHECKING:
        n_components: int | None
        moves: bool
        _look_over: Callable[[FitContext], None]

        def _fit(
            self,
            X: Any,
            sample_weight: Any,
            *,
            moves: bool,
            spare: bool = False,
            known: Any = None,
            rng: np.random.Generator | None = None,
            checkpoint: Checkpoint | None = None,
            until: float | None = None,
            centred: bool | None = None,
            in_stream: bool = False,
        ) -> tuple[FitContext, Fit]: ...

    @keywords_after_y("sample_weight")
    def fit(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, known: Any = None, checkpoint: Any = None
    ) -> Self:
        """Fit the model to rows X (n, D).

        Parameters
        ----------
        X : array of shape (n, D)
            Rows are samples. NaN means missing.
        y : ignored
            There for pipelines.
        sample_weight : array of shape (n,), optional
            How often each row counts; a weight of 2 is the row given twice.
        known : array of shape (n, K), optional
            Known codes of rows: 0, 1, or NaN (also -1) for unknown ones. Components are then those of its
            columns, in their order, and none is added, merged or deleted; `n_components` above K allows for
            others. `elbo_` is a bound on the log probability of rows and known codes together.
        checkpoint : path, optional
            A folder from which a killed or interrupted fit continues, with the same result.

        Returns
        -------
        self
        """
        with checkpointing(checkpoint) as opened, keep_warnings(self):
            context, _ = self._fit(X, sample_weight, moves=self.moves, known=known, checkpoint=opened)
            with looking_over(self):
                self._look_over(context)
        return self

    def _known_codes(self, known: Any, n_rows: int) -> Floats:
        """(n, K), what was given as 0, 1 and NaN; overridden where codes are labels."""
        return known_switches(known, n_rows, self.n_components)

    def _rows_of_fit(self, X: Any, sample_weight: Any = None, known: Any = None) -> Rows:
        rows = check_rows(self, X, sample_weight)
        return rows if known is None else with_known(self, rows, in_row_order("known", known, X))

    def _in_known_order(self, model: Any, starts: list[State], sample: Rows) -> list[State]:
        """The same starts with components in the order of the known codes, and what these codes say by themselves."""
        if KNOWN not in sample.aux:
            return starts
        named = [in_known_order(model, start.q, sample) for start in starts]
        return [State(q) for q in [*named, *from_known_rows(model, named[0], sample)]]


def known_switches(known: Any, n_rows: int, n_components: int | None) -> Floats:
    """(n, K), given as (n, K): 0, 1, or NaN (also -1) where a code is not known."""
    codes = _numbers(known, 2, n_rows, "a row of codes for each row of X, 0 or 1, NaN where unknown")
    codes = np.where(codes == -1, np.nan, codes)
    odd = ~(np.isnan(codes) | (codes == 0) | (codes == 1))
    if odd.any():
        shown = ", ".join(f"{value:g}" for value in np.unique(codes[odd])[:FEW_SHOWN])
        raise ValueError(f"known holds {shown}; a code is 0, 1, or NaN where it is not known.")
    _check_some(~np.isnan(codes))
    return _widened(codes, n_components, np.nan)


def known_labels(known: Any, n_rows: int, n_components: int | None) -> Floats:
    """(n, K), given as (n,): the number of each row's cluster, -1 or NaN where it is not known."""
    labels = _numbers(known, 1, n_rows, "a label for each row of X, counted from 0, -1 or NaN where unknown")
    labels = np.where(np.isnan(labels), -1, labels)
    odd = (labels != np.floor(labels)) | (labels < -1)
    if odd.any():
        shown = ", ".join(f"{value:g}" for value in np.unique(labels[odd])[:FEW_SHOWN])
        raise ValueError(
            f"known holds {shown}; labels are whole numbers from 0 on, -1 or NaN where they are not known. Number "
            "names by np.unique(names, return_inverse=True)."
        )
    _check_some(labels >= 0)
    k = int(labels.max()) + 1
    if not set(range(k)) <= set(labels.astype(int).tolist()):
        missing_labels = ", ".join(
            str(label) for label in sorted(set(range(k)) - set(labels.astype(int).tolist()))[:FEW_SHOWN]
        )
        raise ValueError(
            f"known has labels up to {k - 1}, but no row of {missing_labels}; number the labels 0, 1, 2 and so on."
        )
    codes = np.where(labels[:, None] >= 0, (labels[:, None] == np.arange(k)).astype(float), np.nan)
    return np.where(np.isnan(codes[:, :1]), np.nan, _widened(codes, n_components, 0.0))


def in_known_order(model: Any, q: Any, sample: Rows) -> Any:
    """A start with its components in the order in which they agree best with the rows that are known."""
    known = host(sample.aux[KNOWN])
    rows = np.flatnonzero(~np.isnan(known).all(axis=1))
    if not len(rows):
        return q
    free = sample.take(rows)
    beside = {name: values for name, values in free.aux.items() if name != KNOWN}
    codes = host(model.local_step(q, replace(free, aux=beside)).mean)
    return q.only(_best_order(known[rows], codes))


def from_known_rows(model: Any, q: Any, sample: Rows) -> list[Any]:
    """What the rows that are known wholly say by themselves, where they show every component."""
    known = host(sample.aux[KNOWN])
    rows = np.flatnonzero(~np.isnan(known).any(axis=1))
    if not len(rows) or not (known[rows] == 1).any(axis=0).all():
        return []
    part = sample.take(rows)
    stats = (sample.n / part.n) * tree_sum([model.statistics(part, model.local_step(q, part))])
    return [model.global_step(q, stats)]


def _best_order(known: Floats, codes: Floats) -> Index:
    """(K,), which component of a start is each that was named."""
    given = ~np.isnan(known)
    on, off = np.where(given, known, 0.0), np.where(given, 1 - known, 0.0)
    named, found = linear_sum_assignment(-(on.T @ codes + off.T @ (1 - codes)))
    return np.asarray(found[np.argsort(named)])


def _numbers(known: Any, n_axes: int, n_rows: int, expected: str) -> Floats:
    try:
        values = np.asarray(known, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"known holds something that is no number; give {expected}.") from None
    if values.ndim != n_axes or len(values) != n_rows:
        raise ValueError(f"known has shape {values.shape}, X has {n_rows} rows; give {expected}.")
    return values


def _check_some(given: Any) -> None:
    if not given.any():
        raise ValueError("known has no known entry: every entry is NaN or -1. Leave it out, or give some codes.")


def _widened(codes: Floats, n_components: int | None, rest: float) -> Floats:
    """With columns for components that nothing is known of."""
    k = codes.shape[1]
    if n_components is None or n_components == k:
        return codes
    if n_components < k:
        raise ValueError(f"known has {k} components, but n_components={n_components}; give {k} or more, or None.")
    return np.concatenate([codes, np.full((len(codes), n_components - k), rest)], axis=1)
