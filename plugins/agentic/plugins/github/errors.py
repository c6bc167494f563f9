"""Errors of GitHub, besides the transport."""

from __future__ import annotations

from agentic.core.errors import AgenticError


class GithubError(AgenticError):
    """Base of errors about GitHub."""


class TokenError(GithubError, ValueError):
    """The secret is not a valid token."""

    def __init__(self, secret: str) -> None:
        super().__init__(
            f"the secret {secret!r} has characters that no token has; store it again with `agentic secrets "
            f"set {secret}`"
        )
        self.secret = secret
