"""Wrappers of models: each adds one policy, and is a model itself."""
