"""What can go wrong between us and Reddit, besides the transport."""

from __future__ import annotations

from agentic.core.errors import AgenticError
from agentic.core.http import FailureClass, FetchError


class RedditError(AgenticError):
    """Something about Reddit."""


class RefusedError(RedditError):
    """Reddit will say the same to another try, or wants a longer wait than the agent allows.

    Attributes:
        failure_class: The word of the refusal: ``http_404``, ``rate_limited``.
        status: Of the answer.
        retry_after_s: The wait, if it is one.
    """

    is_retriable = False

    def __init__(self, refusal: FetchError, advice: str = "") -> None:
        super().__init__(f"{refusal}{advice}")
        self.refusal = refusal
        self.failure_class = refusal.failure_class
        self.status = refusal.status
        self.retry_after_s = refusal.retry_after_s


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
        super().__init__(f"Reddit gives no token for grant {grant}: {reason}")
        self.grant = grant


class NothingReadError(RedditError):
    """Not one of the things to read could be read."""

    def __init__(self, count: int, first_reason: str) -> None:
        what = "it could not be read" if count == 1 else f"none of {count} could be read; the first one"
        super().__init__(f"{what}: {first_reason}")
        self.count = count
