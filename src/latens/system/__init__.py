"""What is neither an array nor mathematics: files written whole, optional packages, seeds, threads."""
