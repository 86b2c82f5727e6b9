"""Mixtures: rows that fall into clusters."""
