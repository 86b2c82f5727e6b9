"""Fits to set beside a fit: copies of it with other settings, and other people's estimators."""
