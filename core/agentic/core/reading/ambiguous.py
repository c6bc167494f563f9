"""Texts that may mean several things."""

from __future__ import annotations


class AmbiguousError(ValueError):
    """A text may mean several values. The message says which ones, and what to do."""
