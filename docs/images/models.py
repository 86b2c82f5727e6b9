"""Draws one picture for the page of each model: `python docs/images/models.py`."""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np

import latens
from latens import plots

FOLDER = Path(__file__).parent / "models"


def draw(name: str, picture, *arguments, **options) -> None:
    ax = picture(*arguments, **options)
    ax.figure.set_size_inches(6.0, 3.2)
    ax.figure.savefig(FOLDER / f"{name}.png", dpi=80)


def main() -> None:
    mpl.use("agg")
    FOLDER.mkdir(exist_ok=True)
    data = latens.datasets
    X, truth = data.make_images(300, random_state=0)
    draw(
        "binary_factor_analysis",
        plots.components,
        latens.BinaryFactorAnalysis(12, random_state=0).fit(X),
        shape=truth.shape,
    )
    X, truth = data.make_baskets(400, random_state=0)
    model = latens.NoisyOr(8, random_state=0).fit(X)
    model.feature_names_in_ = list(truth.features)
    draw("noisy_or", plots.top_features, model, n=2)
    draw("bernoulli_mixture", plots.components, latens.BernoulliMixture(8, random_state=0).fit(X))
    X, _ = data.make_mixture(400, n_components=4, shape="any", random_state=3)
    draw("gaussian_mixture", plots.clusters, latens.GaussianMixture(10, random_state=0).fit(X), X)
    X, truth = data.make_table(400, random_state=0)
    model = latens.LatentClassAnalysis(8, likelihoods=truth.likelihoods, random_state=0).fit(X)
    draw("latent_classes", plots.scores, model, X, components=[0, 1, 2], by=truth.labels.astype(str), kind="beeswarm")
    X, _ = data.make_ica(600, random_state=0)
    draw("noisy_ica", plots.sources, latens.NoisyICA(3, max_iter=60, random_state=0).fit(X), X)
    X, _ = data.make_factor_model(300, n_features=8, n_components=2, random_state=0)
    draw("factor_analysis", plots.top_features, latens.FactorAnalysis(2).fit(X), n=8)
    views, _ = data.make_multiview(200, (60, 40), n_factors=4, noise=0.5, missing_views=0.2, random_state=0)
    draw("multi_view", plots.variance_explained, latens.MultiViewFactorAnalysis(10, random_state=0).fit(views))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 6))
    y = X @ [2.0, -1.0, 0.0, 0.5, 0.0, 0.0] + rng.normal(size=30)
    draw("linear_regression", plots.intervals, latens.BayesianLinearRegression().fit(X, y), quantities=["coef"])


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
