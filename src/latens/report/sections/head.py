"""What a page says first: the data, one sentence made of numbers, and four verdicts, each with its place below."""

from __future__ import annotations

from datetime import date
from importlib.metadata import version
from shlex import quote
from typing import Any

import numpy as np
from markupsafe import Markup

from latens.diagnose.hidden_entries import SHARE
from latens.estimators.fitting.fit_doubts import FEW_ASKED
from latens.report.charts.numbers import number
from latens.report.measures.hidden_cells import FEWEST_CELLS, MOST_ROUNDS
from latens.report.measures.sample import n_rows_of
from latens.report.sections.curve import curve_of
from latens.report.subject import Entry

__all__ = ["about", "sentence", "stability_command", "verdicts"]

LEAST_SHARE = 0.001  # shown as a number
LEAST_RETURN_RATE = 0.7  # share of halves, above chance, from which a component is said to come back
PYTHON = Markup('<p class="as-python"><a class="copy" href="#{}-reproduce">copy as Python</a>{}</p>')
VERDICT = Markup('<li class="{}">{}<a href="#{}-{}">{}</a></li>')
OPTION = Markup('<span class="option">{}</span>')
MOST_TYPED = 90  # characters of a command that stands in a verdict
WORDS = {
    "clusters": "clusters of rows",
    "classes": "latent classes of rows",
    "switches": "rows as sums of on/off causes",
    "causes": "binary rows with hidden on/off causes",
    "sources": "independent sources under sensor noise",
    "views": "factors shared by several views",
    "regression": "linear regression with the posterior of its weights",
    "factors": "low-rank factors plus noise of each column",
}


def about(entry: Entry) -> str:
    """Data, model, date and version in one line."""
    parts = [entry.source] if entry.source else []
    size = _size(entry)
    parts += [size] if size else []
    missing = _missing(entry)
    parts += [missing] if missing else []
    words = "factors shared by columns of several kinds" if entry.by_kind else WORDS[entry.family]
    parts.append(f"{type(entry.model).__name__}: {words}")
    parts.append(f"{date.today().isoformat()}, latens {version('latens')}")
    return " · ".join(parts)


def sentence(entry: Entry) -> str:
    """The main finding, made of numbers only."""
    k, model, sizes = entry.n_components, entry.model, entry.sizes
    found = f"{number(k)} {entry.noun(k)}"
    if entry.family == "regression":
        return _of_regression(entry)
    if k == 0:
        return f"No {entry.noun(1)} was needed to explain the rows."
    if entry.grouped and sizes is not None:
        sure = _mean_membership(entry)
        ends = f"the largest {_percent(sizes.share.max())} of the rows, the smallest {_percent(sizes.share.min())}"
        found += f": {ends}" if k > 1 else ""
        return (
            f"{found}; rows belong to theirs with probability {sure:.2f} on average." if sure and k > 1 else f"{found}."
        )
    if entry.family in ("switches", "causes"):
        usage = np.asarray(model.usage_)
        found += f", each on in {_percent(usage.min())} to {_percent(usage.max())} of the rows,"
    if sizes is not None:
        verb = "explain" if k > 1 else "explains"
        of = {"ones": "of the ones", "variance": "of the variance"}[sizes.of]
        found += f" {verb} {_percent(sizes.total)} {of}"
    if entry.family == "views":
        total = np.mean(model.explained_["total"], axis=0)
        each = ", ".join(f"{view} {_percent(v)}" for view, v in list(zip(entry.view_names, total, strict=True))[:6])
        over = "kinds of columns" if entry.by_kind else "views"
        found += f", averaged over {over} ({each})" if len(total) > 1 else ""
    return found.removesuffix(",") + "."


def verdicts(entry: Entry, chapter: str) -> Markup | None:
    """Converged, number below its cap, hidden cells, stable: each in words, with a link to where more is said."""
    model, items = entry.model, []
    if not hasattr(model, "posterior_"):
        return None
    if curve_of(model).is_maximised:
        done = bool(model.converged_)
        steps = _several(int(model.n_iter_), "iteration")
        words = f"Converged after {steps}." if done else f"Not converged after {steps}: {_to_converge(entry)}."
        items.append(VERDICT.format("good" if done else "doubtful", words, chapter, "details", "details of the fit"))
    if entry.family != "regression":
        good, words = _number_found(entry)
        items.append(VERDICT.format(good, words, chapter, "components", entry.noun(2)))
        good, words = _cells(entry)
        items.append(VERDICT.format(good, words, chapter, "trust", "can I trust it"))
        good, words = _stable(entry)
        items.append(VERDICT.format(good, words, chapter, "trust", "can I trust it"))
    else:
        items.append(VERDICT.format(*_predicted(entry), chapter, "predictions", "predictions"))
    again = PYTHON.format(chapter, f" · {entry.data_notes[0]}" if entry.data_notes else "")
    return Markup('{}<ul class="verdicts">{}</ul>').format(again, Markup().join(items))


def _to_converge(entry: Entry) -> str:
    """What to raise: the time, where that was over first."""
    model = entry.model
    over = getattr(model, "max_time", None) is not None and model.n_iter_ < model.max_iter
    if entry.command:
        return "raise --max-time" if over else "raise --max-iter"
    return "raise max_time" if over else "raise max_iter"


def _stable(entry: Entry) -> tuple[str, str | Markup]:
    """Whether components come back in halves of the rows, or what to type to find out."""
    found = entry.stability
    if entry.n_components == 0:
        return "", "Stable? There is nothing that could return."
    if found is None or not len(found.return_rate):
        command = stability_command(entry)
        where = "what to type is below." if len(command.striptags()) > MOST_TYPED else command
        return "", Markup("Stable? Not tested yet: {}").format(where)
    rate = np.asarray(found.return_rate, dtype=np.float64)
    back = int(np.sum(rate >= LEAST_RETURN_RATE))
    if back == len(rate):
        each = "the" if back == 1 else f"all {number(back)}"
        verb = "returns" if back == 1 else "return"
        return (
            "good",
            f"Stable: {each} {entry.noun(back)} {verb} in at least {_percent(rate.min())} of halves of the rows.",
        )
    weakest = entry.labels[int(np.argmin(rate))] if len(entry.labels) == len(rate) else "the weakest"
    return "doubtful", (
        f"{number(back)} of {number(len(rate))} {entry.noun(2)} return in most halves of the rows; {weakest} in "
        f"{_percent(max(rate.min(), 0.0))}."
    )


def stability_command(entry: Entry) -> Markup:
    """What to type to learn whether components come back; no line ends within the dashes of an option."""
    rows = entry.rows_options or (entry.source and f"--data {quote(entry.source)}")
    if entry.model_file and rows:
        words = f"latens stability {quote(entry.model_file)} {rows}".split(" ")
        return Markup(" ").join(OPTION.format(word) if word.startswith("--") else word for word in words)
    return Markup("{}").format(entry.call("latens.stability(model, X)"))


def _predicted(entry: Entry) -> tuple[str, str]:
    if entry.y is None or entry.sample is None:
        return "", f"Predictions: not tried without targets ({'--target NAME' if entry.command else 'y='})."
    y, (mean, std) = _targets(entry), entry.model.predict(entry.sample.X, return_std=True)
    inside = float(np.mean(np.abs(y - np.asarray(mean)) <= 1.96 * np.asarray(std)))
    return "good" if inside >= 0.85 else "doubtful", f"{_percent(inside)} of the targets lie in their 95 % interval."


def _number_found(entry: Entry) -> tuple[str, str]:
    k, asked = entry.n_components, getattr(entry.model, "n_components", None)
    point = getattr(entry.model, "prior", "ard") == "ml" or getattr(entry.model, "prune", True) is False
    if not point and curve_of(entry.model).is_maximised and not entry.model.converged_:
        return "doubtful", f"{number(k)} {entry.noun(k)} so far: the search ended before their number was found."
    if not isinstance(asked, int | float | np.integer):
        return "good", f"{number(k)} {entry.noun(k)}: the number was found by the bound."
    if point:
        return "", f"The number of {entry.noun(2)}, {number(k)}, was given."
    if k < asked:
        more = " (an upper bound; prune=False keeps all)" if k < asked <= FEW_ASKED else ""
        return "good", f"{number(k)} {entry.noun(k)} needed of at most {number(int(asked))}{more}."
    more = "-k" if entry.command else "n_components"
    return "doubtful", f"All {number(k)} {entry.noun(2)} are in use: raise {more} to see whether others are needed."


def _cells(entry: Entry) -> tuple[str, str]:
    cells = entry.hidden_cells
    if cells is None:
        return "", f"Hidden cells: not tried{_why_not_tried(entry)}."
    parts = []
    if np.isfinite(cells.error):
        parts.append(f"Hidden cells are filled with {cells.error:.2f} times the error of column means")
    if np.isfinite(cells.right):
        parts.append(
            f"{'hidden' if parts else 'Hidden'} levels are right in {_percent(cells.right)} (the most frequent one: "
            f"{_percent(cells.usual)})"
        )
    if np.isfinite(cells.coverage):
        parts.append(f"{_percent(cells.coverage)} of {cells.n_numbers:,} numbers lie in their 95 % interval")
    return "good" if cells.helpful else "doubtful", "; ".join(parts) + "."


def _why_not_tried(entry: Entry) -> str:
    values = None if entry.sample is None else entry.sample.values
    if values is None or entry.n_components == 0:
        return " for these data"
    if values.shape[1] < 2:
        return ", since one column has no others to be filled from"
    few = np.isfinite(values).sum() * MOST_ROUNDS < FEWEST_CELLS / SHARE
    return ", since there are too few of them to tell" if few else " for these data"


def _of_regression(entry: Entry) -> str:
    model = entry.model
    n_clear = int(np.sum(np.abs(model.coef_) > 2 * np.asarray(model.coef_std_)))
    d = len(model.coef_)
    words = f"{number(n_clear)} of {number(d)} weight{'s' * (d != 1)} lie more than two posterior sd from 0"
    if entry.y is not None and entry.sample is not None:
        words = f"R² {_r_squared(entry):.3f} on these rows; {words}"
    return words + "."


def _r_squared(entry: Entry) -> float:
    assert entry.sample is not None
    y = _targets(entry)
    guess = np.asarray(entry.model.predict(entry.sample.X), dtype=np.float64)
    return float(1 - np.sum((y - guess) ** 2) / max(float(np.sum((y - y.mean()) ** 2)), np.finfo(float).tiny))


def _targets(entry: Entry) -> np.ndarray:
    assert entry.sample is not None
    return np.asarray(np.asarray(entry.y, dtype=np.float64)[entry.sample.index])


def _mean_membership(entry: Entry) -> float:
    table = np.asarray(getattr(entry.model, "classification_", np.zeros((0, 0))))
    return float(np.trace(table) / table.sum()) if table.size and table.sum() else 0.0


def _size(entry: Entry) -> str:
    n = n_rows_of(entry.X)
    layout = getattr(entry.model, "layout_", None)
    if layout is not None and n:
        layout = layout.as_read  # a category is one column, however many its levels take
        views = ", ".join(f"{name} {number(len(f))}" for name, f in zip(entry.view_names, layout.features, strict=True))
        return f"{_several(n, 'row')} × {_several(layout.n_columns, 'column')} ({views})"
    shape: tuple[Any, ...] = getattr(entry.X, "shape", ())
    return f"{_several(n, 'row')} × {_several(int(shape[1]), 'column')}" if n and len(shape) == 2 else ""


def _missing(entry: Entry) -> str:
    if entry.sample is None:
        return ""
    given = entry.sample.X
    if hasattr(given, "isna"):  # columns of levels are not missing where another level is known
        share = float(np.mean(np.asarray(given.isna())))
    else:
        share = float(np.mean(~np.isfinite(entry.sample.values)))
    if 0 < share < LEAST_SHARE:
        return "fewer than 0.1 % of the entries missing"
    return "" if share == 0 else f"{_percent(share)} of the entries missing"


def _several(n: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> _several(1, "column"), _several(1200, "row")
    ('1 column', '1,200 rows')
    """
    return f"{number(n)} {noun}{'s' * (n != 1)}"


def _percent(share: float) -> str:
    """A share in percent, with a decimal where it is small.

    Examples
    --------
    >>> _percent(0.4), _percent(0.012)
    ('40 %', '1.2 %')
    """
    value = 100 * float(share)
    return f"{value:.0f} %" if value >= 10 or value == 0 else f"{value:.1f} %"
