"""Checkpoints on servers other than a database."""
