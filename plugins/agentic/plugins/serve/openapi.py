"""The OpenAPI document, made of the endpoints that the routes are made of."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from agentic.plugins.serve.api.endpoints import AnswerModel, Endpoint, Nothing

REF = "#/components/schemas/{model}"


class ProblemField(AnswerModel):
    """A field of a request that cannot be used."""

    field: str
    reason: str


class Problem(AnswerModel):
    """An error (RFC 9457): ``application/problem+json``."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: tuple[ProblemField, ...] = ()
    incident: str | None = None


def openapi_document(project: str, url: str, endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Return the document.

    Args:
        project: Name of the served project.
        url: Of the server.
        endpoints: All endpoints.
    """
    models: list[type[BaseModel]] = list(dict.fromkeys((Problem, *_models_of(endpoints))))
    refs, definitions = models_json_schema([(one, _mode_of(one)) for one in models], ref_template=REF)
    schemas: dict[type[BaseModel], Any] = {one: refs[one, _mode_of(one)] for one in models}
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas, project)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"Project {project}",
            "version": importlib.metadata.version("agentic-pipelines"),
            "description": "Agents, workflows, pipelines, executions and requests of one project.",
        },
        "servers": [{"url": url}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": definitions.get("$defs", {}),
        },
    }


def _mode_of(model: type[BaseModel]) -> JsonSchemaMode:
    return "serialization" if issubclass(model, AnswerModel) else "validation"


def _models_of(endpoints: Iterable[Endpoint]) -> list[type[BaseModel]]:
    pairs = ((one.takes, one.gives) for one in endpoints)
    return [model for pair in pairs for model in pair if model is not None]


def _operation(endpoint: Endpoint, schemas: dict[type[BaseModel], Any], project: str) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": endpoint.summary}
    if endpoint.gives is not None:
        answer["content"] = {"application/json": {"schema": schemas[endpoint.gives]}}
    if endpoint.streams:
        answer.setdefault("content", {})["text/event-stream"] = {"schema": {"type": "string"}}
    statuses = {str(endpoint.status)} | ({"200"} if endpoint.status == 202 else set())
    if endpoint.streams and endpoint.gives is not None:
        statuses.add("202")
    fault = {
        "description": "An error.",
        "content": {"application/problem+json": {"schema": schemas[Problem]}},
    }
    found: dict[str, Any] = {
        "summary": endpoint.summary,
        "tags": [endpoint.tag],
        "parameters": [*_path_parameters(endpoint.path, project), *_query_parameters(endpoint.query)],
        "responses": {**dict.fromkeys(sorted(statuses), answer), "default": fault},
    }
    if endpoint.takes is not None:
        content = {"application/json": {"schema": schemas[endpoint.takes]}}
        found["requestBody"] = {"required": True, "content": content}
    return found


def _path_parameters(path: str, project: str) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", **({"const": project} if name == "project" else {})},
        }
        for name in (part[1:-1] for part in path.split("/") if part.startswith("{"))
    ]


def _query_parameters(query: type[BaseModel]) -> list[dict[str, Any]]:
    if query is Nothing:
        return []
    facts = {"in": "query", "required": False}
    properties = query.model_json_schema()["properties"]
    return [{"name": name, **facts, "schema": schema} for name, schema in properties.items()]
