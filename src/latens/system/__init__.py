"""What is neither an array nor mathematics: whole files, optional packages, seeds, tables of results, threads."""
