"""Fewer collections of cyclic garbage, for long-running processes."""

from __future__ import annotations

import gc

NEW_OBJECTS = 10_000
"""New objects between two collections; with Python's 700, they take a twentieth of a crawl's CPU time."""


def tune_gc() -> None:
    """Collect garbage less often, in the whole process, and skip all objects that exist now."""
    gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])
    gc.collect()  # otherwise, present garbage would stay for ever
    gc.freeze()
