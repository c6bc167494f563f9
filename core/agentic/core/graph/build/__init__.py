"""Builds workflows, and refuses graphs that cannot work."""
