"""Errors of Reddit, besides the transport."""

from __future__ import annotations

from agentic.core.errors import AgenticError
from agentic.core.http import FailureClass, FetchError


class RedditError(AgenticError):
    """Base of errors about Reddit."""


class NotYetError(FetchError):
    """It is not our turn: others use the same host. Nothing was sent."""

    def __init__(self, wait: FetchError) -> None:
        reason = str(wait).partition("): ")[2]
        super().__init__(
            wait.url, wait.failure_class, reason, retry_after_s=wait.retry_after_s, detail=wait.detail
        )


class CredentialsError(RedditError, ValueError):
    """The credentials of the agent do not give a token.

    Attributes:
        grant: The requested grant.
    """

    is_retriable = False
    failure_class = FailureClass.AUTH_REQUIRED.value

    def __init__(self, grant: str, reason: str) -> None:
        super().__init__(f"Reddit returned no token for grant {grant}: {reason}")
        self.grant = grant
