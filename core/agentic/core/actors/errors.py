"""What can go wrong in a pipeline's steps."""

from __future__ import annotations

from agentic.core.errors import AgenticError


class PipelineError(AgenticError):
    """Something about a pipeline or its actors."""


class ActorError(PipelineError):
    """An actor could not do its work.

    Args:
        message: What happened, with which value.
        failure_class: The word that ``error_handling`` is keyed by, as ``"selector_missing"``.
        status: HTTP status behind it, where there is one.
        retry_after_s: Seconds after which it is worth another try, where somebody said so.
        detail: A word that says more: why something is ``blocked``, whose limit it is if ``rate_limited``.
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
    """There is no secret of that name."""

    def __init__(self, name: str, *, reason: str = "") -> None:
        why = f" ({reason})" if reason else ""
        super().__init__(
            f"secret {name!r} does not exist{why}; store it with `agentic secrets set {name}`",
            failure_class="auth_required",
        )
        self.name = name
