"""What became of things that were read side by side."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.graph import ItemResult
from agentic.executors.errors import NothingReadError


def failures_in(results: Sequence[ItemResult], read_count: int, noun: str) -> tuple[str, ...]:
    """Return why some of the things could not be read, a sentence each.

    Raises:
        NothingReadError: Every single one failed, so that the API is hardly to be reached.
    """
    failures = tuple(result.error.message for result in results if result.error is not None)
    if failures and not read_count:
        raise NothingReadError(len(failures), failures[0], noun)
    return failures
