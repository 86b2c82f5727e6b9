"""Memberships, switches and scales of rows, in closed form."""
