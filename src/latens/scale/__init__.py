"""Rows that are not in memory: in files, behind iterators, on a cluster. Only functions travel to them."""
