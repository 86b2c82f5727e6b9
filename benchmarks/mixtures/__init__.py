"""Mixtures beside scikit-learn's."""
