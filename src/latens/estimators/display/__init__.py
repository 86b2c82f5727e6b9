"""A fitted estimator for the eye: in a notebook, and as plain numbers for a page."""
