"""The estimator behind every row of the contract table, with quick settings and data made here.

Guards compare what these fits give with what they gave before: `tests.contract.hashes` bit by bit,
`tests.io.golden` through files. The data come from NumPy alone, so that no change of the library can change them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import latens

N, D, K = 48, 5, 3
BATCHES = 3  # of N rows each: two that a stream sees, one to go on with
PROBES = 6  # rows that are transformed


KINDS_OF = {  # columns of latent classes
    "classes-levels": ("categorical",) * D,
    "classes-counts": ("poisson",) * D,
    "classes-overdispersed": ("negative-binomial", "negative-binomial", "bernoulli", "negative-binomial", "bernoulli"),
    "classes-mixed": ("gaussian", "categorical", "negative-binomial", "bernoulli", "ordinal"),
    "classes-outliers": ("student", "bernoulli", "student", "gaussian", "student"),
}


@dataclass(frozen=True)
class Variant:
    estimator: str
    params: dict[str, Any] = field(default_factory=dict)
    data: str = "real"  # or binary, target, views, or the kinds of columns in turn
    likelihoods: tuple[str, ...] = ()  # of views
    groups: bool = False
    precision: bool = False  # whether the first view comes with known precisions
    covariates: bool = False  # labels and numbers of each row
    n_rows: int = N  # in each batch
    n_columns: int = D

    def takes(self, *, holes: bool = False, weighted: bool = False, **_: bool) -> bool:
        """Whether it can be fitted to such data."""
        solver = self.params.get("solver", "exact")
        if holes and (self.data == "target" or solver != "exact"):
            return False
        return not (weighted and solver.startswith("online"))

    def make(self) -> Any:
        return getattr(latens, self.estimator)(**self.params)

    def batch(self, number: int, *, holes: bool = False, weighted: bool = False, single: bool = False) -> Call:
        """The arguments of `fit` for one of the batches."""
        rng = np.random.default_rng(100 * number + 7)
        x = _rows(rng, self.n_rows)
        if self.n_columns > D:
            x = np.hstack([x, 0.7 * x[:, : self.n_columns - D] + rng.normal(size=(self.n_rows, self.n_columns - D))])
        call: dict[str, Any] = {}
        if self.data == "target":
            call["y"] = x @ np.array([1.0, -2.0, 0.5, 0.0, 1.5]) + 0.3 * rng.normal(size=self.n_rows)
        if self.data == "binary":
            x = (x > 0.4).astype(float)
        for i, kind in enumerate(KINDS_OF.get(self.data, ())):
            x[:, i] = _column(x[:, i], kind)
        hole = rng.random(x.shape) < 0.15
        hole[:2] = False
        x = np.where(hole, np.nan, x) if holes else x
        x = x.astype(np.float32) if single else x
        call["X"] = x
        if self.likelihoods:
            call["X"] = {f"view{i}": _view(x, kind, i) for i, kind in enumerate(self.likelihoods)}
        if self.groups:
            call["groups"] = np.where(np.arange(self.n_rows) % 3 == 0, "b", "a")
        if self.precision:
            call["precision"] = {"view0": rng.uniform(0.5, 2, x.shape).astype(x.dtype)}
        if self.covariates:
            size = np.where(np.arange(self.n_rows) % 2, rng.normal(size=self.n_rows), 0.5)
            call["covariates"] = {"lab": np.where(np.arange(self.n_rows) % 3 == 0, "b", "a"), "size": size}
        if weighted:
            call["sample_weight"] = 1.0 + np.arange(self.n_rows) % 3
        return Call(call)


@dataclass(frozen=True)
class Call:
    """Rows and what is told of them, as keyword arguments."""

    arguments: dict[str, Any]

    def fit(self, model: Any) -> Any:
        return _without_warnings(model.fit, self.arguments)

    def partial_fit(self, model: Any) -> Any:
        return _without_warnings(model.partial_fit, self.arguments)

    def codes(self, model: Any) -> np.ndarray:
        """Codes of the first rows; of a regression, what it predicts."""
        return np.asarray(
            _without_warnings(model.predict if "y" in self.arguments else model.transform, self._probes())
        )

    def score(self, model: Any) -> float:
        asked = self._probes()
        if "y" in self.arguments:
            asked["y"] = self.arguments["y"][:PROBES]
        return float(_without_warnings(model.score, asked))

    def _probes(self) -> dict[str, Any]:
        return {key: _first(value) for key, value in self.arguments.items() if key not in ("y", "sample_weight")}


def _first(value: Any) -> Any:
    return {key: _first(part) for key, part in value.items()} if isinstance(value, dict) else value[:PROBES]


def _without_warnings(method: Any, arguments: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return method(**arguments)


def _rows(rng: np.random.Generator, n: int) -> np.ndarray:
    """Sums of parts that are on or off, with uneven noise about a level."""
    parts = np.array([[2.0, 1.5, 0, 0, -1], [0, -1, 1.8, 0, 2], [0.5, 0, 0, 2.2, 1]])
    codes = rng.random((n, K)) < 0.4
    return codes @ parts + rng.normal(size=(n, D)) * np.array([0.3, 0.5, 0.4, 0.6, 0.35]) + 0.3


def _view(x: np.ndarray, likelihood: str, number: int) -> np.ndarray:
    """The rows as one view sees them, each with its columns in an order of its own."""
    x = np.roll(x, number, axis=1)
    if likelihood == "bernoulli":
        return np.where(np.isnan(x), np.nan, x > 0.4).astype(x.dtype)
    if likelihood in ("ordinal", "categorical"):
        return np.clip(np.floor(x), -1, 2)
    if likelihood == "negative-binomial" and number == 1:  # common counts
        return np.floor(np.exp(np.clip(x, -2, 3) + 4))
    return np.floor(np.exp(np.clip(x, -2, 3))) if likelihood in ("poisson", "negative-binomial") else x


def _column(x: np.ndarray, kind: str) -> np.ndarray:
    """Real numbers as a column of that kind."""
    if kind in ("categorical", "ordinal"):
        return np.clip(np.floor(x), -1, 1)
    if kind == "bernoulli":
        return (x > 0.4).astype(float)
    return x if kind == "gaussian" else np.floor(np.exp(np.clip(x, -2, 3)))


def _binary() -> dict[str, Variant]:
    shapes = {
        "mean-field": ["", "-intercept", "-diagonal", "-intercept-diagonal"],
        "exact": ["", "-intercept", "-diagonal"],
        "truncated": ["", "-intercept-diagonal"],
        "auto": [""],
    }
    return {
        f"binary-{prior}-{step}{extra}": Variant(
            "BinaryFactorAnalysis",
            {
                **QUICK,
                "prior": prior,
                "e_step": step,
                "fit_intercept": "intercept" in extra,
                "noise": "diagonal" if "diagonal" in extra else "shared",
            },
        )
        for prior in ("ml", "ard")
        for step, extras in shapes.items()
        for extra in extras
    }


def _noisy_or() -> dict[str, Variant]:
    listed = {
        f"noisy-or-{prior}-{step}-{n}": {"prior": prior, "e_step": step, "n_profiles": n}
        for prior in ("ml", "ard")
        for step in ("exact", "truncated")
        for n in (1, 2)
    }
    jensen = {f"noisy-or-{prior}-jensen": {"prior": prior, "e_step": "jensen"} for prior in ("ml", "ard")}
    return {name: Variant("NoisyOr", {**QUICK, **params}, "binary") for name, params in (listed | jensen).items()}


def _mixtures() -> dict[str, Variant]:
    priors = {"dirichlet": "dirichlet", "process": "dirichlet_process", "uniform": "uniform"}
    gaussian = {
        f"mixture-{kind}-{name}": Variant(
            "GaussianMixture", {**QUICK, "covariance_type": kind, "weight_prior": prior, "noise_variance": 0.5}
        )
        for kind in ("full", "tied", "diag", "spherical", "known")
        for name, prior in priors.items()
    }
    binary = {
        f"mixture-bernoulli-{name}": Variant("BernoulliMixture", {**QUICK, "weight_prior": prior}, "binary")
        for name, prior in priors.items()
    }
    return gaussian | binary


def _classes() -> dict[str, Variant]:
    return {
        name: Variant("LatentClassAnalysis", {**QUICK, "likelihoods": dict(enumerate(kinds))}, name)
        for name, kinds in KINDS_OF.items()
    }


def _factors() -> dict[str, Variant]:
    settings: dict[str, dict[str, Any]] = {
        "factors-ml": {"solver": "exact"},
        "factors-ard": {"solver": "exact", "prior": "ard"},
        "factors-varimax": {"rotation": "varimax"},
        "factors-transport": {"solver": "transport"},
        "factors-online-em": {"solver": "online-em", "warm_up": 10},
        "factors-online-sga": {"solver": "online-sga", "warm_up": 10},
    }
    other = {
        "factors-few-rows": Variant("FactorAnalysis", {**QUICK, "n_components": 1}, n_rows=4),
        "factors-many-patterns": Variant("FactorAnalysis", {**QUICK, "n_components": 2}, n_rows=300, n_columns=9),
    }
    return {
        name: Variant("FactorAnalysis", {**QUICK, "n_components": 2, **params}) for name, params in settings.items()
    } | other


def _ica() -> dict[str, Variant]:
    settings: dict[str, dict[str, Any]] = {
        "ica-heavy": {"sources": "heavy-tailed", "fit_intercept": False},
        "ica-light": {"sources": "sub-gaussian", "fit_intercept": False},
        "ica-heavy-intercept": {"sources": "heavy-tailed"},
        "ica-mixed-intercept": {},
        "ica-heavy-mean-field": {"sources": "heavy-tailed", "covariance": "diagonal", "fit_intercept": False},
        "ica-heavy-scale-mixture": {"sources": "heavy-tailed", "covariance": "scale-mixture", "fit_intercept": False},
        "ica-ml-heavy": {"sources": "heavy-tailed", "prior": "ml", "fit_intercept": False},
        "ica-ml-light-intercept": {"sources": "sub-gaussian", "prior": "ml"},
    }
    return {name: Variant("NoisyICA", {**QUICK, **params}) for name, params in settings.items()}


def _views() -> dict[str, Variant]:
    settings: dict[str, dict[str, Any]] = {
        "views-gaussian": {"likelihoods": ("gaussian", "gaussian")},
        "views-binary": {"likelihoods": ("bernoulli",)},
        "views-counts": {"likelihoods": ("poisson",)},
        "views-rare-counts": {"likelihoods": ("negative-binomial",)},
        "views-common-counts": {"likelihoods": ("gaussian", "negative-binomial")},
        "views-scales": {"likelihoods": ("ordinal",)},
        "views-categories": {"likelihoods": ("gaussian", "categorical")},
        "views-mixed": {"likelihoods": ("gaussian", "bernoulli", "poisson")},
        "views-outliers": {"likelihoods": ("student", "gaussian")},
        "views-dense": {"likelihoods": ("gaussian", "poisson"), "params": {"sparse_loadings": False}},
        "views-groups": {"likelihoods": ("gaussian", "bernoulli"), "groups": True},
        "views-scales-groups": {"likelihoods": ("gaussian", "ordinal"), "groups": True},
        "views-covariates": {"likelihoods": ("gaussian", "bernoulli"), "covariates": True},
        "views-precision": {"likelihoods": ("gaussian", "gaussian"), "precision": True},
        "views-sparse-codes": {"likelihoods": ("gaussian", "poisson"), "params": {"sparse_factors": True}},
        "views-sparse-codes-groups": {
            "likelihoods": ("bernoulli", "gaussian"),
            "groups": True,
            "params": {"sparse_factors": True},
        },
        # samples of a stream wait until they are 200; these are enough at once
        "views-long": {"likelihoods": ("gaussian", "bernoulli", "poisson"), "n_rows": 210},
        "views-long-counts": {"likelihoods": ("poisson",), "n_rows": 210},
        "views-long-groups": {"likelihoods": ("gaussian", "bernoulli"), "n_rows": 210, "groups": True},
        "views-one-table": {},
    }
    return {name: _of_views(**options) for name, options in settings.items()}


def _of_views(likelihoods: tuple[str, ...] = (), params: dict[str, Any] | None = None, **options: Any) -> Variant:
    given = {"likelihoods": {f"view{i}": kind for i, kind in enumerate(likelihoods)} or None}
    return Variant("MultiViewFactorAnalysis", {**QUICK, **given, **(params or {})}, likelihoods=likelihoods, **options)


def _regressions() -> dict[str, Variant]:
    settings: dict[str, dict[str, Any]] = {
        "regression-evidence": {},
        "regression-gamma": {"weight_precision": "gamma", "noise_precision": "gamma"},
        "regression-given": {"weight_precision": 0.5, "noise_precision": 3.0},
        "regression-mixed": {"weight_precision": "gamma", "noise_precision": "variance", "fit_intercept": False},
    }
    return {name: Variant("BayesianLinearRegression", params, "target") for name, params in settings.items()}


QUICK: dict[str, Any] = {"n_components": K, "n_init": 1, "max_iter": 10, "moves": False, "random_state": 0}
MOVED = {**QUICK, "n_init": 2, "moves": True, "max_iter": 60}

# how many components there are is found, which goes through restarts and moves
SEARCHES = {
    "search-binary": Variant("BinaryFactorAnalysis", {**MOVED, "n_components": 5}),
    "search-noisy-or": Variant("NoisyOr", {**MOVED, "n_components": 5}, "binary"),
    "search-gaussian-mixture": Variant("GaussianMixture", {**MOVED, "n_components": 5}),
    "search-bernoulli-mixture": Variant("BernoulliMixture", {**MOVED, "n_components": 5}, "binary"),
    "search-ica": Variant("NoisyICA", {**MOVED, "n_components": 4}),
    "search-factors": Variant("FactorAnalysis", {**MOVED, "n_components": 4, "prior": "ard"}),
    "search-views": _of_views(("gaussian", "bernoulli"), {**MOVED, "n_components": 4}),
}

VARIANTS: dict[str, Variant] = {
    **_binary(),
    **_noisy_or(),
    **_factors(),
    **_mixtures(),
    **_classes(),
    **_ica(),
    **_views(),
    **_regressions(),
    **SEARCHES,
}
