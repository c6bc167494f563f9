"""The libraries that feeds are read with; they are an extra."""

from __future__ import annotations

from collections.abc import Iterable

from agentic.core.hooks.findings import Finding, warning
from agentic.core.reading.extras import MissingExtraError, load
from agentic.core.reading.feeds import EXTRA

LIBRARIES = ("fastfeedparser", "feedparser")


def check_libraries() -> None:
    """Check that feeds can be read here.

    Raises:
        MissingExtraError: They cannot.
    """
    for library in LIBRARIES:
        load(library, EXTRA)


def doctor() -> Iterable[Finding]:
    """Tell what is missing: a warning, as not everybody watches feeds."""
    try:
        check_libraries()
    except MissingExtraError as exc:
        yield warning(f"{exc}; agents that watch feeds need it")
