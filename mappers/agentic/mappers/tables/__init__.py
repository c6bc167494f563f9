"""The tables of the core."""
