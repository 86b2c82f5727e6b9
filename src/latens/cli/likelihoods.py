"""`--likelihood NAME=KIND`: what columns are taken as, by view, by table or by column."""

from __future__ import annotations

import warnings
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.cli.terminal.failures import Refused
from latens.system.optional_imports import require
from latens.system.wording import listed

if TYPE_CHECKING:
    from latens.intake import Intake

__all__ = ["WITH_KINDS", "check_counts", "is_one_frame", "likelihoods_of", "likely_kinds", "named_kinds"]

WITH_KINDS = ("multi-view", "latent-classes")  # models that take exposures, and likelihoods by view or column
COUNT_LIKELIHOODS = ("poisson", "negative-binomial")


def check_counts(chosen: dict[str, str], n_files: int) -> None:
    """Refuse exposures where no view of one file is of counts; several files may yet turn out to be."""
    if n_files == 1 and not set(COUNT_LIKELIHOODS) & set(chosen.values()):
        view = "numbers" if "numbers" in chosen else next(iter(chosen), "numbers")
        raise Refused(
            f"--exposure is for counts, and no view is taken as counts: add --likelihood {quote(view)}=poisson (or "
            f"{quote(view)}=negative-binomial), or leave --exposure out."
        )


def likely_kinds(table: Intake, given: tuple[str, ...]) -> dict[str, str]:
    """Likelihoods by view, those that a fit to one table of cells will guess included."""
    chosen = likelihoods_of(table, given)
    if not is_one_frame(table):
        return chosen
    from latens.estimators.frames.raw_frames import is_mixed_frame
    from latens.estimators.frames.views_by_kind import chooses_columns, learn_views
    from latens.estimators.multi_view.tables.likelihood_guess import guess_likelihoods
    from latens.estimators.multi_view.tables.wide import lay_out

    frame = table.frame
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit will say it
        if is_mixed_frame(frame) or chooses_columns(frame, chosen):
            return learn_views(frame, chosen or None).likelihoods
        (kind,) = guess_likelihoods(lay_out({"numbers": frame}), None)  # measurements of one kind are one view
        return {"numbers": kind}


def likelihoods_of(table: Intake, given: tuple[str, ...]) -> dict[str, str]:
    """Those of views by kind of column where each level is a column of its own, and those that were asked for."""
    from latens.intake.encoding import VIEW_LIKELIHOODS

    if is_one_frame(table):
        return _by_column(table, named_kinds(given, "view"))
    views = table.views()
    known = VIEW_LIKELIHOODS if len(table.parts) == 1 else {}
    chosen = {view: kind for view, kind in known.items() if view in views}
    for name, kind in named_kinds(given, "view").items():
        chosen |= {name: kind} if name in views else _of_table(table, name, kind)
    return chosen


def _of_table(table: Intake, name: str, kind: str) -> dict[str, str]:
    """A kind for all views of a table that was cut by kind of column, of those that can have it; the rest is said."""
    from latens.models.likelihoods.names import refuse_unknown

    if name not in table.parts:
        views = [view for view in table.views() if view not in table.parts]
        parts = f" or of what they were cut into, {listed(views)}" if views else ""
        raise Refused(
            f"--likelihood {name}={kind} names no table; give the name of one, {listed(table.parts)},{parts}."
        )
    refuse_unknown(name, kind)
    encoded = table.parts[name].encoded()
    unfit = {}
    for view, places in encoded.places_by_view().items():
        block = encoded.matrix[:, places]
        values = block.toarray() if hasattr(block, "toarray") else block
        unfit[view] = _unfit(kind, view, values, encoded.has_words)
    return {f"{name} {view}": kind for view in _that_can(name, kind, unfit)}


def _that_can(name: str, kind: str, unfit: dict[str, str]) -> list[str]:
    """Parts of what was named that can have a likelihood, by why others cannot; says which, and refuses if none can."""
    can = [each for each, why in unfit.items() if not why]
    reasons = dict.fromkeys(why for why in unfit.values() if why)
    others = "; ".join(
        f"{listed([each for each, own in unfit.items() if own == why], 4, str)} {why}" for why in reasons
    )
    if not can:
        raise Refused(f"--likelihood {name}={kind} suits no column of {name}: {others}.")
    if others:
        warnings.warn(f"{name} is {kind} in {listed(can, 4, str)} alone: {others}.", stacklevel=3)
    return can


def _unfit(kind: str, view: str, values: Any, has_words: bool) -> str:
    """Why a view of columns of one kind cannot have a likelihood; "" where it can.

    >>> _unfit("poisson", "numbers", np.array([[0.5], [np.nan]]), False)
    'hold fractions'
    >>> _unfit("poisson", "yes_no", np.array([[1.0]]), False), _unfit("poisson", "yes_no", np.array([[1.0]]), True)
    ('', 'are words')
    """
    if view == "categories":
        return "" if kind == "bernoulli" else "are levels, each a yes/no column"
    if kind == "bernoulli":
        return "" if view == "yes_no" else "are more than yes and no"
    if view == "yes_no" and has_words:
        return "are words"
    if kind not in COUNT_LIKELIHOODS:
        return ""
    shown = values[~np.isnan(values)]
    if (shown != np.floor(shown)).any():
        return "hold fractions"
    return "hold negative numbers" if (shown < 0).any() else ""


def _by_column(table: Intake, chosen: dict[str, str]) -> dict[str, str]:
    """Kinds by column, where those of all numbers, counts, yes/no columns or categories were given together."""
    from latens.intake.encoding import VIEWS
    from latens.intake.raw_table import RawTable

    (part,) = table.parts.values()
    kinds = {column.name: column.kind for column in part.columns if column.is_kept}
    places = {column.name: j for j, column in enumerate(part.columns)}
    out: dict[str, str] = {}
    for name, kind in chosen.items():
        together = [] if name in kinds else [each for each, own in kinds.items() if own in VIEWS.get(name, ())]
        if kind in COUNT_LIKELIHOODS and name in ("numbers", "counts") and isinstance(part.table, RawTable):
            columns = {each: part.table.values[places[each]] for each in together}
            together = _that_can(name, kind, {each: _unfit(kind, name, columns[each], False) for each in together})
        out |= dict.fromkeys(together or [name], kind)
    return out | {name: kind for name, kind in chosen.items() if name in kinds}


def is_one_frame(table: Intake) -> bool:
    """Whether there is one table of cells: its columns are taken as they are, as of any data frame."""
    if len(table.parts) > 1 or hasattr(table.matrix(), "toarray"):
        return False
    try:
        require("pandas", "table")
    except ImportError:
        return False
    return True


def named_kinds(given: tuple[str, ...], of: str) -> dict[str, str]:
    """Kinds by name of a view or column."""
    chosen = {}
    for each in given:
        name, equals, kind = each.partition("=")
        if not equals:
            example = "numbers=gaussian" if of == "view" else "visits=poisson"
            raise Refused(
                f"--likelihood {each} names no {of}; write --likelihood {of.upper()}=KIND, such as {example}."
            )
        chosen[name] = kind
    return chosen
