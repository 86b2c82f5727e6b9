"""All experiments by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from latens.experiments import (
    binary_ard,
    binary_factors,
    binary_sigma,
    digits_nets,
    image_separation,
    mixture,
    model_choice,
    multi_view,
    multi_view_omics,
    noisy_ica,
    noisy_or_citations,
    noisy_or_images,
    noisy_or_text,
    online_fa,
    regression_posterior,
    uci_nets,
    weight_posterior,
    weight_uncertainty,
)
from latens.experiments.experiment import Experiment, Progress, Result
from latens.experiments.writing import listings_of

__all__ = ["EXPERIMENTS", "as_printed", "find"]

EXPERIMENTS: tuple[Experiment[Any], ...] = (
    model_choice.EXPERIMENT,
    binary_factors.EXPERIMENT,
    binary_sigma.EXPERIMENT,
    binary_ard.EXPERIMENT,
    image_separation.EXPERIMENT,
    mixture.EXPERIMENT,
    multi_view.EXPERIMENT,
    multi_view_omics.EXPERIMENT,
    noisy_ica.EXPERIMENT,
    noisy_or_images.EXPERIMENT,
    noisy_or_citations.EXPERIMENT,
    noisy_or_text.EXPERIMENT,
    online_fa.EXPERIMENT,
    regression_posterior.EXPERIMENT,
    weight_posterior.EXPERIMENT,
    weight_uncertainty.EXPERIMENT,
    uci_nets.EXPERIMENT,
    digits_nets.EXPERIMENT,
)


def find(name: str) -> Experiment[Any]:
    """The experiment of that name.

    Examples
    --------
    >>> find("binary-ard").source
    'document 000, section 3.2, figures 9 to 12'
    """
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    names = ", ".join(experiment.name for experiment in EXPERIMENTS)
    raise ValueError(f"there is no experiment {name!r}; choose one of {names}.")


def as_printed(experiment: Experiment[Any]) -> Experiment[Any]:
    """The same with nothing but the document's own listings.

    Examples
    --------
    >>> as_printed(find("mixture")).name
    'mixture-printed'
    """
    printed = experiment.printed
    if printed is None:
        names = ", ".join(one.name for one in EXPERIMENTS if one.printed is not None)
        raise ValueError(
            f"document {experiment.document} prints no algorithm for {experiment.name}; it does for {names}."
        )

    def run(settings: Any, rng: np.random.Generator, progress: Progress) -> Result:
        result = printed.run(settings, rng, progress)
        return replace(result, figures=(*result.figures, listings_of(printed)))

    where = "; ".join(listing.place for listing in printed.listings)
    return replace(
        experiment,
        name=f"{experiment.name}-printed",
        title=f"{experiment.title}, as printed",
        place=where,
        about="The document's own listing with its errors, mended only as far as it needs to run. For comparison.",
        run=run,
        printed=None,
    )
