"""Pipelines as data: read, checked, and named in errors."""
