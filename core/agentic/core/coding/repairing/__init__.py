"""Drafts are checked and repaired until they pass."""
