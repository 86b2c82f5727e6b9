"""Numbers as a reader wants them: table entries, and round ticks along an axis."""

from __future__ import annotations

import math

__all__ = ["chance", "log_ticks", "number", "tick_labels", "ticks", "times_usual", "told_apart"]

MINUS = "\N{MINUS SIGN}"
SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def number(value: float) -> str:
    """A number with as many digits as a reader uses.

    Examples
    --------
    >>> number(1234.5678), number(0.30123), number(0.0012345), number(2e-7), number(8)
    ('1,234.6', '0.301', '0.0012', '2e-07', '8')
    """
    size = abs(value)
    if isinstance(value, int) or value == 0:
        text = f"{int(value):,}"
    elif not math.isfinite(value) or size >= 1e9 or size < 1e-3:
        text = f"{value:.3g}"
    else:
        text = f"{value:,.{1 if size >= 100 else 2 if size >= 1 else 3 if size >= 0.01 else 4}f}"
    return text.replace("-", MINUS, 1) if value < 0 else text


def chance(value: float) -> str:
    """A probability as a reader takes it: what is as good as 0 or 1 is written so.

    Examples
    --------
    >>> chance(9.8e-06), chance(0.0123), chance(0.99996), chance(0.999)
    ('0', '0.012', '1', '0.999')
    """
    return "0" if value < 0.0005 else "1" if value > 0.9995 else number(value)


def times_usual(lift: float) -> str:
    """How many times the usual share a probability is, as a reader takes it.

    Examples
    --------
    >>> times_usual(2.4), times_usual(0.000143)
    ('2.40', '0')
    """
    return number(lift) if lift >= 0.0005 else "0"


def told_apart(lower: float, upper: float) -> tuple[str, str]:
    """Two numbers close to each other, with so many digits that they differ.

    Examples
    --------
    >>> told_apart(2006.9988, 2007.0012), told_apart(3.0, 3.0)
    (('2,006.999', '2,007.001'), ('3.00', '3.00'))
    """
    gap = upper - lower
    if not (math.isfinite(gap) and gap > 1e-9 * max(abs(lower), abs(upper))):
        return number(lower), number(upper)
    decimals = max(0, math.ceil(-math.log10(gap)))
    first, last = (f"{value:,.{decimals}f}".replace("-", MINUS) for value in (lower, upper))
    return first, last


def ticks(low: float, high: float, *, most: int = 6, whole: bool = False) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten within a range, at most `most` of them.

    Examples
    --------
    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(3.0, 5.0, whole=True)
    [3.0, 4.0, 5.0]
    """
    if not high > low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (power * factor for factor in (1, 2, 5, 10, 20, 50, 100)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most and (step >= 1 or not whole):
            break
    return [float(f"{i * step:.12g}") for i in range(first, last + 1)]


def tick_labels(values: list[float]) -> list[str]:
    """Labels with the fewest decimals that keep all of them apart and true."""
    largest = max((abs(value) for value in values), default=0.0)
    if largest >= 1e9 or 0 < largest < 1e-4:
        return [f"{value:g}".replace("-", MINUS, 1) if value < 0 else f"{value:g}" for value in values]
    for decimals in range(7):
        if all(abs(round(value, decimals) - value) <= 1e-9 * largest for value in values):
            break
    return [f"{value:,.{decimals}f}".replace("-", MINUS) for value in values]


def log_ticks(low: float, high: float, *, most: int = 6) -> tuple[list[float], list[str]]:
    """Where to label a logarithmic axis that runs over a range of logarithms to base ten, and with what.

    Powers of ten; over less than two decades, also their multiples by 2 and 5.

    Examples
    --------
    >>> log_ticks(-2.0, 1.0)
    ([-2.0, -1.0, 0.0, 1.0], ['10⁻²', '10⁻¹', '10⁰', '10¹'])
    """
    if high - low < 2:
        values = [factor * 10.0**power for power in range(math.floor(low), math.ceil(high) + 1) for factor in (1, 2, 5)]
        shown = [value for value in values if low <= math.log10(value) <= high]
        return [math.log10(value) for value in shown], [f"{value:g}" for value in shown]
    places = ticks(low, high, most=most, whole=True)
    return places, ["10" + f"{place:.0f}".translate(SUPERSCRIPTS) for place in places]
