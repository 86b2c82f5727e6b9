"""Reading model files of MOFA2, whether its own tools or latens wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from latens.array import Floats, Index
from latens.errors import FileRefused
from latens.estimators.multi_view.tables.wide import Layout
from latens.system.optional_imports import require

__all__ = ["Mofa2Model", "read_mofa2"]


@dataclass(frozen=True, eq=False, repr=False)
class Mofa2Model:
    """What a model file says, under the names of a fitted MultiViewFactorAnalysis; it projects and imputes new samples.

    Attributes
    ----------
    layout_ : Layout
        Names of views, features and groups.
    likelihoods_ : dict of str
    components_ : dict of ndarray of shape (K, D_m)
    intercepts_ : dict of ndarray of shape (G, D_m)
        0 where the file has none.
    scores_ : ndarray of shape (n, K)
        Rows of the first group, then of the next.
    row_names_ : tuple of str
    group_of_ : ndarray of shape (n,)
    explained_ : dict of ndarray
        "per_factor" (G, M, K) and "total" (G, M), as fractions; empty where the file has none.
    elbo_history_ : ndarray
    data_ : dict of ndarray of shape (n, D_m)
        In data units, NaN where missing; empty where the file has none.
    inclusion_, noise_variance_ : dict of ndarray
        Only in files written by latens.
    factor_names_ : tuple of str
    """

    layout_: Layout
    likelihoods_: Mapping[str, str]
    components_: Mapping[str, Floats]
    intercepts_: Mapping[str, Floats]
    scores_: Floats
    row_names_: tuple[str, ...]
    group_of_: Index
    explained_: Mapping[str, Floats]
    elbo_history_: Floats
    factor_names_: tuple[str, ...]
    data_: Mapping[str, Floats] = field(default_factory=dict)
    inclusion_: Mapping[str, Floats] = field(default_factory=dict)
    noise_variance_: Mapping[str, Floats] = field(default_factory=dict)

    def __repr__(self) -> str:
        views = ", ".join(
            f"{name!r} ({self.components_[name].shape[1]:,} {kind})" for name, kind in self.likelihoods_.items()
        )
        groups = f" in {len(self.layout_.groups)} groups" if self.layout_.groups else ""
        return f"Mofa2Model({self.n_components_} factors of {len(self.scores_):,} samples{groups}; views {views})"

    @property
    def n_components_(self) -> int:
        return int(self.scores_.shape[1])

    def get_feature_names_out(self) -> np.ndarray:
        """Names of the factors."""
        return np.array(self.factor_names_, dtype=object)

    def transform(self, X: Any, return_std: bool = False, groups: Any = None) -> Any:
        """Factor values of new samples, from any of their views and features, without a refit.

        Parameters
        ----------
        X : dict, list, data frame, AnnData, MuData or array
            Any subset of the views and of their features, named as in the file, in data units.
        return_std : bool
            Whether to return standard deviations, too.
        groups : array of shape (n,), optional
            Group of each sample; those not given are inferred.

        Returns
        -------
        factors : array of shape (n, K)
        std : array of shape (n, K)
            With `return_std`.
        """
        from latens.interop.mofa2_projection import transform

        return transform(self, X, return_std, groups)

    def impute(self, X: Any, return_std: bool = False, groups: Any = None) -> Any:
        """All views of new samples with what is missing filled in.

        Parameters
        ----------
        X : as in `transform`
        return_std : bool
            Whether to return standard deviations of what was filled in, too.
        groups : array of shape (n,), optional

        Returns
        -------
        filled, or (filled, std)
            In the containers of X; chances for binary views.
        """
        from latens.interop.mofa2_projection import impute

        return impute(self, X, return_std, groups)


def read_mofa2(path: str | Path) -> Mofa2Model:
    """Read a MOFA2 model file (HDF5).

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Mofa2Model

    Raises
    ------
    FileRefused
        If it is no such file, or its parts do not fit together.
    """
    h5py, path = require("h5py", "omics"), Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}; give the path of a MOFA2 model.")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise FileRefused(f"{str(path)!r} is no HDF5 file, as MOFA2 writes them.") from error
    with file:
        try:
            return _read(file)
        except (KeyError, AttributeError, TypeError) as error:
            raise FileRefused(f"{str(path)!r} is no MOFA2 model: {error}.") from error


def _read(file: Any) -> Mofa2Model:
    if "expectations" not in file:
        raise FileRefused("it has no expectations: either no MOFA2 model, or one that was never trained.")
    views = _names(file, "views/views") or tuple(file["features"])
    groups = _names(file, "groups/groups") or tuple(file["samples"])
    own_views, own_groups = _own(file, "views/views", views), _own(file, "groups/groups", groups)
    features = tuple(_own(file, f"features/{view}", _names(file, f"features/{view}")) for view in views)
    samples = [_own(file, f"samples/{group}", _names(file, f"samples/{group}")) for group in groups]
    scores = [np.asarray(file[f"expectations/Z/{group}"], dtype=np.float64).T for group in groups]
    components = {own: _array(file, f"expectations/W/{view}") for view, own in zip(views, own_views, strict=True)}
    k = scores[0].shape[1]
    for own, names in zip(own_views, features, strict=True):
        if components[own].shape != (k, len(names)):
            raise FileRefused(
                f"view {own!r} has weights of shape {components[own].shape}; expected {(k, len(names))}, factors x "
                "features."
            )
    for own, names, codes in zip(own_groups, samples, scores, strict=True):
        if codes.shape != (len(names), k):
            raise FileRefused(f"group {own!r} has {len(names)} names for factors of shape {codes.shape[::-1]}.")
    kinds = _names(file, "model_options/likelihoods") or ("gaussian",) * len(views)
    likelihoods = dict(zip(own_views, kinds, strict=True))
    intercepts = {
        own: np.stack([_intercept(file, view, group, len(names)) for group in groups])
        for view, own, names in zip(views, own_views, features, strict=True)
    }
    several = len(groups) > 1 or own_groups != ("group1",)
    return Mofa2Model(
        Layout(own_views, features, own_groups if several else ()),
        likelihoods,
        components,
        intercepts,
        np.concatenate(scores),
        tuple(name for names in samples for name in names),
        np.repeat(np.arange(len(groups)), [len(names) for names in samples]),
        _explained(file, groups),
        _array(file, "training_stats/elbo") if "training_stats/elbo" in file else np.zeros(0),
        _names(file, "latens/factors") or tuple(f"Factor{i + 1}" for i in range(k)),
        _data(file, views, groups, intercepts, likelihoods),
        *(
            {
                own: _array(file, f"latens/{part}/{v}")
                for v, own in zip(views, own_views, strict=True)
                if _in(file, part, v)
            }
            for part in ("inclusion", "noise_variance")
        ),
    )


def _in(file: Any, part: str, view: str) -> bool:
    return f"latens/{part}/{view}" in file


def _names(file: Any, where: str) -> tuple[str, ...]:
    """Texts, in UTF-8 or in the fixed width of old files; none where there is no such entry."""
    if where not in file:
        return ()
    return tuple(name.decode("utf-8") if isinstance(name, bytes) else str(name) for name in file[where][()])


def _own(file: Any, where: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """What latens called the same things, where a file could not hold that."""
    return _names(file, f"latens/names/{where}") or names


def _array(file: Any, where: str) -> Floats:
    return np.asarray(file[where], dtype=np.float64)


def _intercept(file: Any, view: str, group: str, d: int) -> Floats:
    where = f"intercepts/{view}/{group}"
    return np.nan_to_num(_array(file, where)) if where in file else np.zeros(d)


def _explained(file: Any, groups: tuple[str, ...]) -> dict[str, Floats]:
    if "variance_explained" not in file:
        return {}
    found = {
        name: np.stack([_array(file, f"variance_explained/{there}/{group}") for group in groups])
        for name, there in (("per_factor", "r2_per_factor"), ("total", "r2_total"))
    }
    stated_in_percent = file["variance_explained"].attrs.get("unit") == "percent"
    # old files hold fractions; R's MOFA2 tells them apart in the same way
    percent = stated_in_percent or max(float(np.nanmax(part, initial=0.0)) for part in found.values()) >= 1
    return {name: part / 100 if percent else part for name, part in found.items()}


def _data(
    file: Any,
    views: tuple[str, ...],
    groups: tuple[str, ...],
    intercepts: Mapping[str, Floats],
    likelihoods: Mapping[str, str],
) -> dict[str, Floats]:
    if "data" not in file:
        return {}
    found = {}
    for view, (own, levels) in zip(views, intercepts.items(), strict=True):
        shift = levels if likelihoods[own] == "gaussian" else np.zeros_like(levels)
        parts = [_array(file, f"data/{view}/{group}") + shift[g] for g, group in enumerate(groups)]
        found[own] = np.concatenate(parts)
    return found
