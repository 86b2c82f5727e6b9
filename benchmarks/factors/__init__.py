"""Factor analysis and linear regression beside scikit-learn."""
