"""Open requests of runs as questions of MCP, and the answers as runs take them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mcp import types

from agentic.mappers.runs.requests import OpenRequest
from agentic.plugins.mcp.serving.views import question_words

MAX_WORDS = 2_000
_KINDS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}


def questions_of(requests: Sequence[OpenRequest]) -> types.InputRequests:
    """Return requests as questions, by their ids."""
    return {one.id: _question(one) for one in requests}


def answers_to(requests: Sequence[OpenRequest], responses: types.InputResponses) -> dict[str, object]:
    """Return answers to requests: a declined approval is a rejection, other declined questions stay open."""
    found: dict[str, object] = {}
    for request in requests:
        response = responses.get(request.id)
        if isinstance(response, types.ElicitResult):
            answer = _answer(request, response)
            if answer is not None:
                found[request.id] = answer
    return found


def _question(request: OpenRequest) -> types.ElicitRequest:
    words = question_words(request.question)[:MAX_WORDS]
    params = types.ElicitRequestFormParams(message=words, requested_schema=_form(request))
    return types.ElicitRequest(params=params)


def _form(request: OpenRequest) -> dict[str, Any]:
    if _is_approval(request):
        return {
            "type": "object",
            "properties": {
                "approved": {"type": "boolean", "title": "Approve"},
                "reason": {"type": "string", "title": "Reason"},
            },
            "required": ["approved"],
        }
    kind = _KINDS.get(request.response_type)
    hint = {} if kind else {"description": f"JSON of {request.response_type.rpartition('.')[2]}"}
    answer = {"type": kind or "string", "title": "Answer", **hint}
    return {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}


def _answer(request: OpenRequest, response: types.ElicitResult) -> object:
    content: Mapping[str, object] = response.content or {}
    if _is_approval(request):
        is_given = response.action == "accept" and content.get("approved") is True
        reason = content.get("reason") or ("" if response.action == "accept" else "declined")
        return {"approved": is_given, "reason": str(reason)}
    if response.action != "accept" or "answer" not in content:
        return None
    answer = content["answer"]
    if request.response_type in _KINDS or not isinstance(answer, str):
        return answer
    try:
        return json.loads(answer)
    except ValueError:
        return answer


def _is_approval(request: OpenRequest) -> bool:
    return request.response_type.endswith(".ApprovalResponse")
