"""Retries for a node that calls a site or an API: temporary failures are retried, refusals never."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agentic.core.graph import RetryPolicy
from agentic.core.http import FetchError
from agentic.executors.errors import refusal_of

TRIES = 6
FIRST_DELAY_S = 1.0


def ask_again(max_wait_s: float, *, most: int = TRIES, backoff: float = 3.0) -> RetryPolicy:
    """Return the retry policy of such a node; its waits occupy no worker.

    Args:
        max_wait_s: Longest accepted wait for a limit.
        most: Tries in all, including the first.
        backoff: Factor from one delay to the next.
    """
    return RetryPolicy(
        max_attempts=most,
        first_delay_s=FIRST_DELAY_S,
        backoff=backoff,
        max_delay_s=max_wait_s,
        retry_on=(FetchError,),
    )


@contextmanager
def refusing(max_wait_s: float) -> Iterator[None]:
    """Raise a refusal for a failure that another try cannot fix.

    ::

        with refusing(self._max_wait_s):
            return await self._client.read(target)

    Args:
        max_wait_s: Longest wait that a limit may ask for.

    Raises:
        FetchError: A later try may succeed.
        SourceRefusedError: It will not.
    """
    try:
        yield
    except FetchError as exc:
        if refusal := refusal_of(exc, max_wait_s):
            raise refusal from exc
        raise
