"""Failures among things that were read in parallel."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.graph import ItemResult
from agentic.executors.errors import NothingReadError


def failures_in(results: Sequence[ItemResult], read_count: int, noun: str) -> tuple[str, ...]:
    """Return a sentence for each thing that could not be read.

    Raises:
        NothingReadError: Every single one failed; probably the API is unreachable.
    """
    failures = tuple(result.error.message for result in results if result.error is not None)
    if failures and not read_count:
        raise NothingReadError(len(failures), failures[0], noun)
    return failures
