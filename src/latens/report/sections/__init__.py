"""The sections of a page: what was found, how the fit went."""
