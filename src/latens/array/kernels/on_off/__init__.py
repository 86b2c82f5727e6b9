"""Sweeps over components that are on or off."""
