"""The two drivers, `ascend` and `update`, and what calls them: restarts, moves, settling of new rows.

Nothing here knows which model it drives, where the rows live, or which library holds them.
"""
