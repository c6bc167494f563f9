"""The next decision of a run: pure functions over its state."""
