"""Whole projects: their contents, and project files."""
