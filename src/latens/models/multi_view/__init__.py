"""Multi-view factor analysis: sparse factors shared by several tables of the same samples."""
