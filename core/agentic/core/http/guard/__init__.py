"""Checks which addresses may be connected to."""
