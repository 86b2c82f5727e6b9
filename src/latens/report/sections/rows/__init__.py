"""Sections about the rows: where they lie, what is known of them, which are typical and which are odd."""
