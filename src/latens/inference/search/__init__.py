"""The search for an optimum: starts, restarts, moves, and the journal from which a search goes on."""
