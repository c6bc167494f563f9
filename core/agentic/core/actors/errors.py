"""The errors of a pipeline's steps."""

from __future__ import annotations

from agentic.core.errors import AgenticError


class PipelineError(AgenticError):
    """An error of a pipeline or its actors."""


class ActorError(PipelineError):
    """An actor could not do its work.

    Args:
        message: The problem, with the value.
        failure_class: The key in ``error_handling``, such as ``"selector_missing"``.
        status: HTTP status behind it, if any.
        retry_after_s: Seconds until a retry makes sense, if known.
        detail: A more precise word: why something is ``blocked``, whose limit it is if ``rate_limited``.
    """

    def __init__(
        self,
        message: str,
        *,
        failure_class: str,
        status: int | None = None,
        retry_after_s: float | None = None,
        detail: str = "",
    ) -> None:
        super().__init__(message)
        self.failure_class = failure_class
        self.status = status
        self.retry_after_s = retry_after_s
        self.detail = detail


class UnknownSecretError(ActorError, LookupError):
    """A secret of that name does not exist."""

    def __init__(self, name: str, *, reason: str = "") -> None:
        why = f" ({reason})" if reason else ""
        super().__init__(
            f"secret {name!r} does not exist{why}; store it with `agentic secrets set {name}`",
            failure_class="auth_required",
        )
        self.name = name
