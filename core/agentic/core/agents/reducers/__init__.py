"""Reducers: they keep a conversation inside the window of the model."""
