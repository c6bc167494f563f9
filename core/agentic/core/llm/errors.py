"""Errors of models: one class for each reaction that makes sense, whoever the provider is."""

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
            f"{model} {self._happened()}{shown}: {reason}{self.next_step and f'; {self.next_step}'}"
        )
        self.model = model
        self.reason = reason
        self.status = status
        self.retry_after_s = retry_after_s

    @classmethod
    def _happened(cls) -> str:
        return (cls.__doc__ or "").partition("\n")[0].removeprefix("The model ").rstrip(".")


class RateLimitedError(ModelError):
    """The model has too many requests of this account."""

    failure_class = "rate_limited"
    is_retriable = True


class QuotaExhaustedError(ModelError):
    """The model has no quota or credit left for this account."""

    failure_class = "quota_exhausted"
    next_step = "add credit, or use another model"


class OverloadedError(ModelError):
    """The model is overloaded or has an internal fault."""

    failure_class = "overloaded"
    is_retriable = True


class ModelTimeoutError(ModelError, TimeoutError):
    """The model did not reply in time."""

    failure_class = "timeout"
    is_retriable = True


class ModelConnectionError(ModelError, ConnectionError):
    """The model cannot be reached, or the connection broke."""

    failure_class = "connect"
    is_retriable = True


class CutReplyError(ModelConnectionError):
    """The model stopped in the middle of its reply."""

    failure_class = "cut_reply"


class ModelAuthError(ModelError, PermissionError):
    """The model refuses this account or its key."""

    failure_class = "auth_required"
    next_step = "check the key, and the account's rights for this model"


class ContextWindowExceededError(ModelError, ValueError):
    """The model cannot read so many tokens."""

    failure_class = "context_window_exceeded"
    next_step = "set a reducer for the agent, or a model with a larger window"


class ContentRefusedError(ModelError):
    """The model or its filter refuses the content."""

    failure_class = "refused"


class BadModelRequestError(ModelError, ValueError):
    """The model does not accept the request."""

    failure_class = "bad_request"


class UnknownModelError(ModelError, LookupError):
    """The model does not exist, or this account cannot use it."""

    failure_class = "unknown_model"
    next_step = "check the name"


class SchemaNotMetError(ModelError, ValueError):
    """The model did not reply in the form that was asked for."""

    failure_class = "schema_invalid"


class UnknownProviderError(AgenticError, LookupError):
    """No plugin provides models under that name."""

    def __init__(self, provider: str, known: Sequence[str]) -> None:
        super().__init__(
            f"no plugin provides models of {provider!r} (known: {', '.join(known) or 'none'}); name a model "
            "as provider:name, such as 'openai:NAME', and install the plugin of the provider"
        )
        self.provider = provider
        self.known = tuple(known)


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

    def __init__(self, provider: str, variable: str) -> None:
        super().__init__(f"models of {provider!r} need a key: set {variable}, or pass api_key=...")
        self.provider = provider
        self.variable = variable
