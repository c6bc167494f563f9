"""Endpoints as data: the routes and the OpenAPI document are both made of them, so they agree."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from agentic.core.errors import AgenticError
from agentic.executors.serving.answers import JsonAnswer
from agentic.executors.serving.problems import problem
from agentic.executors.serving.project import ServedProject

PREFIX = "/api/v1/projects/{project}"
MAX_LIMIT = 200
MAX_FAULTS = 20
MAX_WAIT_S = 600.0
"""A client that would wait for longer asks again."""

BodyT = TypeVar("BodyT", bound=BaseModel)


class BadRequestError(AgenticError, ValueError):
    """A request cannot be used."""


class Body(BaseModel):
    """Base of what clients send: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AnswerModel(BaseModel):
    """Base of answers."""

    model_config = ConfigDict(frozen=True)


class Nothing(Body):
    """No query parameters."""


class PageQuery(Body):
    """The part of a list to return."""

    limit: int = Field(default=50, ge=1, le=MAX_LIMIT, description="Most items.")
    cursor: str | None = Field(default=None, max_length=300, description="``next`` of the previous page.")


@dataclass(frozen=True, slots=True)
class EndpointCall:
    """A request to an endpoint.

    Attributes:
        project: The served project.
        request: As Starlette has it.
        query: Its query parameters, checked.
        body: Its body, checked; None without one.
    """

    project: ServedProject
    request: Request
    query: Any
    body: Any

    def path(self, name: str) -> str:
        """Return a part of the path."""
        return str(self.request.path_params[name])

    def path_to(self, path: str, **parts: str) -> str:
        """Return the path of another endpoint; other parts come from this request."""
        known = {**self.request.path_params, "project": self.project.name, **parts}
        quoted = {name: quote(str(value), safe="") for name, value in known.items()}
        return f"{self.request.scope.get('root_path', '')}{path.format_map(quoted)}"

    @property
    def wants_stream(self) -> bool:
        """Whether the client accepts server-sent events."""
        return "text/event-stream" in self.request.headers.get("accept", "")

    @property
    def key(self) -> str | None:
        """The ``Idempotency-Key``, if there is one.

        Raises:
            BadRequestError: It is too long, or has other characters than ASCII.
        """
        key = self.request.headers.get("idempotency-key")
        if key is not None and not (0 < len(key) <= 200 and key.isascii() and key.isprintable()):
            raise BadRequestError("an Idempotency-Key has 1 to 200 printable ASCII characters")
        return key

    @property
    def wait_s(self) -> float | None:
        """Seconds that the client would wait, by ``Prefer: wait=SECONDS``; at most ``MAX_WAIT_S``."""
        for part in self.request.headers.get("prefer", "").split(","):
            name, _, value = part.strip().partition("=")
            if name == "wait" and value.isdecimal() and len(value) < 6:
                return min(float(value), MAX_WAIT_S)
        return None

    async def rest(self, run_id: str) -> None:
        """Wait until a run rests, for as long as the client would wait."""
        if self.wait_s:
            with suppress(TimeoutError):
                await self.project.runs.handle(run_id).rest(self.wait_s)

    def started(self, made: BaseModel, path: str, name: str, *, is_ended: bool) -> Response:
        """Return something that was started, with its place; 202 if it has not ended.

        Args:
            made: Its view.
            path: Of the endpoint that shows it, by ``id``.
            name: Its id.
            is_ended: Whether it has ended.
        """
        return as_json(made, 200 if is_ended else 202, {"location": self.path_to(path, id=name)})


Answer = Callable[[EndpointCall], Awaitable[BaseModel | Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One endpoint.

    Attributes:
        method: ``GET``, ``POST`` or ``DELETE``.
        path: From the root of the server.
        summary: A sentence.
        answer: Makes the answer: a model, or a response.
        gives: The answer's content.
        takes: The body's content; None without a body.
        query: The query parameters.
        status: Of the answer.
        streams: Whether it answers with server-sent events, too.
        tag: The group of the endpoint.
    """

    method: str
    path: str
    summary: str
    answer: Answer
    gives: type[BaseModel] | None
    takes: type[BaseModel] | None = None
    query: type[BaseModel] = Nothing
    status: int = 200
    streams: bool = False
    tag: str = ""

    def handler(self, project: ServedProject) -> Callable[[Request], Awaitable[Response]]:
        """Return the handler of its route."""

        async def handle(request: Request) -> Response:
            if request.path_params.get("project", project.name) != project.name:
                return problem(404, f"this server shows the project {project.name!r} only")
            try:
                query = self.query.model_validate(dict(request.query_params))
                body = None if self.takes is None else await read_body(request, self.takes)
            except ValidationError as exc:
                return misfit(exc)
            made = await self.answer(EndpointCall(project, request, query, body))
            return made if isinstance(made, Response) else self.respond(made)

        return handle

    def respond(self, made: BaseModel, headers: Mapping[str, str] | None = None) -> Response:
        """Return a model as an answer."""
        return as_json(made, self.status, headers)


@dataclass(frozen=True, slots=True)
class Group:
    """The endpoints of one kind of things: their paths begin with its name.

    Attributes:
        name: Of the things.
        tag: Of the endpoints; the name if omitted.
    """

    name: str
    tag: str = ""

    def __call__(  # noqa: PLR0913  # the attributes of an endpoint
        self,
        place: str,
        answer: Answer,
        gives: type[BaseModel] | None,
        summary: str,
        *,
        takes: type[BaseModel] | None = None,
        query: type[BaseModel] = Nothing,
        status: int = 200,
        streams: bool = False,
    ) -> Endpoint:
        """Return an endpoint of the group.

        Args:
            place: The method, and the path after the group's own: ``GET /{id}``.
            answer: Makes the answer.
            gives: The answer's content.
            summary: A sentence.
            takes: The body's content.
            query: The query parameters.
            status: Of the answer.
            streams: Whether it answers with server-sent events, too.
        """
        method, _, path = place.partition(" ")
        return Endpoint(
            method=method,
            path=f"{PREFIX}/{self.name}{path}",
            summary=summary,
            answer=answer,
            gives=gives,
            takes=takes,
            query=query,
            status=status,
            streams=streams,
            tag=self.tag or self.name,
        )


def as_json(made: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a model as an answer."""
    return JsonAnswer(made.model_dump(mode="json"), status, headers=dict(headers or {}))


async def read_body(request: Request, kind: type[BodyT]) -> BodyT:
    """Return the body of a request.

    Raises:
        BadRequestError: It is not JSON.
        ValidationError: It has another form.
    """
    text = await request.body()
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if text and declared != "application/json":
        raise BadRequestError("the body must be JSON, with 'Content-Type: application/json'")
    return kind.model_validate_json(text or b"{}")


def misfit(exc: ValidationError) -> Response:
    """Return the answer to content of another form: places and reasons, but never values."""
    found = exc.errors(include_input=False, include_url=False, include_context=False)[:MAX_FAULTS]
    errors = [{"field": ".".join(map(str, one["loc"])), "reason": one["msg"]} for one in found]
    words = "; ".join(f"{one['field'] or 'body'}: {one['reason']}" for one in errors)
    return problem(422, words, errors=errors)
