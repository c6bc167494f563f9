"""Requests JSON of a known shape from an API; shared by all API platforms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, TypeAdapter, ValidationError

from agentic.core.http.errors import FailureClass, HttpError
from agentic.core.http.fetcher import Fetcher
from agentic.core.http.messages import HttpRequest, HttpResponse
from agentic.core.http.policy import HttpPolicy
from agentic.core.http.sessions.sessions import HttpSession
from agentic.core.settings import safe_url

AnswerT = TypeVar("AnswerT")

Connect = Callable[[], AbstractAsyncContextManager[Fetcher]]
"""Returns the fetcher for one request: a shared one, or a new one."""

API_URL = r"^https?://[^\s?#@]+$"
"""Pattern of a ``base_url``: no credentials, no query."""


class ApiSettings(BaseModel):
    """Settings of an agent for any API; a platform sets a default ``base_url``, and adds its own settings."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    base_url: str = Field(pattern=API_URL, description="Root URL of the API.")
    requests_per_second: PositiveFloat | None = Field(
        default=None, description="Own rate limit, below that of the API."
    )
    timeout_s: PositiveFloat = Field(default=30, description="Timeout of one request.")
    allow_private_hosts: tuple[str, ...] = Field(
        default=(), description='Private hosts that base_url may use, such as "127.0.0.1:8000".'
    )

    @property
    def max_parallel(self) -> int:
        """How many requests may run at the same time."""
        return 1

    def policy(self) -> HttpPolicy:
        """Return the policy. robots.txt is for crawlers; this is a documented API, so it is not checked."""
        return HttpPolicy(
            timeout_s=self.timeout_s,
            allow_private_hosts=self.allow_private_hosts,
            obey_robots=False,
            requests_per_second=self.requests_per_second,
            max_connections_per_host=self.max_parallel,
        )


class UnexpectedAnswerError(HttpError, ValueError):
    """An API answered with JSON of another shape."""

    failure_class = FailureClass.SCHEMA_INVALID.value

    def __init__(self, service: str, url: str, fault: str) -> None:
        shown = safe_url(url)
        super().__init__(f"{shown} did not answer as {service} does: {fault}; check base_url")
        self.service = service
        self.url = shown
        self.fault = fault


class JsonApi:
    """An API below one URL.

    Args:
        service: Its name, for messages: ``"Hacker News"``.
        base_url: Its root, with or without a slash at the end.
        connect: Returns the fetcher.
        headers: Sent with every request.
    """

    def __init__(
        self, service: str, base_url: str, connect: Connect, headers: Mapping[str, str] | None = None
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self._service = service
        self._connect = connect
        self._headers = dict(headers or {})

    async def get(self, path: str, answer: TypeAdapter[AnswerT]) -> AnswerT:
        """Return the content at ``path``: a path below the root or a whole URL.

        Raises:
            FetchError: The answer did not come, or is not JSON.
            UnexpectedAnswerError: It has another shape.
        """
        return self.read(await self.ask(path), answer)

    async def ask(self, path: str, session: HttpSession | None = None) -> HttpResponse:
        """Return the answer itself, with its headers.

        Raises:
            FetchError: It did not come.
        """
        url = path if "://" in path else f"{self.base_url}/{path}"
        async with self._connect() as fetcher:
            return await fetcher.fetch(HttpRequest(url=url, headers=self._headers, session=session))

    def read(self, response: HttpResponse, answer: TypeAdapter[AnswerT]) -> AnswerT:
        """Return the content of an answer.

        Raises:
            FetchError: It is not JSON.
            UnexpectedAnswerError: It has another shape.
        """
        try:
            return answer.validate_python(response.json())
        except ValidationError as exc:
            raise UnexpectedAnswerError(self._service, response.url, first_fault(exc)) from None


def first_fault(exc: ValidationError) -> str:
    """Return the first fault and its place, without showing a value."""
    fault = exc.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, fault['loc'])) or 'the answer'}: {fault['msg']}"
