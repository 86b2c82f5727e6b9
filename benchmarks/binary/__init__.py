"""Binary factors: whether the causes are found, how fast, and how fast one sweep is."""
