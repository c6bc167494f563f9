"""Agents and their conversations."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from starlette.responses import Response

from agentic.core.agents.agent import Agent
from agentic.core.agents.background.token import ContinuationToken
from agentic.core.agents.errors import ContinuationTokenError
from agentic.core.agents.requests import AgentInput, RequestAnswer
from agentic.core.agents.responses import AgentChunk, ChunkKind
from agentic.core.agents.threads.store import StoredThread
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.errors import AgenticError, text_of
from agentic.core.masking import mask_known
from agentic.core.threads import in_thread
from agentic.core.types import JSONValue
from agentic.executors.agents.talking import can_talk
from agentic.executors.commands.shared.views import shown_config
from agentic.executors.serving.answers import json_text
from agentic.executors.serving.problems import code_of
from agentic.executors.serving.sse import Frame
from agentic.mappers import AgentModel, SqlThreadStore, find_agent, list_agents
from agentic.plugins.serve.api.endpoints import (
    PREFIX,
    BadRequestError,
    Endpoint,
    EndpointCall,
    Group,
    as_json,
)
from agentic.plugins.serve.api.views import (
    AgentDetail,
    AgentView,
    AnswerView,
    Cancelled,
    Items,
    MessageBody,
    ThreadDetail,
    ThreadQuery,
    ThreadView,
)
from agentic.plugins.serve.chat_runs import ChatRun, ChatRuns

BY = "http"
"""The author of answers: a holder of the token."""

WAIT_S = 60.0
"""How long an answer is waited for, unless the client says so."""

_LIVE = frozenset({ChunkKind.TEXT, ChunkKind.THINKING, ChunkKind.RESTARTED, ChunkKind.STARTED})


def agent_endpoints(chats: ChatRuns) -> Sequence[Endpoint]:
    """Return the endpoints of agents and threads."""
    return [*_of_agents(Conversations(chats)), *_of_threads()]


def _of_agents(conversations: Conversations) -> Sequence[Endpoint]:
    agents = Group("agents")
    return [
        agents("GET", list_them, Items[AgentView], "List the agents of the project."),
        agents("GET /{name}", show, AgentDetail, "Show an agent with its config; secrets are masked."),
        agents(
            "POST /{name}/messages", conversations.say, AnswerView,
            "Send a message to an agent, or answers to its requests. A cut connection does not stop "
            "the run. 202: it has not ended yet; ask again with the token.",
            takes=MessageBody, streams=True,
        ),
        agents(
            "GET /{name}/answers/{token}", conversations.poll, AnswerView,
            "Return the answer of a run, or continue to read it from the token or `Last-Event-ID`.",
            streams=True,
        ),
        agents(
            "DELETE /{name}/answers/{token}", conversations.cancel, Cancelled,
            "Stop a run; the next message continues its turn.",
        ),
    ]  # fmt: skip


def _of_threads() -> Sequence[Endpoint]:
    threads = Group("threads")
    return [
        threads(
            "GET", list_threads, Items[ThreadView], "List conversations, the newest first.", query=ThreadQuery
        ),
        threads(
            "GET /{id}", show_thread, ThreadDetail,
            "Show a conversation with its messages and the requests that it waits for.",
        ),
        threads("DELETE /{id}", delete_thread, None, "Remove a conversation.", status=204),
    ]  # fmt: skip


async def list_them(call: EndpointCall) -> Items[AgentView]:
    """Return the agents of the project."""

    def read() -> list[AgentView]:
        with call.project.database.reading() as session:
            return [_view(row) for row in list_agents(session, call.project.id)]

    return Items[AgentView](items=await in_thread(read))


async def show(call: EndpointCall) -> AgentDetail:
    """Return an agent."""

    def read() -> AgentDetail:
        with call.project.database.reading() as session:
            row = find_agent(session, call.project.id, call.path("name"))
            return AgentDetail(**_view(row).model_dump(), config=shown_config(row))

    return await in_thread(read)


def _view(row: AgentModel) -> AgentView:
    return AgentView(
        name=row.agent_name,
        platform=row.agent_platform,
        state="enabled" if row.disabled_at is None else "disabled",
        talks=can_talk(row),
        goals=row.goals,
    )


class Conversations:
    """The endpoints that talk to agents.

    Args:
        chats: Begins runs, and reads them.
    """

    def __init__(self, chats: ChatRuns) -> None:
        self._chats = chats

    async def say(self, call: EndpointCall) -> Response:
        """Begin a run; return its answer, its pieces, or at once its token."""
        body: MessageBody = call.body
        chat = await self._chats.begin(
            call.path("name"),
            _given(body),
            thread_id=body.thread_id,
            user_id=body.user_id,
            key=call.key,
        )
        if call.wants_stream:
            return call.project.streams.response(self._frames(chat, chat.token))
        wait_s = 0.0 if body.background else WAIT_S if call.wait_s is None else call.wait_s
        return await self._answer(call, chat.agent, chat.token, wait_s)

    async def poll(self, call: EndpointCall) -> Response:
        """Return the answer of a run, or the rest of its pieces."""
        agent, token = await self._known(call)
        if not call.wants_stream:
            return await self._answer(call, agent, token, call.wait_s or 0.0)
        if (last := call.request.headers.get("last-event-id")) is not None:
            later = ContinuationToken.decode(last)
            if later.task_id != token.task_id:
                raise ContinuationTokenError("the Last-Event-ID is of another run; open that one")
            token = later
        chat = ChatRun(agent=agent, token=token, is_known=True)
        return call.project.streams.response(self._frames(chat, token))

    async def cancel(self, call: EndpointCall) -> Cancelled:
        """Stop a run."""
        agent, token = await self._known(call)
        return Cancelled(cancelled=await agent.cancel_background(token, "stopped over HTTP"))

    async def _known(self, call: EndpointCall) -> tuple[Agent[Any], ContinuationToken]:
        token = ContinuationToken.decode(call.path("token"))
        agent = await call.project.agents.get(call.path("name"))
        if token.agent != agent.name:
            raise ContinuationTokenError(f"the token belongs to agent {token.agent!r}, not {agent.name!r}")
        return agent, token

    async def _answer(
        self, call: EndpointCall, agent: Agent[Any], token: ContinuationToken, wait_s: float
    ) -> Response:
        response = await self._chats.answer(agent, token, wait_s)
        text = token.encode()
        if response.status != "in_progress":
            return as_json(AnswerView.of(response, text))
        place = f"{PREFIX}/agents/{{name}}/answers/{{token}}"
        headers = {"location": call.path_to(place, token=text), "retry-after": "1"}
        return as_json(AnswerView.of(response, text), 202, headers)

    async def _frames(self, chat: ChatRun, token: ContinuationToken) -> AsyncGenerator[Frame, None]:
        try:
            async with aclosing(self._chats.pieces(chat, token)) as pieces:
                async for piece in pieces:
                    yield frame_of(piece)
        except AgenticError as exc:
            facts = {"code": code_of(exc), "detail": mask_known(text_of(exc))}
            yield Frame(event="error", data=json_text(facts))


def frame_of(piece: AgentChunk) -> Frame:
    """Return a piece as an event. Live text has no id: a resumed reader gets its message whole, or again."""
    facts: dict[str, JSONValue] = {
        "kind": str(piece.kind),
        "agent": piece.author_name,
        "path": list(piece.path),
        "sequence": piece.sequence,
    }
    if piece.text:
        facts |= {"text": piece.text, "offset": piece.offset}
    parts = (("tool_call", piece.tool_call), ("tool_result", piece.tool_result))
    more = (("message", piece.message), ("request", piece.request))
    facts |= {name: part.model_dump(mode="json") for name, part in (*parts, *more) if part is not None}
    text = piece.token.encode() if piece.token is not None else ""
    if piece.response is not None:
        facts["answer"] = AnswerView.of(piece.response, text or None).model_dump(mode="json")
    return Frame(event=str(piece.kind), data=json_text(facts), id="" if piece.kind in _LIVE else text)


def _given(body: MessageBody) -> AgentInput:
    if (body.message is None) == (not body.answers):
        raise BadRequestError("send either 'message', or 'answers' to the requests of the thread")
    if body.message is not None:
        return body.message
    if body.thread_id is None:
        raise BadRequestError("'answers' need the 'thread_id' of the requests")
    return [
        RequestAnswer(
            request_id=one.request_id,
            approved=one.approved,
            reason=one.reason,
            result=one.result,
            answered_by=BY,
        )
        for one in body.answers
    ]


async def list_threads(call: EndpointCall) -> Items[ThreadView]:
    """Return a page of conversations."""
    query: ThreadQuery = call.query
    found = await _store(call).newest(
        query.limit + 1, user_id=query.user_id, agent=query.agent, after=query.cursor
    )
    items = [ThreadView.model_validate(_facts(one)) for one in found[: query.limit]]
    return Items[ThreadView](items=items, next=items[-1].id if len(found) > query.limit else None)


async def show_thread(call: EndpointCall) -> ThreadDetail:
    """Return a conversation."""
    thread = await AgentThread.load(call.path("id"), _store(call))
    facts = _facts(StoredThread(thread.id, thread.metadata))
    return ThreadDetail(**facts, messages=list(thread.messages), pending=list(thread.pending))


async def delete_thread(call: EndpointCall) -> Response:
    """Remove a conversation."""
    thread = await AgentThread.load(call.path("id"), _store(call))
    await _store(call).delete(thread.id)
    return Response(status_code=204)


def _store(call: EndpointCall) -> SqlThreadStore:
    return SqlThreadStore(call.project.database, project_id=call.project.id)


def _facts(thread: StoredThread) -> dict[str, Any]:
    facts = thread.metadata
    return {
        "id": thread.id,
        "agent": facts.agent,
        "user_id": facts.user_id,
        "title": facts.title,
        "created_at": facts.created_at,
    }
