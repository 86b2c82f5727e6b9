"""Multi-view factor analysis beside mofapy2."""
