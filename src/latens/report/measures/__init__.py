"""Numbers that a page works out from a model and its rows: sizes, how sure they are, and how well cells are filled."""
