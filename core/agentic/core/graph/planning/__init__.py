"""Decides what a run does next: pure functions over its state."""
