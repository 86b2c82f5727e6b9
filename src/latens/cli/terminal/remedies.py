"""Remedies of the library's warnings in the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from shlex import quote

from latens.errors import WarningRecord

__all__ = ["in_options", "warned_in_options"]

# remedies of the library, and how the command line has them
REMEDIES: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"likelihoods=\{'([^']*)': 'negative-binomial'\} with exposure='total'",
     lambda found: f"--likelihood {quote(f'{found[1]}=negative-binomial')} --exposure total"),
    (r"(?<=view )('[^']*')(.*)np\.log1p of it",
     lambda found: f"{found[1]}{found[2]}--log1p {quote(_file_of(found[1][1:-1]) or 'all')}"),
    (r"keep one of each(: X\.drop_duplicates\(\)|: np\.unique\(X, axis=0\)|); or give each a "
     r"sample_weight of", "keep one of each in the file; or give each, in a column for --weights,"),
    (r"pass sample_weight=w \* \(w\.sum\(\) / \(w\*\*2\)\.sum\(\)\)",
     "multiply the column of --weights by its sum over the sum of its squares"),
    (r"(?<=do not count them: )pass sample_weight=w / w\.mean\(\)", "divide the column of --weights by its mean"),
    (r"sample_weight(?= adds up| holds)", "the column of --weights"),
    (r"X_test(?= looks like)", "--data"),
    (r"leave X_test out", "leave --data out"),
    (r"[Pp]ass X_test=rows that (neither|no fit) (has seen)", r"give --data FILE with rows that \1 \2"),
    (r"Raise max_iter or tol", "Raise --max-iter"),
    (r"used all max_time=\S+ seconds", "used all of --max-time"),
    (r"Raise max_time", "Raise --max-time"),
    (r"Call fit with warm_start=True to go on", "--continue MODEL.latens goes on from it"),
    (r"; elbo_history_ shows how it moved", ""),
    (r"n_components=(\d+) is an upper bound", r"-k \1 is an upper bound"),
    (r" To have exactly (\d+): prune=False\.", r" In Python, prune=False has exactly \1."),
    (r"Raise n_components, or set it to None to have the number found", "Raise -k, or give -k auto"),
    (r"Give more rows, or set n_components and prune=False to keep that number\.", "Give more rows."),
    (r"Make them names of rows, X\.set_index\('([^']*)'\), or leave them out: .*arrays\.",
     r"Make it the names of rows, --index-col \1, or leave it out: --drop \1."),
    (r"(?<=Keep one of each: )(X\.drop\(columns=\[.*\]\)|leave out '.*')(?=\.)", lambda found: _drop_option(found[0])),
    (r"(?:(?<=steps of a scale: )|(?<=they are counts: ))likelihoods=\{.*\}(?=[.,])",
     lambda found: _kind_options(found[0])),
)  # fmt: skip


def in_options(words: str) -> str:
    """A remedy of the library in the words of the command line."""
    for python, option in REMEDIES:
        words = re.sub(python, option, words)
    return words


def warned_in_options(records: Iterable[WarningRecord]) -> list[tuple[str, str]]:
    """What each warning has seen, and what to do about it, in these words.

    >>> warned_in_options([WarningRecord("equal-columns", "equal.", "Keep one of each: X.drop(columns=['b']).")])
    [('equal.', 'Keep one of each: --drop b.')]
    """
    found = []
    for record in records:
        seen, both = in_options(record.message), in_options(f"{record.message} {record.remedy}".strip())
        remedy = both.removeprefix(seen).strip() if both.startswith(seen) else in_options(record.remedy)
        found.append((seen, remedy))
    return found


def _drop_option(words: str) -> str:
    """The option that leaves out the columns named in some words; of views, by the name they have in the file.

    >>> _drop_option("X.drop(columns=['price', 'hue 2'])"), _drop_option("leave out 'numbers: price'")
    ("--drop 'price,hue 2'", '--drop price')
    >>> _drop_option("leave out 'rna: TP53'"), _drop_option("leave out 'clinic numbers: age'")
    ("--drop 'rna: TP53'", "--drop 'clinic: age'")
    """
    names = []
    for name in re.findall(r"'([^']*)'", words):
        view, _, column = name.rpartition(": ")
        names.append(f"{file}: {column}" if (file := _file_of(view)) else column)
    return f"--drop {quote(','.join(names))}"


def _file_of(view: str) -> str:
    """The name of the file that a view is of, without the kind of its columns; none where that is the only file.

    >>> _file_of("clinic numbers"), _file_of("rna"), _file_of("numbers")
    ('clinic', 'rna', '')
    """
    return re.sub(r"(^| )(numbers|counts|yes_no|categories)$", "", view)


def _kind_options(words: str) -> str:
    """The options that take columns as what some words say of each.

    >>> _kind_options("likelihoods={'q1': 'ordinal', 'q 2': 'ordinal'}")
    "--likelihood q1=ordinal --likelihood 'q 2=ordinal'"
    """
    kinds = re.findall(r"'([^']*)': '([^']*)'", words)
    return " ".join(f"--likelihood {quote(f'{name}={kind}')}" for name, kind in kinds)
