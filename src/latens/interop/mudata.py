"""Factors in the annotated tables of scverse: beside the rows, the features, and in the notes."""

from __future__ import annotations

from typing import Any

import numpy as np

from latens.array import Floats
from latens.estimators.frames.row_labels import are_counted
from latens.estimators.multi_view.tables.wide import Layout
from latens.interop.samples import scores_of
from latens.plots.fitted import fitted

__all__ = ["to_mudata"]


def to_mudata(model: Any, mdata: Any, key: str = "latens") -> Any:
    """Write factors and loadings into MuData or AnnData.

    Parameters
    ----------
    model : MultiViewFactorAnalysis
        Fitted to these views.
    mdata : MuData or AnnData
        Changed in place. Rows that the model has not seen get NaN, features it has not used 0.
    key : str
        Factors go to ``obsm["X_" + key]`` (n, K), loadings to ``varm[key]`` (features, K), everything else to
        ``uns[key]``. With ``"mofa"`` the loadings go to ``varm["LFs"]`` and the notes have the entries of
        `muon.tl.mofa`, so that muon's plots work.

    Returns
    -------
    mdata

    Examples
    --------
    ::

        import latens, muon
        model = latens.MultiViewFactorAnalysis(10).fit(mdata)
        muon.pl.mofa(latens.interop.to_mudata(model, mdata, key="mofa"))
    """
    layout: Layout = fitted(model, "layout_")
    if not all(hasattr(mdata, part) for part in ("obsm", "varm", "uns")):
        raise TypeError(f"to_mudata got {type(mdata).__name__}; expected MuData or AnnData.")
    scores, loadings = _scores(model, mdata), _loadings(model, layout, mdata)
    mdata.obsm[f"X_{key}"] = scores
    mdata.varm["LFs" if key == "mofa" else key] = loadings
    mdata.uns[key] = {"params": _parameters(model, layout), "variance": _variance(model, layout)}
    if key != "mofa":
        mdata.uns[key]["factors"] = np.array(list(map(str, model.get_feature_names_out())), dtype=object)
        mdata.uns[key]["elbo"] = np.asarray(model.elbo_history_, dtype=np.float64)
    return mdata


def _scores(model: Any, mdata: Any) -> Floats:
    """(n, K), NaN for rows the model has not seen."""
    scores, names = scores_of(model), fitted(model, "row_names_")
    if names is not None and are_counted(names) and not set(names) & set(map(str, mdata.obs_names)):
        names = None  # data frames whose rows were only numbered
    if names is None:
        if len(scores) != mdata.n_obs:
            raise ValueError(
                f"the model was fitted to {len(scores)} rows without names and mdata has {mdata.n_obs}; "
                "fit it to data with row names, or to mdata itself."
            )
        return scores
    at = {name: i for i, name in enumerate(names)}
    rows = [at.get(str(name), -1) for name in mdata.obs_names]
    if max(rows, default=-1) < 0:
        raise ValueError(
            f"mdata and the model have no row name in common: {str(mdata.obs_names[0])!r} and the like, against "
            f"{names[0]!r}."
        )
    padded = np.vstack([scores, np.full(scores.shape[1], np.nan)])  # -1 is its last row
    return padded[rows]


def _loadings(model: Any, layout: Layout, mdata: Any) -> Floats:
    """(features of mdata, K), 0 for those the model has not used."""
    tables = dict(mdata.mod) if hasattr(mdata, "mod") else {layout.views[0]: mdata}
    absent = [view for view in layout.views if view not in tables]
    if absent:
        raise ValueError(f"mdata has no modality {absent[0]!r}; it has {', '.join(map(repr, tables))}.")
    parts = []
    for name, table in tables.items():
        part = np.zeros((table.n_vars, int(model.n_components_)))
        if name in layout.views:
            features = layout.features[layout.views.index(name)]
            at = {str(feature): j for j, feature in enumerate(table.var_names)}
            strange = [feature for feature in features if feature not in at]
            if len(strange) == len(features) == table.n_vars:  # the fit saw no names
                part[:] = model.components_[name].T
            elif strange:
                raise ValueError(f"modality {name!r} of mdata has no feature {strange[0]!r}, which the model has.")
            else:
                part[[at[feature] for feature in features]] = model.components_[name].T
        parts.append(part)
    return np.concatenate(parts)


def _variance(model: Any, layout: Layout) -> dict[str, Any]:
    """Per cent that each factor explains, by view, and by group where there are several."""
    explained = 100 * np.asarray(fitted(model, "explained_")["per_factor"])  # (G, M, K)
    if len(explained) == 1:
        return {view: explained[0, m] for m, view in enumerate(layout.views)}
    return {
        view: {group: explained[g, m] for g, group in enumerate(layout.groups)} for m, view in enumerate(layout.views)
    }


def _parameters(model: Any, layout: Layout) -> dict[str, Any]:
    seed = getattr(model, "random_state", None)
    return {
        "data": {"likelihoods": np.array([model.likelihoods_[view] for view in layout.views], dtype=object)},
        "model": {
            "ard_factors": len(layout.groups) > 1,
            "ard_weights": True,
            "spikeslab_weights": any(np.any(np.asarray(on) < 1) for on in model.inclusion_.values()),
            "spikeslab_factors": bool(getattr(model, "sparse_factors", False)),
            "n_factors": int(model.n_components_),
        },
        "training": {"n_iterations": len(model.elbo_history_), "seed": seed if isinstance(seed, int) else -1},
    }
