"""Public tables of mixed columns, cells of which are hidden and filled in."""
