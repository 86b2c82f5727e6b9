"""A model file as an archive of one header and numbered arrays: how it is written, and read without trusting it."""
