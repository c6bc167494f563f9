"""Pipelines built from pages: by example values, or from the records that a page offers."""
