"""Errors of models: one class for each reaction that makes sense, the same for all providers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from agentic.core.errors import AgenticError


class ModelError(AgenticError):
    """A model did not reply as it should.

    Attributes:
        failure_class: The word for it in error policies.
        is_retriable: Whether the same request can succeed later.
        model: ``provider:name``.
        status: The HTTP status, if there was an answer.
        retry_after_s: Seconds after which a retry makes sense, if the provider said so.
        reason: The provider's words, without secrets.
    """

    failure_class: ClassVar[str] = "model_error"
    is_retriable: ClassVar[bool] = False
    happened: ClassVar[str] = "failed"
    next_step: ClassVar[str] = ""

    def __init__(
        self,
        model: str,
        reason: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        shown = f" (HTTP {status})" if status else ""
        super().__init__(
            f"{model} {self.happened}{shown}: {reason}{self.next_step and f'; {self.next_step}'}"
        )
        self.model = model
        self.reason = reason
        self.status = status
        self.retry_after_s = retry_after_s


class RateLimitedError(ModelError):
    """The account sends too many requests."""

    failure_class = "rate_limited"
    happened = "has too many requests of this account"
    is_retriable = True


class QuotaExhaustedError(ModelError):
    """The account has no quota or credit left."""

    failure_class = "quota_exhausted"
    happened = "has no quota or credit left for this account"
    next_step = "add credit, or use another model"


class OverloadedError(ModelError):
    """The provider is overloaded or has an internal fault."""

    failure_class = "overloaded"
    happened = "is overloaded or has an internal fault"
    is_retriable = True


class ModelTimeoutError(ModelError, TimeoutError):
    """The reply did not end in time."""

    failure_class = "timeout"
    happened = "did not reply in time"
    is_retriable = True


class ModelConnectionError(ModelError, ConnectionError):
    """The provider cannot be reached, or the connection broke."""

    failure_class = "connect"
    happened = "cannot be reached, or its connection broke"
    is_retriable = True


class CutReplyError(ModelConnectionError):
    """The reply stopped in the middle."""

    failure_class = "cut_reply"
    happened = "stopped in the middle of its reply"


class ModelAuthError(ModelError, PermissionError):
    """The provider refuses the account or its key."""

    failure_class = "auth_required"
    happened = "refuses this account or its key"
    next_step = "check the key, and the account's rights for this model"


class ContextWindowExceededError(ModelError, ValueError):
    """The conversation is too long for the model."""

    failure_class = "context_window_exceeded"
    happened = "cannot read a conversation of this length"
    next_step = "set a reducer for the agent, or a model with a larger window"


class ContentRefusedError(ModelError):
    """The model, or a filter before it, refuses the content."""

    failure_class = "refused"
    happened = "refuses the content"


class BadModelRequestError(ModelError, ValueError):
    """The provider does not accept the request."""

    failure_class = "bad_request"
    happened = "does not accept the request"


class UnknownModelError(ModelError, LookupError):
    """The model does not exist, or the account cannot use it."""

    failure_class = "unknown_model"
    happened = "does not exist, or this account cannot use it"
    next_step = "check the name"


class SchemaNotMetError(ModelError, ValueError):
    """The reply does not have the required form."""

    failure_class = "schema_invalid"
    happened = "did not reply in the required form"


class UnknownProviderError(AgenticError, LookupError):
    """No plugin provides models under that name."""

    def __init__(self, provider: str, known: Sequence[str]) -> None:
        if provider in known:
            super().__init__(f"{provider!r} is a provider without a model; write '{provider}:NAME'")
        else:
            super().__init__(self._unknown(provider, known))
        self.provider = provider
        self.known = tuple(known)

    @staticmethod
    def _unknown(provider: str, known: Sequence[str]) -> str:
        return (
            f"no plugin provides models of {provider!r} (known: {', '.join(known) or 'none'}); name a model "
            "as provider:name, such as 'openai:NAME', and install the plugin of the provider"
        )


class MissingSdkError(AgenticError, ImportError):
    """The library of a provider is not installed."""

    def __init__(self, provider: str, extra: str) -> None:
        super().__init__(
            f"models of {provider!r} need another library: pip install 'agentic-pipelines[{extra}]'"
        )
        self.provider = provider
        self.extra = extra


class MissingKeyError(AgenticError, LookupError):
    """No key for a provider is set."""

    def __init__(self, provider: str, variable: str, *, host: str | None = None) -> None:
        step = f"set {variable}, or pass api_key=..."
        if host:
            rule = f"{variable} is sent to the provider's own host only, over https"
            step = f"pass api_key=... for {host} ({rule})"
        super().__init__(f"models of {provider!r} need a key: {step}")
        self.provider = provider
        self.variable = variable
        self.host = host
