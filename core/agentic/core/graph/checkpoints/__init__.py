"""Runs as stores keep them."""
