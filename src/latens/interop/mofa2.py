"""Model files of MOFA2: written for its R and Python tools, and read from them.

Their layout on disk, with G groups, M views, K factors:

    views/views, groups/groups              names, in order
    features/<view>, samples/<group>        names; features are unique across views
    expectations/W/<view>   (K, D_m)        expectations/Z/<group>   (K, N_g)
    intercepts/<view>/<group>   (D_m,)      data/<view>/<group>      (N_g, D_m), Gaussian views less their intercepts
    variance_explained/r2_total/<group>     (M,), per cent
    variance_explained/r2_per_factor/<group>  (M, K), per cent
    model_options, training_opts, training_stats

Names that a reader would refuse are replaced there (see mofa2_names); what is particular to latens, its own names too,
stands under latens/, which other readers pass by. Shares of variance that are all below 1 per cent are fractions to R.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from latens.array import Floats, Index
from latens.estimators.fitted_parts import has_fitted_parts
from latens.estimators.multi_view.tables.level_columns import LevelColumns, ScaleColumns
from latens.estimators.multi_view.tables.wide import Layout, lay_out
from latens.interop.mofa2_names import feature_names, path_names, sample_names
from latens.interop.samples import scores_of
from latens.models.likelihoods.names import MEASUREMENTS
from latens.plots.fitted import fitted
from latens.system.atomic_write import replacing
from latens.system.optional_imports import require

# what MOFA2 knows instead of a likelihood that it does not have
NEAREST = {"student": "gaussian", "categorical": "bernoulli", "ordinal": "gaussian", "negative-binomial": "poisson"}

__all__ = ["write_mofa2"]


def write_mofa2(model: Any, path: str | Path, views: Any = None) -> None:
    """Write a fitted MultiViewFactorAnalysis as a MOFA2 model file (HDF5).

    Parameters
    ----------
    model : MultiViewFactorAnalysis
        Fitted.
    path : str or Path
        Replaced if it exists, once the new file is whole.
    views : as given to `fit`, optional
        The data of the fit, to be stored too; some functions of MOFA2 plot it. Shares of variance are then those that
        MOFA2 computes, in data units; else those of `explained_`.

    Examples
    --------
    ::

        import latens
        model = latens.MultiViewFactorAnalysis(10).fit(views)
        latens.interop.write_mofa2(model, "model.hdf5", views)
    """
    layout: Layout = fitted(model, "layout_")
    scores = scores_of(model)  # (n, K)
    members = [np.flatnonzero(fitted(model, "group_of_") == g) for g in range(max(len(layout.groups), 1))]
    x = None if views is None else _data(model, layout, views, len(scores))
    h5py, memory = require("h5py", "omics"), io.BytesIO()
    with h5py.File(memory, "w") as file:
        write = _Writer(h5py, file)
        names = path_names(layout.views, with_data=x is not None)
        groups = path_names(layout.groups or ("group1",), with_data=x is not None)
        write.names("views/views", names, layout.views)
        write.names("groups/groups", groups, layout.groups or ("group1",))
        own_rows = _row_names(model, len(scores))
        rows, features = sample_names(own_rows), feature_names(layout.views, layout.features)
        for group, member in zip(groups, members, strict=True):
            write.names(f"samples/{group}", [rows[i] for i in member], [own_rows[i] for i in member])
            write.array(f"expectations/Z/{group}", scores[member].T)
        for m, (name, view) in enumerate(zip(names, layout.views, strict=True)):
            write.names(f"features/{name}", features[m], layout.features[m])
            write.array(f"expectations/W/{name}", model.components_[view])
            for g, (group, member) in enumerate(zip(groups, members, strict=True)):
                level = np.asarray(model.intercepts_[view])[g]
                write.array(f"intercepts/{name}/{group}", level)
                if x is not None:
                    gaussian = model.likelihoods_[view] in MEASUREMENTS
                    values = x[member, layout.bounds[m]] - (level if gaussian else 0.0)
                    write.array(f"data/{name}/{group}", values, small=True)
        explained = fitted(model, "explained_")
        if x is not None and has_fitted_parts(model):
            explained = _in_data_units(model, layout, x, scores, members)
        _write_explained(write, explained, groups)
        _write_options(write, model, layout)
        _write_own(write, model, dict(zip(names, layout.views, strict=True)))
    with replacing(Path(path)) as target:
        target.write(memory.getbuffer())


class _Writer:
    """Puts names and numbers into an open file."""

    def __init__(self, h5py: Any, file: Any) -> None:
        self.file, self.text = file, h5py.string_dtype("utf-8")

    def names(self, where: str, names: Sequence[str], own: Sequence[str] | None = None) -> None:
        """Names, and beside them what latens calls the same things where that differs."""
        made = self.file.create_dataset(where, data=np.array(list(names), dtype=object), dtype=self.text)
        if own is not None and list(own) != list(names):
            path = f"latens/names/{where}"
            self.file.create_dataset(path, data=np.array(list(own), dtype=object), dtype=self.text)
            made.attrs["renamed"] = True

    def array(self, where: str, values: Any, small: bool = False) -> None:
        options = {"compression": "gzip", "compression_opts": 4} if small else {}
        self.file.create_dataset(where, data=np.asarray(values, dtype=np.float64), **options)


def _write_explained(write: _Writer, explained: Mapping[str, Any], groups: Sequence[str]) -> None:
    for g, group in enumerate(groups):
        write.array(f"variance_explained/r2_total/{group}", 100 * np.asarray(explained["total"])[g])
        write.array(f"variance_explained/r2_per_factor/{group}", 100 * np.asarray(explained["per_factor"])[g])
    write.file["variance_explained"].attrs["unit"] = "percent"


def _in_data_units(
    model: Any, layout: Layout, x: Floats, scores: Floats, members: Sequence[Index]
) -> Mapping[str, Floats]:
    """Shares as MOFA2 counts them: squared errors of a view in data units, where `explained_` has them in sd."""
    found = {name: np.array(shares, dtype=np.float64) for name, shares in model.explained_.items()}
    for m, view in enumerate(layout.views):
        if model.likelihoods_[view] != "gaussian":
            continue
        loadings = np.asarray(model.components_[view])
        for g, member in enumerate(members):
            y = x[member, layout.bounds[m]] - np.asarray(model.intercepts_[view])[g]
            total = float(np.nansum(y**2))
            z = scores[member]
            parts = [z @ loadings, *(np.outer(own, w) for own, w in zip(z.T, loadings, strict=True))]
            left = np.array([np.nansum((y - part) ** 2) for part in parts])
            share = np.clip(1 - left / total, 0.0, 1.0) if total > 0 else np.zeros(len(left))
            found["total"][g, m], found["per_factor"][g, m] = share[0], share[1:]
    return found


def _nearest(kind: str, levels: LevelColumns | None) -> str:
    """MOFA2's name of a likelihood, or of the one that is nearest; scales of earlier fits are yes/no columns."""
    if kind == "ordinal" and levels is not None and not isinstance(levels, ScaleColumns):
        return "bernoulli"
    return NEAREST.get(kind, kind)


def _write_options(write: _Writer, model: Any, layout: Layout) -> None:
    sparse = any(np.any(np.asarray(on) < 1) for on in model.inclusion_.values())
    options = {
        "spikeslab_factors": bool(getattr(model, "sparse_factors", False)),
        "spikeslab_weights": sparse,
        "ard_factors": len(layout.groups) > 1,
        "ard_weights": True,
    }
    kinds = [_nearest(model.likelihoods_[view], layout.levels.get(view)) for view in layout.views]
    write.file["model_options/likelihoods"] = np.array(kinds, dtype="S")
    for name, value in options.items():
        write.file[f"model_options/{name}"] = np.bytes_(str(value))
    write.file["model_options/ard_weights"].attrs["names"] = np.array(["likelihoods", *options], dtype="S")
    seed = getattr(model, "random_state", None)
    training = {
        "maxiter": getattr(model, "max_iter", len(model.elbo_history_)),
        "freqELBO": 1,
        "start_elbo": 1,
        "gpu_mode": 0,
        "stochastic": 0,
        "seed": seed if isinstance(seed, int) else 0,
    }
    write.array("training_opts", list(training.values()))
    write.file["training_opts"].attrs["names"] = np.array(list(training), dtype="S")
    write.array("training_stats/elbo", model.elbo_history_)
    clock = np.diff([event.seconds for event in model.trace_], prepend=0.0)
    write.array("training_stats/time", np.maximum(clock, 0))  # a move sets the clock back
    write.array("training_stats/number_factors", [event.n_components for event in model.trace_])


def _write_own(write: _Writer, model: Any, views: Mapping[str, str]) -> None:
    write.names("latens/factors", list(map(str, model.get_feature_names_out())))
    for name, view in views.items():
        write.array(f"latens/inclusion/{name}", model.inclusion_[view])
        if view in model.noise_variance_:
            write.array(f"latens/noise_variance/{name}", model.noise_variance_[view])


def _data(model: Any, layout: Layout, views: Any, n: int) -> Floats:
    """(n, D), the rows of the fit in its order, NaN where missing."""
    layer, use_var = getattr(model, "layer", None), getattr(model, "use_var", None)
    table = lay_out(views, layout=layout, layer=layer, use_var=use_var)
    names = fitted(model, "row_names_")
    x = np.asarray(table.rows.x, dtype=np.float64)[:, : layout.n_columns]
    if table.rows.seen is not None:
        x = np.where(np.asarray(table.rows.seen)[:, : layout.n_columns], x, np.nan)
    if names is not None and table.row_names is not None and names != table.row_names:
        at = {name: i for i, name in enumerate(table.row_names)}
        absent = [name for name in names if name not in at]
        if absent:
            raise ValueError(f"the views lack {len(absent)} row(s) of the fit, such as {absent[0]!r}; give its data.")
        x = x[[at[name] for name in names]]
    if len(x) != n:
        raise ValueError(f"the views have {len(x)} rows and the fit had {n}; give the data of the fit.")
    return x


def _row_names(model: Any, n: int) -> list[str]:
    names = fitted(model, "row_names_")
    return [f"sample{i}" for i in range(n)] if names is None else list(map(str, names))
