"""The scikit-learn shell: validation, units, starts, restarts and fitted attributes; no mathematics."""
