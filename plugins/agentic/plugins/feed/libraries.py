"""The libraries that feeds are read with; they are an extra."""

from __future__ import annotations

from agentic.core.reading.extras import load
from agentic.core.reading.feeds import EXTRA

LIBRARIES = ("fastfeedparser", "feedparser")


def check_libraries() -> None:
    """Check that feeds can be read here.

    Raises:
        MissingExtraError: They cannot.
    """
    for library in LIBRARIES:
        load(library, EXTRA)
