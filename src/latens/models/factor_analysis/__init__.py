"""Factor analysis: a few factors behind many columns, each column with its own noise."""
