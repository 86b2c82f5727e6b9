"""The likelihoods of a fit in a sentence: which views or columns have which, and whether they were guessed."""

from __future__ import annotations

from typing import Any

from latens.system.wording import listed

__all__ = ["likelihood_note", "were_guessed"]


def likelihood_note(estimator: Any) -> str:
    """Empty for models whose columns are all of one kind.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> likelihood_note(SimpleNamespace(likelihoods=None, likelihoods_={"rna": "gaussian", "mut": "bernoulli"}))
    "likelihoods (guessed): gaussian 'rna'; bernoulli 'mut'"
    >>> likelihood_note(SimpleNamespace(likelihoods_={"sex": "bernoulli"}, levels_={"sex": ["female", "male"]}))
    "likelihoods (guessed): bernoulli 'sex' (1 = male)"
    """
    found = getattr(estimator, "likelihoods_", None)
    if not found:
        return ""
    by_kind: dict[str, list[str]] = {}
    for name, kind in found.items():
        by_kind.setdefault(str(kind), []).append(
            f"{str(name)!r}{_word(estimator, name) if kind == 'bernoulli' else ''}"
        )
    guessed = " (guessed)" if were_guessed(estimator) else ""
    return f"likelihoods{guessed}: " + "; ".join(f"{kind} {listed(names, form=str)}" for kind, names in by_kind.items())


def _word(estimator: Any, name: str) -> str:
    """What is 1 in a column of two words; of views, names of columns tell it."""
    levels = getattr(estimator, "levels_", {}).get(name, ())
    return f" (1 = {levels[1]})" if isinstance(levels, list) and isinstance(levels[1], str) else ""


def were_guessed(estimator: Any) -> bool:
    """Whether no likelihood was given."""
    return bool(getattr(estimator, "likelihoods_", None)) and getattr(estimator, "likelihoods", None) is None
