"""Numbers that are written as text: one cell, what a whole column of them means, and how others are written like it."""
