"""Checkpoints on other servers than a database."""
