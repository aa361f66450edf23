"""Typer: one file per group of commands."""
