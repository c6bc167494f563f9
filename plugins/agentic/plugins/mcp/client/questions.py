"""Questions of a server to a person, as requests of the agent, and the answers as the server wants them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from mcp import types
from pydantic import TypeAdapter, ValidationError

from agentic.core.agents import RequestAnswer, RequestKind, ToolError, ToolQuestion
from agentic.core.terminal import harmless
from agentic.core.types import JSONValue
from agentic.plugins.mcp.wire import wire

MAX_QUESTION = 4_000
MAX_QUESTIONS = 20
_REQUESTS: TypeAdapter[types.InputRequests] = TypeAdapter(types.InputRequests)


def questions_of(server: str, requests: types.InputRequests) -> tuple[ToolQuestion, ...]:
    """Return the questions of a server.

    Raises:
        ToolError: It wants something else than answers of a person, or too much.
    """
    if len(requests) > MAX_QUESTIONS:
        raise ToolError(f"{server} asks {len(requests)} questions at once; it was not answered")
    return tuple(_question(server, key, request) for key, request in requests.items())


def requests_of(stored: JSONValue) -> types.InputRequests:
    """Return the requests that :func:`stored_requests` gave."""
    return _REQUESTS.validate_python(stored)


def stored_requests(requests: types.InputRequests) -> dict[str, JSONValue]:
    """Return requests as JSON."""
    return {key: wire(request) for key, request in requests.items()}


def responses_to(requests: types.InputRequests, answers: Mapping[str, RequestAnswer]) -> types.InputResponses:
    """Return the answers of people as the server wants them.

    Raises:
        ToolError: An answer does not fit its form.
    """
    return {
        key: _response(cast(types.ElicitRequest, request), answers.get(key))
        for key, request in requests.items()
    }


def _question(server: str, key: str, request: types.InputRequest) -> ToolQuestion:
    if not isinstance(request, types.ElicitRequest):
        raise ToolError(f"{server} asks for {request.method}, which is not supported (deprecated in MCP)")
    params = request.params
    words = harmless(params.message)[:MAX_QUESTION]
    data: dict[str, JSONValue] = {"server": server}
    if isinstance(params, types.ElicitRequestURLParams):
        if not params.url.startswith(("https://", "http://")):
            raise ToolError(f"{server} asks a person to open an address that is not a web page")
        return ToolQuestion(
            key=key,
            kind=RequestKind.INFO,
            question=f"{server}: {words} (open {params.url}, and answer when it is done)",
            data={**data, "url": params.url},
        )
    schema = cast(dict[str, JSONValue], params.requested_schema)
    fields = cast(dict[str, Any], schema.get("properties") or {})
    asked = f" ({_fields(fields)})" if fields else ""
    return ToolQuestion(
        key=key,
        kind=RequestKind.INFO,
        question=f"{server}: {words}{asked}",
        data={**data, "schema": schema},
    )


def _fields(fields: Mapping[str, Any]) -> str:
    shown = [f"{name}: {_kind(facts)}" for name, facts in list(fields.items())[:20]]
    return harmless(", ".join(shown))[:1_000]


def _kind(facts: object) -> str:
    if not isinstance(facts, dict):
        return "any"
    choices = facts.get("enum")
    return " or ".join(map(str, choices[:10])) if isinstance(choices, list) else str(facts.get("type", "any"))


def _response(request: types.ElicitRequest, answer: RequestAnswer | None) -> types.ElicitResult:
    if answer is None or not answer.approved:
        return types.ElicitResult(action="decline")
    if isinstance(request.params, types.ElicitRequestURLParams):
        return types.ElicitResult(action="accept")
    schema = cast(dict[str, JSONValue], request.params.requested_schema)
    return types.ElicitResult(action="accept", content=cast(Any, content_of(answer.result, schema)))


def content_of(result: JSONValue, schema: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    """Return an answer as the content of a form: an object, its JSON, or the text of the only field.

    Raises:
        ToolError: It does not fit the form.
    """
    from jsonschema.exceptions import best_match
    from jsonschema.validators import validator_for

    found = _object(result, schema)
    try:
        fault: Any = best_match(validator_for(schema)(schema).iter_errors(found))
    except Exception as exc:  # the schema is of a stranger
        raise ToolError(f"the form of the server cannot be used: {type(exc).__name__}") from None
    if fault is not None:
        place = ".".join(map(str, fault.path)) or "it"
        raise ToolError(f"the answer of the person does not fit the form: {place}: {fault.message:.300}")
    return found


def _object(result: JSONValue, schema: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    fields = cast(dict[str, Any], schema.get("properties") or {})
    if isinstance(result, str) and result.strip().startswith("{"):
        with suppress(ValueError):
            result = json.loads(result)
    if isinstance(result, dict):
        return result
    if not fields:
        return {}
    if len(fields) > 1:
        raise ToolError(
            f"the form of the server has the fields {', '.join(fields)}; the person has to answer with JSON"
        )
    (name, facts), *_ = fields.items()
    return {name: _typed(result, facts)}


_KINDS: Mapping[str, TypeAdapter[Any]] = {
    "boolean": TypeAdapter(bool),
    "integer": TypeAdapter(int),
    "number": TypeAdapter(float),
}


def _typed(given: JSONValue, facts: object) -> JSONValue:
    adapter = _KINDS.get(str(facts.get("type"))) if isinstance(facts, dict) else None
    if adapter is None or not isinstance(given, str):
        return given
    try:
        found: JSONValue = adapter.validate_python(given.strip())
    except ValidationError:
        return given  # the schema says what is wrong
    return found
