"""What is measured given a linear predictor: one file for each likelihood, and one table of their names."""

from latens.models.likelihoods.interface import (
    Columns,
    Free,
    Likelihood,
    Look,
    Parameters,
    Predictor,
    Tangent,
    averages,
)

__all__ = ["Columns", "Free", "Likelihood", "Look", "Parameters", "Predictor", "Tangent", "averages"]
