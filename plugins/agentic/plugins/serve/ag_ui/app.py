"""The AG-UI application: ``POST /ag-ui/AGENT`` runs an agent, and reads a run again that was begun before.

The protocol has a flag for streams that can be resumed, but no way to do it. Here each event has an id. Both
``POST`` with the same ``threadId`` and ``runId``, and ``GET .../threads/THREAD/runs/RUN``, continue after the
``Last-Event-ID``.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from ag_ui.core import (
    PROTOCOL_VERSION,
    AgentCapabilities,
    BaseEvent,
    ExecutionCapabilities,
    HumanInTheLoopCapabilities,
    IdentityCapabilities,
    Interrupt,
    OutputCapabilities,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateCapabilities,
    TokenUsage,
    ToolsCapabilities,
    TransportCapabilities,
)
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from agentic.core.agents.errors import TaskNotFoundError
from agentic.core.agents.responses import AgentResponse, ChunkKind, ResponseStatus
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.errors import AgenticError, text_of
from agentic.core.masking import mask_known
from agentic.core.threads import in_thread
from agentic.executors.agents.talking import can_talk
from agentic.executors.serving.answers import JsonAnswer, json_text
from agentic.executors.serving.problems import code_of, problem, problem_of
from agentic.executors.serving.project import ServedProject
from agentic.executors.serving.sse import Frame
from agentic.mappers import list_agents
from agentic.plugins.serve.ag_ui.conversation import (
    RunInputError,
    Segment,
    answers_of,
    author,
    interrupt_of,
    new_messages,
    segment_at,
    snapshot_of,
    usage_of,
)
from agentic.plugins.serve.ag_ui.encoding import Encoder
from agentic.plugins.serve.ag_ui.places import StreamPlace
from agentic.plugins.serve.api.endpoints import BadRequestError, misfit, read_body
from agentic.plugins.serve.chat_runs import MAX_ID_CHARS, ChatRun, ChatRuns

_LIVE = frozenset({ChunkKind.TEXT, ChunkKind.THINKING, ChunkKind.STARTED})
CANCELLED = "cancelled: "
"""The reason of a cancelled run begins so."""


def make_ag_ui(project: ServedProject) -> ASGIApp:
    """Return the application of a project, for the hook ``agentic_http``."""
    api = AgUiApi(project)
    run = "/{agent}/threads/{thread}/runs/{run}"
    return Starlette(
        routes=[
            Route("/", api.agents, methods=["GET"]),
            Route("/{agent}", api.run, methods=["POST"]),
            Route("/{agent}/capabilities", api.capabilities, methods=["GET"]),
            Route(run, api.again, methods=["GET"]),
            Route(run, api.cancel, methods=["DELETE"]),
        ],
        exception_handlers={HTTPException: _refused, AgenticError: _failed},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """A run, its reader, and the names that the client gave."""

    thread_id: str
    run_id: str
    chat: ChatRun
    place: StreamPlace | None


class AgUiApi:
    """The endpoints.

    Args:
        project: The served project.
    """

    def __init__(self, project: ServedProject) -> None:
        self._project = project
        self._chats = ChatRuns(project)

    async def agents(self, request: Request) -> Response:
        """Return the agents that take messages."""
        del request

        def read() -> list[str]:
            with self._project.database.reading() as session:
                return [row.agent_name for row in list_agents(session, self._project.id) if can_talk(row)]

        return JsonAnswer({"protocolVersion": PROTOCOL_VERSION, "agents": await in_thread(read)})

    async def capabilities(self, request: Request) -> Response:
        """Return the abilities of an agent."""
        agent = await self._project.agents.get(request.path_params["agent"])
        found = AgentCapabilities(
            identity=IdentityCapabilities(
                name=agent.name, type="agentic", description=agent.description or None
            ),
            transport=TransportCapabilities(streaming=True, websocket=False, resumable=True),
            tools=ToolsCapabilities(supported=True, client_provided=False),
            output=OutputCapabilities(structured_output=True),
            state=StateCapabilities(persistent_state=True),
            execution=ExecutionCapabilities(code_execution=False),
            human_in_the_loop=HumanInTheLoopCapabilities(
                supported=True, approvals=True, interrupts=True, approve_with_edits=False
            ),
        )
        return JsonAnswer(json.loads(found.model_dump_json(by_alias=True, exclude_none=True)))

    async def run(self, request: Request) -> Response:
        """Run an agent, or read the run of this thread and id again."""
        try:
            given = await read_body(request, RunAgentInput)
        except ValidationError as exc:
            return misfit(exc)
        for name, value in (("threadId", given.thread_id), ("runId", given.run_id)):
            if not 0 < len(value) <= MAX_ID_CHARS:
                raise BadRequestError(f"{name} has 1 to {MAX_ID_CHARS} characters")
        await self._project.agents.get(request.path_params["agent"])  # an unknown one is 404, not an event
        try:
            chat = await self._begun(request.path_params["agent"], given)
        except AgenticError as exc:
            return self._project.streams.response(_failing(given, exc))
        reading = _Reading(
            thread_id=given.thread_id, run_id=given.run_id, chat=chat, place=_last_place(request)
        )
        return self._project.streams.response(self._frames(reading))

    async def again(self, request: Request) -> Response:
        """Read a run, from its beginning or after ``Last-Event-ID``."""
        reading = await self._known(request)
        return self._project.streams.response(self._frames(reading))

    async def cancel(self, request: Request) -> Response:
        """Stop a run."""
        chat = (await self._known(request)).chat
        is_cancelled = await chat.agent.cancel_background(chat.token, "stopped over AG-UI")
        return JsonAnswer({"cancelled": is_cancelled})

    async def _known(self, request: Request) -> _Reading:
        thread_id, run_id = request.path_params["thread"], request.path_params["run"]
        name = request.path_params["agent"]
        chat = await self._chats.known(name, thread_id, run_id, lambda one: one.answered_by == author(run_id))
        if chat is None:
            raise TaskNotFoundError(run_id, thread_id)
        return _Reading(thread_id=thread_id, run_id=run_id, chat=chat, place=_last_place(request))

    async def _begun(self, name: str, given: RunAgentInput) -> ChatRun:
        by = author(given.run_id)
        known = await self._chats.known(
            name, given.thread_id, given.run_id, lambda one: one.answered_by == by
        )
        if known is not None:
            return known
        talking = await self._project.agents.find(name)
        thread = await self._chats.thread(talking, given.thread_id, None)
        if thread.pending:
            if not given.resume:
                raise RunInputError("interrupt_open", "the thread waits; answer its interrupts in 'resume'")
            answers = answers_of(given.resume, thread.pending, given.run_id, time.time())
            return await self._chats.begin(name, answers, thread_id=thread.id, key=given.run_id)
        if given.resume:
            raise RunInputError("interrupt_unknown", "the thread waits for no answer")
        messages = new_messages(thread, given.messages)
        if not messages:
            raise RunInputError("nothing_new", "'messages' has no message that the thread does not have")
        return await self._chats.begin(name, messages, thread_id=thread.id, key=given.run_id)

    async def _frames(self, reading: _Reading) -> AsyncGenerator[Frame, None]:
        chat, place = reading.chat, reading.place
        token = chat.token
        if place is None:
            place = StreamPlace(sequence=token.sequence, cursor=token.cursor)
            started = RunStartedEvent(
                thread_id=reading.thread_id, run_id=reading.run_id, protocol_version=PROTOCOL_VERSION
            )
            yield _frame(started, place)
        try:
            async with aclosing(self._events(reading, place)) as events:
                async for frame in events:
                    yield frame
        except AgenticError as exc:
            yield _frame(_error_event(exc), None)

    async def _events(self, reading: _Reading, place: StreamPlace) -> AsyncGenerator[Frame, None]:
        chat = reading.chat
        thread = await self._thread(chat)
        turn, first = chat.token.turn, chat.token.sequence
        encoder = Encoder(turn, place, lambda before: snapshot_of(thread, turn, before))
        if (past := _past(thread, turn, first)) is not None and place.sequence > past.last:
            return  # the reader has all of it
        async with aclosing(
            self._chats.pieces(chat, chat.token.after(place.sequence, place.cursor))
        ) as pieces:
            async for piece in pieces:
                if piece.kind not in _LIVE:
                    await thread.refresh()
                past = _past(thread, turn, first)
                if past is not None and encoder.place.sequence >= past.last:
                    for frame in _end_of_past(reading, thread, encoder.place, past):
                        yield frame
                    return
                if piece.done and piece.response is not None:
                    for frame in _end(reading, thread, encoder.place, piece.response):
                        yield frame
                for placed in encoder.events(piece):
                    yield _frame(placed.event, placed.place)

    @staticmethod
    async def _thread(chat: ChatRun) -> AgentThread:
        store = chat.agent.store
        if store is None:
            raise TaskNotFoundError(chat.token.task_id, chat.token.thread_id)
        return await AgentThread.load(chat.token.thread_id, store)


def _past(thread: AgentThread, turn: str, first: int) -> Segment | None:
    """Return the part of a turn that a run made, if another run has continued the turn since."""
    segment = segment_at(thread, turn, first)
    return None if segment is None or segment.is_newest else segment


def _end(
    reading: _Reading, thread: AgentThread, place: StreamPlace, response: AgentResponse[object]
) -> list[Frame]:
    """Return the last events of a run."""
    segment = segment_at(thread, response.turn, reading.chat.token.sequence)
    usage = None if segment is None else usage_of(segment.usage)
    if response.pending:
        return _interrupted(reading, thread, place, [interrupt_of(one) for one in response.pending], usage)
    end = place.after_piece()
    if response.status is ResponseStatus.STOPPED and not response.reason.startswith(CANCELLED):
        return [_frame(RunErrorEvent(message=mask_known(response.reason), code="stopped", usage=usage), end)]
    is_cancelled = response.status is ResponseStatus.STOPPED
    finished = RunFinishedEvent(
        thread_id=reading.thread_id,
        run_id=reading.run_id,
        result=response.data,
        outcome=RunFinishedCancelledOutcome() if is_cancelled else RunFinishedSuccessOutcome(),
        usage=usage,
    )
    return [_frame(finished, end)]


def _end_of_past(reading: _Reading, thread: AgentThread, place: StreamPlace, segment: Segment) -> list[Frame]:
    """Return the last events of a run that was interrupted, and that another run has continued since."""
    interrupts = [interrupt_of(one) for one in segment.pending]
    return _interrupted(reading, thread, place, interrupts, usage_of(segment.usage))


def _interrupted(
    reading: _Reading,
    thread: AgentThread,
    place: StreamPlace,
    interrupts: list[Interrupt],
    usage: list[TokenUsage] | None,
) -> list[Frame]:
    frames = []
    if place.parts == 0:
        place = StreamPlace(sequence=place.sequence, parts=1, cursor=place.cursor)
        frames.append(_frame(snapshot_of(thread, reading.chat.token.turn, place.sequence), place))
    finished = RunFinishedEvent(
        thread_id=reading.thread_id,
        run_id=reading.run_id,
        outcome=RunFinishedInterruptOutcome(interrupts=interrupts),
        usage=usage,
    )
    return [*frames, _frame(finished, place.after_piece())]


async def _failing(given: RunAgentInput, error: AgenticError) -> AsyncGenerator[Frame, None]:
    """Yield the events of a run that could not begin."""
    started = RunStartedEvent(
        thread_id=given.thread_id, run_id=given.run_id, protocol_version=PROTOCOL_VERSION
    )
    yield _frame(started, None)
    yield _frame(_error_event(error), None)


def _error_event(error: AgenticError) -> RunErrorEvent:
    code = error.code if isinstance(error, RunInputError) else code_of(error)
    return RunErrorEvent(message=mask_known(text_of(error)), code=code)


def _frame(event: BaseEvent, place: StreamPlace | None) -> Frame:
    data = json_text(event.model_dump(by_alias=True, mode="json"))
    return Frame(data=data, id="" if place is None else place.encode())


def _last_place(request: Request) -> StreamPlace | None:
    given = request.headers.get("last-event-id")
    return StreamPlace.decode(given) if given else None


async def _refused(request: Request, exc: Exception) -> Response:
    if not isinstance(exc, HTTPException):
        raise exc
    return problem(exc.status_code, f"nothing is at {request.method} of this path; POST to /ag-ui/AGENT")


async def _failed(request: Request, exc: Exception) -> Response:
    del request
    if not isinstance(exc, AgenticError):
        raise exc
    return problem_of(exc)
