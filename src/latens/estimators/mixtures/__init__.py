"""Estimators of clusters."""
