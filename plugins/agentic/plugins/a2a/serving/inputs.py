"""Messages of A2A as the input of an agent. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from agentic.core.agents import PendingRequest, RequestAnswer, RequestKind
from agentic.core.llm.messages import ChatMessage, ChatRole, DataPart, Part, TextPart
from agentic.core.types import JSONValue
from agentic.plugins.a2a.tasks.entries import Json
from agentic.plugins.a2a.vocabulary import plain

YES = frozenset({"approve", "approved", "yes"})
NO = frozenset({"no", "reject", "rejected"})


class UnclearAnswerError(ValueError):
    """A message does not answer the requests of a task; the text of the error says how to."""


def message_of(body: Json) -> ChatMessage:
    """Return a message as the agent gets it: texts and data as text, images and files as such."""
    parts: list[Part] = []
    for part in parts_of(body):
        made = _part(part)
        if isinstance(made, TextPart) and parts and isinstance(parts[-1], TextPart):
            parts[-1] = TextPart(text=f"{parts[-1].text}\n\n{made.text}")
        else:
            parts.append(made)
    return ChatMessage(role=ChatRole.USER, parts=tuple(parts))


def parts_of(body: Json) -> list[Json]:
    """Return the parts of a message."""
    found = body.get("parts")
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []


def _part(part: Json) -> Part:
    media_type = str(part.get("mediaType") or "application/octet-stream")
    name = str(part["filename"]) if part.get("filename") else None
    if "raw" in part:
        return DataPart(media_type=media_type, data=str(part["raw"]), name=name)
    if "url" in part:
        url = str(part["url"])
        if url.startswith("https://") and part.get("mediaType"):
            return DataPart(media_type=media_type, url=url, name=name)
        return TextPart(text=url)
    if "data" in part:
        return TextPart(text=json.dumps(plain(part["data"]), ensure_ascii=False))
    return TextPart(text=str(part.get("text", "")))


def read_answers(body: Json, pending: Sequence[PendingRequest], by: str) -> tuple[RequestAnswer, ...]:
    """Return the answers in a message.

    Args:
        body: The message. A data part ``{"answers": [RequestAnswer, ...]}`` answers any requests. For one
            request, its text or its data are enough; for an approval these are ``yes`` or ``no``, or a data
            part ``{"approved": true}``.
        pending: The requests that the task waits for.
        by: The caller.

    Raises:
        UnclearAnswerError: It does not answer them.
    """
    parts = parts_of(body)
    data = [plain(part["data"]) for part in parts if "data" in part]
    listed = [
        one["answers"] for one in data if isinstance(one, dict) and isinstance(one.get("answers"), list)
    ]
    if listed:
        answers = tuple(_listed(listed[0], pending, by))
    elif len(pending) == 1:
        answers = (_single(pending[0], body, data, by),)
    else:
        raise UnclearAnswerError(f"{len(pending)} requests are open; {_HOW_TO_ANSWER}")
    if not answers:
        raise UnclearAnswerError(f"the message has no answer; {_HOW_TO_ANSWER}")
    return answers


_HOW_TO_ANSWER = 'answer with a data part {"answers": [{"request_id": ..., "approved": ..., "result": ...}]}'


def _listed(given: JSONValue, pending: Sequence[PendingRequest], by: str) -> Iterator[RequestAnswer]:
    open_ids = {request.id for request in pending}
    for one in given if isinstance(given, list) else []:
        try:
            answer = RequestAnswer.model_validate(one)
        except ValidationError as exc:
            fault = exc.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, fault["loc"]))
            raise UnclearAnswerError(f"not an answer: {place}: {fault['msg']}; {_HOW_TO_ANSWER}") from None
        if answer.request_id not in open_ids:
            raise UnclearAnswerError(
                f"no open request has the id {answer.request_id[:80]!r} (open: {', '.join(sorted(open_ids))})"
            )
        open_ids.remove(answer.request_id)
        yield answer.model_copy(update={"answered_by": by})


def _single(request: PendingRequest, body: Json, data: Sequence[JSONValue], by: str) -> RequestAnswer:
    text = message_of({"parts": [part for part in parts_of(body) if "text" in part]}).text.strip()
    if request.kind is not RequestKind.APPROVAL:
        result: JSONValue = data[0] if data else _read(text, request.response_type)
        return RequestAnswer(request_id=request.id, result=result, answered_by=by)
    facts = data[0] if data and isinstance(data[0], dict) else {}
    approved = facts.get("approved")
    if not isinstance(approved, bool):
        word = text.lower().rstrip(".!")
        if word not in YES | NO:
            raise UnclearAnswerError(
                'answer with "yes" or "no", or with a data part {"approved": true or false, "reason": ...}'
            )
        approved = word in YES
    reason = facts.get("reason")
    return RequestAnswer(request_id=request.id, approved=approved, reason=str(reason or ""), answered_by=by)


def _read(text: str, wanted: str) -> JSONValue:
    """Return a text as the JSON that a workflow waits for, if it waits for something else than a text."""
    if wanted in ("", "str"):
        return text
    try:
        found: JSONValue = json.loads(text)
    except ValueError:
        return text
    return found
