"""The noisy-OR on rows: its states, and Jensen's bound of it."""
