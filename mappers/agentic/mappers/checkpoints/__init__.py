"""Checkpoints in SQL."""
