"""One model per file: its equations, and nothing about how they are driven."""
