"""Postgres and nothing else."""
