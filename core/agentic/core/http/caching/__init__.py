"""Cached answers, and their revalidation."""
