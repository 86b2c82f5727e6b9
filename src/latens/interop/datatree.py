"""Draws of a posterior as ArviZ takes them: groups of labelled arrays in an xarray DataTree."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np

from latens.estimators.fitted_parts import axes_of_published, entries_of
from latens.system.optional_imports import require

__all__ = ["to_datatree"]

N_CHAINS = 4  # of Gibbs sampling; draws of other methods are one chain


def to_datatree(model: Any, X: Any = None, n_samples: int = 400, method: str = "mean-field") -> Any:
    """Draw the global unknowns of a fitted estimator and hand them to ArviZ.

    Parameters
    ----------
    model : fitted estimator
        Anything with `sample_posterior`.
    X : as given to `fit`, optional
        Kept as observed data; needed by methods that go through the rows.
    n_samples : int
        Draws; for "gibbs" a multiple of 4, the number of chains.
    method : "mean-field", "response" or "gibbs"
        As in `sample_posterior`.

    Returns
    -------
    xarray.DataTree
        Groups "posterior" (chain, draw, and names of components and features) and, where X was given,
        "observed_data".

    Examples
    --------
    >>> import latens
    >>> X, _ = latens.datasets.make_mixture(100, random_state=0)
    >>> tree = latens.interop.to_datatree(latens.GaussianMixture(4, random_state=0).fit(X), n_samples=20)
    >>> dict(tree["posterior"].sizes)["draw"]
    20
    """
    xarray = require("xarray", "xarray")
    n_chains = N_CHAINS if method == "gibbs" else 1
    if n_samples % n_chains:
        raise ValueError(f"n_samples={n_samples}: Gibbs sampling runs {n_chains} chains; give a multiple of it.")
    drawn = model.sample_posterior(n_samples, method=method, X=X)
    components = [str(name) for name in model.get_feature_names_out()] if hasattr(model, "transform") else []
    arrays: dict[str, Any] = {}
    for name, value in drawn.items():
        for view, part in (value if isinstance(value, dict) else {"": value}).items():
            label = f"{name}_{view}" if view else name
            arrays[label] = _labelled(xarray, model, name, view, np.asarray(part), n_chains, components)
    about = {"inference_library": "latens", "inference_library_version": version("latens"), "method": method}
    groups = {"/posterior": xarray.Dataset(arrays, attrs=about)}
    if X is not None:
        values = entries_of(model, X) if hasattr(model, "transform") else np.asarray(X, dtype=np.float64)
        groups["/observed_data"] = xarray.Dataset({"X": (("row", "column"), values)})
    return xarray.DataTree.from_dict(groups)


def _labelled(
    xarray: Any, model: Any, name: str, view: str, values: np.ndarray, n_chains: int, components: list[str]
) -> Any:
    """An array with chains, draws and the names of its axes."""
    values = values.reshape(n_chains, len(values) // n_chains, *values.shape[1:])
    if hasattr(model, "coef_"):
        kinds, features = ("d", _regressors(model)) if name == "coef" else ("", [])
    else:
        kinds, features = axes_of_published(model, name, view)
    dims, coordinates = ["chain", "draw"], {}
    for place, size in enumerate(values.shape[2:]):
        kind = kinds[place] if place < len(kinds) else ""
        if kind == "k" and size == len(components):
            dims.append("component")
            coordinates["component"] = components
        elif kind in ("d", "e") and size == len(features):
            suffix = f"_{view}" if view else ""
            dims.append(f"feature{suffix}" if kind == "d" else f"other_feature{suffix}")
            coordinates[dims[-1]] = list(features)
        elif kind == "l" and size == len(features):
            dims.append("level")
            coordinates["level"] = list(features)
        else:
            dims.append(f"{name}{'_' + view if view else ''}_axis{place}")
    return xarray.DataArray(values, dims=dims, coords=coordinates)


def _regressors(model: Any) -> list[str]:
    """Names of the columns of a regression."""
    named = getattr(model, "feature_names_in_", None)
    return [f"x{d}" for d in range(len(model.coef_))] if named is None else [str(name) for name in named]
