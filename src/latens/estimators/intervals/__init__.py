"""How sure published numbers are: their intervals, and draws of them."""
