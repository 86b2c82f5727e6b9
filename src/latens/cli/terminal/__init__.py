"""What commands share at the terminal: lines that are printed, errors, words as typed, places to write to."""
