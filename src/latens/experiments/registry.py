"""All experiments by name."""

from __future__ import annotations

from typing import Any

from latens.experiments import (
    binary_ard,
    binary_factors,
    binary_sigma,
    image_separation,
    mixture,
    multi_view,
    multi_view_omics,
    noisy_ica,
    noisy_or_images,
    noisy_or_text,
    online_fa,
    regression_posterior,
    uci_nets,
    weight_posterior,
    weight_uncertainty,
)
from latens.experiments.experiment import Experiment

__all__ = ["EXPERIMENTS", "find"]

EXPERIMENTS: tuple[Experiment[Any], ...] = (
    binary_factors.EXPERIMENT,
    binary_sigma.EXPERIMENT,
    binary_ard.EXPERIMENT,
    image_separation.EXPERIMENT,
    mixture.EXPERIMENT,
    multi_view.EXPERIMENT,
    multi_view_omics.EXPERIMENT,
    noisy_ica.EXPERIMENT,
    noisy_or_images.EXPERIMENT,
    noisy_or_text.EXPERIMENT,
    online_fa.EXPERIMENT,
    regression_posterior.EXPERIMENT,
    weight_posterior.EXPERIMENT,
    weight_uncertainty.EXPERIMENT,
    uci_nets.EXPERIMENT,
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
