"""What can go wrong between us and GitHub, besides the transport."""

from __future__ import annotations

from agentic.core.errors import AgenticError
from agentic.core.http import FetchError


class GithubError(AgenticError):
    """Something about GitHub."""


class RefusedError(GithubError):
    """GitHub will say the same to another try, or wants a longer wait than the agent allows.

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


class TokenError(GithubError, ValueError):
    """The secret cannot be a token."""

    def __init__(self, secret: str) -> None:
        super().__init__(
            f"the secret {secret!r} has characters that no token has; store it anew with "
            f"`agentic secrets set {secret}`"
        )
        self.secret = secret


class NothingReadError(GithubError):
    """Not one of the things to read could be read."""

    def __init__(self, count: int, first_reason: str) -> None:
        what = "it could not be read" if count == 1 else f"none of {count} could be read; the first one"
        super().__init__(f"{what}: {first_reason}")
        self.count = count
