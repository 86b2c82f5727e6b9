"""A table whose cells are coloured by sign and size: it can be read, copied and sorted, unlike a picture of it."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from latens.report.charts.numbers import MINUS, chance, number, times_usual
from latens.report.charts.svg import shortened

__all__ = ["LEAST_STRENGTH_WRITTEN", "MOST_WIDE", "component_name", "heat_table", "signed"]

STEPS = (0.1, 0.3, 0.6, 1.0, 1.6)  # strengths from which colours deepen
LEAST_STRENGTH_WRITTEN = 0.3  # strength from which a cell tells its number
MOST_WIDE = 14  # components whose cells have room for numbers

TABLE = Markup(
    '<div class="scroll tall"><table class="heat{} sortable"><thead><tr><th>{}</th>{}</tr></thead>{}</table></div>'
)
CELL = Markup('<td class="{}" data-v="{:.4g}" title="{}">{}</td>')
NAME = Markup('<span data-k="{}">{}</span>')


def component_name(k: int, name: str) -> Markup:
    """The name of a component, which the script exchanges where a reader gives it another."""
    return NAME.format(k, name)


def signed(value: float) -> str:
    """A number with its sign, short.

    Examples
    --------
    >>> signed(0.524), signed(-12.3), signed(0.0)
    ('+0.52', '−12.3', '0')
    """
    if value == 0 or not np.isfinite(value):
        return "0" if value == 0 else "–"
    text = f"{abs(value):.2f}" if abs(value) < 10 else number(abs(value))
    return ("+" if value > 0 else MINUS) + text


def heat_table(
    corner: str,
    columns: list[str],
    names: list[str],
    strength: np.ndarray,
    shown: np.ndarray,
    why: dict[tuple[int, int], str] | None = None,
    lift: np.ndarray | None = None,
) -> Markup:
    """Columns below each other, components side by side.

    Parameters
    ----------
    corner : str
        Heading of the names of the columns.
    columns, names : list of str
        D columns and K components.
    strength : array of shape (D, K)
        What colours show: red for more, blue for less.
    shown : array of shape (D, K)
        What cells tell; the strength where it is NaN.
    why : dict, optional
        By (column, component), why a number is not sound: such cells are hatched.
    lift : array of shape (D, K), optional
        How many times the usual share a probability is; a cell tells it where it is pointed at.

    Examples
    --------
    >>> one = heat_table("column", ["a"], ["x", "y"], np.array([[1.2, -0.1]]), np.full((1, 2), np.nan))
    >>> one.count("<td"), "+1.20" in one
    (3, True)
    """
    why, dense = why or {}, len(names) > MOST_WIDE
    heads = Markup().join(Markup("<th>{}</th>").format(component_name(k, name)) for k, name in enumerate(names))
    rows = []
    for d, column in enumerate(columns):
        times = np.full(len(names), np.nan) if lift is None else lift[d]
        cells = [_cell(strength[d, k], shown[d, k], times[k], why.get((d, k), ""), dense) for k in range(len(names))]
        head = Markup('<td title="{}">{}</td>').format(column, shortened(column, 32))
        rows.append(Markup("<tr>{}{}</tr>").format(head, Markup().join(cells)))
    body = Markup("<tbody>{}</tbody>").format(Markup().join(rows))
    return TABLE.format(" dense" if dense else "", corner, heads, body)


def _cell(strength: float, shown: float, lift: float, why: str, dense: bool) -> Markup:
    strength = float(strength) if np.isfinite(strength) else 0.0
    level = int(np.searchsorted(STEPS, abs(strength), side="right"))
    kind = "" if level == 0 else f"{'p' if strength > 0 else 'm'}{level}"
    value = strength if np.isnan(shown) else float(shown)
    text = signed(strength) if np.isnan(shown) else chance(value) if np.isfinite(lift) else number(value)
    visible = not dense and abs(strength) >= LEAST_STRENGTH_WRITTEN
    words = text if not np.isfinite(lift) else f"{text}, {times_usual(lift)} times the usual share"
    title = f"{words}; {why}" if why else words if words != text or not visible else ""
    return CELL.format(f"{kind} unsound".strip() if why else kind, value, title, text if visible else "")
