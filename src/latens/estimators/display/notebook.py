"""A fitted estimator in a notebook: what was found in a sentence, and one small picture of its components."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from latens.array import Floats
from latens.estimators.fitted_parts import component_shares

__all__ = ["NotebookView"]

MOST_BARS = 12
BAR, PITCH, MARGIN = 220.0, 18.0, 130.0
LONGEST_LABEL = 18  # letters for which there is room beside the bars
SVG = (
    '<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img" aria-label="sizes of components">'
    "{body}</svg>"
)
LINE = (
    '<text x="{left:.0f}" y="{y:.0f}" text-anchor="end" font-size="12" fill="currentColor">{name}</text>'
    '<rect x="{start:.0f}" y="{top:.0f}" width="{length:.1f}" height="11" fill="#2b6a99"/>'
    '<text x="{end:.1f}" y="{y:.0f}" font-size="12" fill="currentColor">{share}</text>'
)


class NotebookView:
    """Mixed into every estimator, before scikit-learn's base, whose diagram is shown until `fit`."""

    # That base is not known here, which is why type checks are told to pass over four lines.

    @property
    def _repr_html_(self) -> Any:
        if not self.__sklearn_is_fitted__():  # type: ignore[attr-defined]
            return super()._repr_html_  # type: ignore[misc]
        return self._fitted_html

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        if not self.__sklearn_is_fitted__():  # type: ignore[attr-defined]
            return super()._repr_mimebundle_(**kwargs)  # type: ignore[misc, no-any-return]
        return {"text/plain": repr(self), "text/html": self._fitted_html()}

    def _fitted_html(self) -> str:
        sizes, names, form = _sizes(self)
        picture = _bars(sizes, names, form) if len(sizes) else ""
        return f"<div><p><b>{escape(repr(self))}</b><br>{escape(_sentence(self))}</p>{picture}</div>"


def _sentence(model: Any) -> str:
    """How many components were found, the bound, and whether the fit converged."""
    state = "converged" if model.converged_ else "not converged"
    found = ""
    if hasattr(model, "n_components_"):
        k = int(model.n_components_)
        names = [str(name).rstrip("0123456789") for name in model.get_feature_names_out()]
        noun = names[0] if names and len(set(names)) == 1 and names[0] else "component"
        found = f"{k} {noun}{'' if k == 1 else 'es' if noun.endswith('s') else 's'}; "
    elif hasattr(model, "coef_"):
        found = f"{len(model.coef_)} weights; "
    return f"{found}bound {model.elbo_:,.1f} nats, {state} after {model.n_iter_} iterations."


def _sizes(model: Any) -> tuple[Floats, list[str], str]:
    """Shares of components, or weights of a regression in their sd; their names, and how the sizes are written."""
    if hasattr(model, "coef_std_"):
        sure = np.abs(model.coef_) / np.maximum(np.asarray(model.coef_std_), np.finfo(float).tiny)
        order = np.argsort(-sure, kind="stable")[:MOST_BARS]
        names = getattr(model, "feature_names_in_", [f"x{d}" for d in range(len(sure))])
        return sure[order], [str(names[d]) for d in order], "{:.1f} sd from 0"
    share = component_shares(model)
    if share is None:
        return np.zeros(0), [], ""
    return share[:MOST_BARS], [str(name) for name in model.get_feature_names_out()][: len(share)], "{:.1%}"


def _bars(sizes: Floats, names: list[str], form: str) -> str:
    reach = float(np.max(sizes, initial=0.0)) or 1.0
    lines = []
    for i, (size, name) in enumerate(zip(sizes.tolist(), names, strict=False)):
        length = BAR * max(size, 0.0) / reach
        short = name if len(name) <= LONGEST_LABEL else name[: LONGEST_LABEL - 1] + "…"
        text = form.format(size).replace("%", " %")
        lines.append(
            LINE.format(
                left=MARGIN - 6, y=PITCH * i + 13, name=escape(short), start=MARGIN, top=PITCH * i + 4, length=length,
                end=MARGIN + length + 6, share=text,
            )
        )  # fmt: skip
    return SVG.format(width=MARGIN + BAR + 100, height=PITCH * len(lines) + 6, body="".join(lines))
