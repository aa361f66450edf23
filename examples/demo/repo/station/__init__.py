"""Readings of a small weather station."""
