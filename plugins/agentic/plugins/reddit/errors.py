"""What can go wrong between us and Reddit, besides the transport."""

from __future__ import annotations

from agentic.core.errors import AgenticError
from agentic.core.http import FailureClass, FetchError


class RedditError(AgenticError):
    """Something about Reddit."""


class NotYetError(FetchError):
    """It is not our turn: others ask the same host, and nothing was sent."""

    def __init__(self, wait: FetchError) -> None:
        reason = str(wait).partition("): ")[2]
        super().__init__(
            wait.url, wait.failure_class, reason, retry_after_s=wait.retry_after_s, detail=wait.detail
        )


class CredentialsError(RedditError, ValueError):
    """There is no token to be had with the credentials that the agent has.

    Attributes:
        grant: How a token was asked for.
    """

    is_retriable = False
    failure_class = FailureClass.AUTH_REQUIRED.value

    def __init__(self, grant: str, reason: str) -> None:
        super().__init__(f"Reddit returned no token for grant {grant}: {reason}")
        self.grant = grant
