"""Sections about what a model found: components of every model, and what only some models have."""
