"""How often Python looks for garbage that refers to itself, in processes that work for long."""

from __future__ import annotations

import gc

NEW_OBJECTS = 10_000
"""New objects between two collections; with Python's 700, they take a twentieth of a crawl's CPU time."""


def collect_seldom() -> None:
    """Look for garbage less often, in the whole process, and never again at what it has loaded by now."""
    gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])
    gc.collect()  # what is garbage by now would be kept for good
    gc.freeze()
