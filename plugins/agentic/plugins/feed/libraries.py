"""The libraries that read feeds; they are an extra."""

from __future__ import annotations

from agentic.core.reading.extras import load
from agentic.core.reading.feeds import EXTRA

LIBRARIES = ("fastfeedparser", "feedparser")


def check_libraries() -> None:
    """Check that feeds can be read here.

    Raises:
        MissingExtraError: A library is missing.
    """
    for library in LIBRARIES:
        load(library, EXTRA)
