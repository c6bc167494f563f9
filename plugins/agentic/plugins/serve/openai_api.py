"""Chat completions of the OpenAI API, so that any chat program can talk to an agent: its name is the model.

Each request carries the whole conversation. A conversation that this process has answered before continues
in its thread, with tool results and open approvals; any other one gets a new thread. ``metadata`` may name a
``thread_id``.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agentic.core.agents.errors import TaskFailedError
from agentic.core.agents.requests import AgentInput, PendingRequest, RequestAnswer, RequestKind
from agentic.core.agents.responses import AgentChunk, AgentResponse, ChunkKind, ResponseStatus
from agentic.core.errors import AgenticError, text_of
from agentic.core.llm.messages import ChatMessage, ChatRole, DataPart, Part, TextPart
from agentic.core.llm.usage import TokenUsage
from agentic.core.masking import mask_known
from agentic.core.threads import in_thread
from agentic.executors.agents.talking import can_talk
from agentic.executors.serving.answers import JsonAnswer, json_text
from agentic.executors.serving.problems import code_of, status_of
from agentic.executors.serving.project import ServedProject
from agentic.executors.serving.sse import Frame
from agentic.mappers import AgentModel, list_agents
from agentic.plugins.serve.api.endpoints import BadRequestError, misfit, read_body
from agentic.plugins.serve.chat_runs import ChatRun, ChatRuns, status_of_failure

WAIT_S = 600.0
MAX_KNOWN = 10_000
"""Conversations whose threads are remembered; others get a new thread with all their messages."""

BY = "http"
YES = frozenset({"y", "yes", "ok", "approve", "approved"})
NO = frozenset({"n", "no", "reject", "rejected"})
MAX_MESSAGES = 2_000


class ContentPart(BaseModel):
    """A part of a message."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    type: str
    text: str = ""
    image_url: dict[str, Any] | None = None


class CompletionMessage(BaseModel):
    """A message of the conversation."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[ContentPart] | None = None
    name: str | None = Field(default=None, max_length=200)


class StreamOptions(BaseModel):
    """Options of a stream."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    include_usage: bool = False


class CompletionBody(BaseModel):
    """A request; settings of the model are the agent's own, and are ignored here."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model: str = Field(max_length=300, description="Name of the agent.")
    messages: list[CompletionMessage] = Field(min_length=1, max_length=MAX_MESSAGES)
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int | None = None
    tools: list[dict[str, Any]] | None = None
    functions: list[dict[str, Any]] | None = None
    response_format: dict[str, Any] | None = None
    user: str | None = Field(default=None, max_length=200, description="The person who speaks.")
    metadata: dict[str, str] | None = Field(default=None, description="``thread_id``: a kept conversation.")


def openai_routes(project: ServedProject, chats: ChatRuns) -> list[BaseRoute]:
    """Return the routes of the API.

    Args:
        project: The served project.
        chats: Begins runs, and reads them.
    """
    api = OpenAIApi(project, chats)
    return [
        Route("/v1/models", api.models, methods=["GET"]),
        Route("/v1/models/{model}", api.model, methods=["GET"]),
        Route("/v1/chat/completions", api.complete, methods=["POST"]),
    ]


class OpenAIApi:
    """The endpoints.

    Args:
        project: The served project.
        chats: Begins runs, and reads them.
    """

    def __init__(self, project: ServedProject, chats: ChatRuns) -> None:
        self._project = project
        self._chats = chats
        self._known: OrderedDict[str, tuple[str, str]] = OrderedDict()

    async def models(self, request: Request) -> Response:
        """Return the agents that take messages."""
        del request
        return JsonAnswer({"object": "list", "data": await in_thread(self._models)})

    async def model(self, request: Request) -> Response:
        """Return one agent."""
        name = request.path_params["model"]
        for found in await in_thread(self._models):
            if found["id"] == name:
                return JsonAnswer(found)
        return error_response(404, f"no agent {name!r} takes messages; see /v1/models", "model_not_found")

    async def complete(self, request: Request) -> Response:
        """Return the answer of an agent, whole or as a stream."""
        try:
            body = await read_body(request, CompletionBody)
            _check(body)
            chat = await self._begin(body, request.headers.get("idempotency-key"))
            completion = Completion(chat, body, partial(self.remember, body))
            if body.stream:
                return self._project.streams.response(completion.frames(self._chats))
            response = await self._chats.answer(chat.agent, chat.token, WAIT_S)
        except ValidationError as exc:
            words = json.loads(bytes(misfit(exc).body))["detail"]
            return error_response(400, words, "invalid_request_error")
        except AgenticError as exc:
            return error_of(exc)
        return completion.whole(response)

    async def _begin(self, body: CompletionBody, key: str | None) -> ChatRun:
        messages = [message_of(one) for one in body.messages]
        first = _after_last_answer(messages)
        thread_id = (body.metadata or {}).get("thread_id")
        known = None if thread_id is not None else self._known.get(_digest(body, first))
        given: AgentInput = messages if thread_id is None else messages[first:]
        if (
            known is not None
            and (answered := await self._continued(body, known, messages[first:])) is not None
        ):
            thread_id, given = known[0], answered
        safe_key = None if key is None else hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()
        return await self._chats.begin(
            body.model, given, thread_id=thread_id, user_id=body.user, key=safe_key
        )

    async def _continued(
        self, body: CompletionBody, known: tuple[str, str], new: Sequence[ChatMessage]
    ) -> AgentInput | None:
        """Return the input that continues a thread; None if the thread has newer turns."""
        talking = await self._project.agents.find(body.model)
        thread = await self._chats.thread(talking, known[0], body.user)
        if thread.turn is None or thread.turn.id != known[1]:
            return None
        return answers_in(thread.pending, new) if thread.pending else new

    def remember(self, body: CompletionBody, response: AgentResponse[Any], said: str) -> None:
        """Remember the thread of a conversation: its next request has this answer as the last one."""
        answer = CompletionMessage(role="assistant", content=said)
        messages = [*body.messages, answer]
        known = body.model_copy(update={"messages": messages})
        self._known[_digest(known, len(messages))] = (response.thread_id, response.turn)
        while len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)

    def _models(self) -> list[dict[str, Any]]:
        with self._project.database.reading() as session:
            rows = [row for row in list_agents(session, self._project.id) if can_talk(row)]
            return [_model_of(row, self._project.name) for row in rows]


def _model_of(row: AgentModel, project: str) -> dict[str, Any]:
    return {
        "id": row.agent_name,
        "object": "model",
        "created": int(row.created_at.timestamp()),
        "owned_by": project,
    }


def _digest(body: CompletionBody, count: int) -> str:
    """Return a digest of the first messages of a conversation, its agent and its person."""
    parts: list[str] = [body.model, body.user or ""]
    for one in body.messages[:count]:
        parts += (one.role, message_of(one).text.strip())
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _check(body: CompletionBody) -> None:
    """Refuse what would be ignored in silence."""
    if body.tools or body.functions:
        raise BadRequestError("an agent has its own tools; send no 'tools' and no 'functions'")
    if (body.response_format or {}).get("type", "text") != "text":
        raise BadRequestError("an agent's 'output' is in its own spec; leave 'response_format' out")
    if body.n not in (None, 1):
        raise BadRequestError("an agent gives one answer; leave 'n' out")
    if not any(one.role == "user" for one in body.messages):
        raise BadRequestError("the conversation has no message of a user")


def _after_last_answer(messages: Sequence[ChatMessage]) -> int:
    """Return the place of the first message after the last answer: a kept thread has the others."""
    places = [number for number, one in enumerate(messages, 1) if one.role is ChatRole.ASSISTANT]
    first = places[-1] if places else 0
    return first if first < len(messages) else 0


def message_of(given: CompletionMessage) -> ChatMessage:
    """Return a message of the conversation as ours.

    Raises:
        BadRequestError: It has a part that agents cannot read.
    """
    parts = [TextPart(text=given.content)] if isinstance(given.content, str) else []
    if isinstance(given.content, list):
        parts = [_part_of(part) for part in given.content]  # type: ignore[misc]  # images, too
    role = {"developer": ChatRole.SYSTEM, "tool": ChatRole.USER}.get(given.role)
    return ChatMessage(role=role or ChatRole(given.role), parts=tuple(parts), author_name=given.name or None)


def _part_of(part: ContentPart) -> Part:
    if part.type == "text":
        return TextPart(text=part.text)
    url = str((part.image_url or {}).get("url") or "")
    if part.type != "image_url" or not url:
        raise BadRequestError(f"a message has a part of type {part.type!r}; agents read text and image_url")
    if not url.startswith("data:"):
        return DataPart(media_type="image/*", url=url)
    kind, mark, data = url.removeprefix("data:").partition(";base64,")
    if not mark:
        raise BadRequestError("an image in a message must be base64: data:image/png;base64,...")
    return DataPart(media_type=kind, data=data)


class Completion:
    """An answer in the form of the API.

    Args:
        chat: The run.
        body: The request.
        remember: Called with the answer, and the text that the client gets of it.
    """

    def __init__(
        self, chat: ChatRun, body: CompletionBody, remember: Callable[[AgentResponse[Any], str], None]
    ) -> None:
        self._talk = chat
        self._body = body
        self._remember = remember
        self._id = f"chatcmpl-{chat.token.task_id}"
        self._created = int(time.time())
        self._wants_usage = body.stream_options is not None and body.stream_options.include_usage

    def whole(self, response: AgentResponse[Any]) -> Response:
        """Return the whole answer."""
        text = answer_text(response)
        self._remember(response, text)
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": finish_reason(response), "logprobs": None}
        facts = {
            **self._facts("chat.completion"), "choices": [choice], "usage": usage_of(response.usage),
            "metadata": {"thread_id": response.thread_id},
        }  # fmt: skip
        return JsonAnswer(facts, headers={"x-thread-id": response.thread_id})

    async def frames(self, chats: ChatRuns) -> AsyncGenerator[Frame, None]:
        """Yield the answer in pieces, in the form of the API."""
        text = StreamedText()
        yield self._chunk({"role": "assistant", "content": ""})
        try:
            async with aclosing(chats.pieces(self._talk, self._talk.token)) as pieces:
                async for piece in pieces:
                    for delta in text.deltas(piece):
                        yield self._chunk({"content": delta})
                    if piece.done and piece.response is not None:
                        for frame in self._end(piece.response, text):
                            yield frame
        except AgenticError as exc:
            yield Frame(data=json_text(_error(mask_known(text_of(exc)), code_of(exc))))
        yield Frame(data="[DONE]")

    def _end(self, response: AgentResponse[Any], text: StreamedText) -> list[Frame]:
        rest = text.rest(answer_text(response))
        self._remember(response, text.said + rest)
        frames = [self._chunk({"content": rest})] if rest else []
        frames.append(self._chunk({}, finish_reason(response)))
        if self._wants_usage:
            facts = {**self._facts("chat.completion.chunk"), "choices": [], "usage": usage_of(response.usage)}
            frames.append(Frame(data=json_text(facts)))
        return frames

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> Frame:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return Frame(data=json_text({**self._facts("chat.completion.chunk"), "choices": [choice]}))

    def _facts(self, kind: str) -> dict[str, Any]:
        return {"id": self._id, "object": kind, "created": self._created, "model": self._body.model}


class StreamedText:
    """The text of an answer that a reader has, piece by piece, without anything twice.

    Text between calls of tools is part of it; texts of several messages have an empty line between them.
    """

    def __init__(self) -> None:
        self._all = ""
        self._message = ""
        self._is_held = False

    @property
    def said(self) -> str:
        """All text so far."""
        return self._all

    def deltas(self, piece: AgentChunk) -> list[str]:
        """Return the new text in a piece."""
        if piece.path:
            return []
        match piece.kind:
            case ChunkKind.TEXT:
                return self._live(piece.text, piece.offset)
            case ChunkKind.RESTARTED if self._message:
                self._is_held = True  # the message comes whole
            case ChunkKind.MESSAGE if piece.message is not None:
                return self._whole(piece.message.text)
            case _:
                pass
        return []

    def rest(self, text: str) -> str:
        """Return the end of the answer that no message had: a question to the person, or a reason."""
        if not text or self._all.endswith(text):
            return ""
        known = self._message_before()
        new = text.removeprefix(known) if known and text.startswith(known) else text
        return new if not self._all or new != text else f"\n\n{new}"

    def _message_before(self) -> str:
        return self._all.rpartition("\n\n")[2] if self._all else ""

    def _live(self, text: str, offset: int | None) -> list[str]:
        if self._is_held or offset is None or offset > len(self._message):
            self._is_held = True  # there is a gap
            return []
        return self._add(text[len(self._message) - offset :])

    def _whole(self, text: str) -> list[str]:
        new = text[len(self._message) :] if text.startswith(self._message) else f"\n\n{text}"
        found = self._add(new)
        self._message, self._is_held = "", False
        return found

    def _add(self, text: str) -> list[str]:
        if not text:
            return []
        gap = "\n\n" if self._all and not self._message else ""
        self._message += text
        self._all += gap + text
        return [gap + text]


def answer_text(response: AgentResponse[Any]) -> str:
    """Return the text of an answer, with open requests, or the reason of a stop."""
    lines = [response.text] if response.text else []
    if response.data is not None and not response.text:
        lines.append(json.dumps(response.data, ensure_ascii=False))
    lines += map(question_of, response.pending)
    if response.status is ResponseStatus.STOPPED:
        lines.append(f"[stopped: {response.reason}]")
    if response.status is ResponseStatus.IN_PROGRESS:
        lines.append("[still at work; ask again later]")
    return "\n\n".join(lines)


def answers_in(pending: Sequence[PendingRequest], said: Sequence[ChatMessage]) -> list[RequestAnswer]:
    """Return the answers of a person in a chat: ``yes`` or ``no REASON`` to approvals, a text to others.

    Raises:
        BadRequestError: The words do not answer an approval.
    """
    text = said[-1].text.strip() if said else ""
    word, _, reason = text.partition(" ")
    word = word.lower().rstrip(".,!")
    if any(one.kind is RequestKind.APPROVAL for one in pending) and word not in YES | NO:
        raise BadRequestError("the agent waits for an approval: say 'yes', or 'no' and a reason")
    return [_answer(one, text, reason, is_yes=word in YES) for one in pending]


def _answer(request: PendingRequest, text: str, reason: str, *, is_yes: bool) -> RequestAnswer:
    if request.kind is not RequestKind.APPROVAL:
        return RequestAnswer(request_id=request.id, result=text, answered_by=BY)
    return RequestAnswer(request_id=request.id, approved=is_yes, reason=reason.strip(), answered_by=BY)


def question_of(request: PendingRequest) -> str:
    """Return a request for a person in a chat."""
    name = request.call.name if request.call is not None else "the workflow"
    given = json.dumps(request.call.arguments, ensure_ascii=False) if request.call is not None else ""
    if request.kind is RequestKind.APPROVAL:
        return f"[May I call {name} {given}? yes, or no and a reason]"
    return f"[{request.question or f'Please answer: {name} {given}'}]"


def finish_reason(response: AgentResponse[Any]) -> str:
    """Return the reason of the end, in the words of the API."""
    return "length" if response.status is ResponseStatus.IN_PROGRESS else "stop"


def usage_of(used: TokenUsage) -> dict[str, Any]:
    """Return the use of models, in the words of the API."""
    return {
        "prompt_tokens": used.input_tokens,
        "completion_tokens": used.output_tokens,
        "total_tokens": used.input_tokens + used.output_tokens,
        "prompt_tokens_details": {"cached_tokens": used.cache_read_tokens},
    }


def error_of(error: AgenticError) -> Response:
    """Return one of our errors in the form of the API."""
    status = status_of_failure(error) if isinstance(error, TaskFailedError) else status_of(error)
    return error_response(400 if status == 422 else status, mask_known(text_of(error)), code_of(error))


def error_response(status: int, words: str, code: str) -> Response:
    """Return an error in the form of the API."""
    return JsonAnswer(_error(words, code), status)


def _error(words: str, code: str) -> dict[str, Any]:
    return {"error": {"message": words, "type": "invalid_request_error", "param": None, "code": code}}
