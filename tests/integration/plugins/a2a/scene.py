"""Agents behind A2A on loopback: ours, and one that is made with the SDK alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver
from a2a.helpers.proto_helpers import new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette

from agentic.core.agents import (
    Agent,
    AgentChunk,
    AgentInput,
    AgentResponse,
    AgentThread,
    ChunkKind,
    RunOptions,
)
from agentic.core.agents.responses import Emit
from agentic.core.agents.threads.entries import ThreadEntry
from agentic.core.llm.messages import ChatMessage
from agentic.executors.serving import Guarded, GuardRules, Listening
from agentic.executors.serving.mounts import lifespan
from agentic.executors.serving.server import serving
from agentic.plugins.a2a import AgentService, agent_app
from agentic.plugins.a2a.vocabulary import SEQUENCE

TOKEN = "a-token-of-the-test"


class Reciter(Agent[Any]):
    """Says lines one after the other; each is large enough to be an event.

    Args:
        lines: How many.
        ahead: How many lines it says before ``pace`` is released for each further one.
    """

    def __init__(self, lines: int, name: str = "reciter", ahead: int = 1_000) -> None:
        self.name = name
        self.lines = [f"{number:03}{'x' * 16_384}" for number in range(lines)]
        self.started = 0
        self.has_begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self.pace = asyncio.Semaphore(ahead)

    async def respond(
        self, given: AgentInput, thread: AgentThread, options: RunOptions, emit: Emit
    ) -> AgentResponse[Any]:
        self.started += 1
        self.has_begun.set()
        for line in self.lines:
            await self.pace.acquire()
            await emit(AgentChunk(kind=ChunkKind.TEXT, author_name=self.name, text=line))
            await asyncio.sleep(0)
        await self.may_end.wait()
        turn, text = options.idempotency_key or "", "".join(self.lines)
        await thread.append(ThreadEntry(turn=turn, messages=(ChatMessage.assistant(text),), ended="complete"))
        return AgentResponse(agent=self.name, thread_id=thread.id, turn=turn, text=text)


@asynccontextmanager
async def listening(app: Any) -> AsyncIterator[str]:
    """Serve an application, and yield its URL; the application gets the URL first."""
    where = Listening(port=0)
    with where.bind() as bound:
        url = where.url(bound)
        made = app(url)
        async with lifespan(made, "test"), serving(made, bound, where):
            yield url


@asynccontextmanager
async def served(service: AgentService) -> AsyncIterator[str]:
    """Serve an agent over HTTP behind the usual checks; yield its URL."""
    rules = GuardRules(token=TOKEN)
    async with listening(lambda url: Guarded(agent_app(service, url), rules)) as url:
        yield url


@asynccontextmanager
async def sdk_client(url: str, binding: str = "JSONRPC", **config: Any) -> AsyncIterator[Client]:
    """Yield the SDK's client of a server."""
    headers = {"authorization": f"Bearer {TOKEN}", "a2a-version": "1.0"}
    async with httpx.AsyncClient(headers=headers, trust_env=False) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        options = ClientConfig(httpx_client=http, supported_protocol_bindings=[binding], **config)
        yield ClientFactory(options).create(card)


def saying(text: str, **facts: str) -> pb.SendMessageRequest:
    """Return the request for a message."""
    message = new_text_message(text, role=pb.Role.ROLE_USER)
    for name, value in facts.items():
        setattr(message, name, value)
    return pb.SendMessageRequest(message=message)


def sequence_of(response: pb.StreamResponse) -> int:
    """Return the cursor of an event."""
    kind = response.WhichOneof("payload")
    return int(MessageToDict(getattr(response, str(kind)))["metadata"][SEQUENCE]["sequence"])


async def everything(client: Client, request: pb.SendMessageRequest) -> list[pb.StreamResponse]:
    """Return all events of a message."""
    return [event async for event in client.send_message(request)]


class Foreign(AgentExecutor):
    """An agent of the SDK alone: asks for a colour, streams a text, fails, or answers without a task."""

    def __init__(self) -> None:
        self.executions: list[str] = []
        self.cancelled: list[str] = []
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        self.executions.append(text)
        if text == "plain":
            await event_queue.enqueue_event(new_text_message("just words", role=pb.Role.ROLE_AGENT))
            return
        assert context.task_id
        assert context.context_id
        if context.current_task is None:
            assert context.message is not None
            await event_queue.enqueue_event(
                pb.Task(
                    id=context.task_id,
                    context_id=context.context_id,
                    status=pb.TaskStatus(state=pb.TaskState.TASK_STATE_SUBMITTED),
                    history=[context.message],
                )
            )
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.start_work()
        await self.go_on.wait()
        if text == "paint":
            await updater.requires_input(updater.new_agent_message([pb.Part(text="Which colour?")]))
        elif text == "break":
            await updater.failed(updater.new_agent_message([pb.Part(text="out of paint")]))
        else:
            for number, word in enumerate(("Painted ", "it ", f"for {text!r}.")):
                await updater.add_artifact([pb.Part(text=word)], artifact_id="a", append=number > 0)
            await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id
        assert context.context_id
        self.cancelled.append(context.task_id)
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


@asynccontextmanager
async def foreign_server(
    executor: AgentExecutor,
    *,
    streaming: bool = True,
    binding: str = "JSONRPC",
    handling: type[DefaultRequestHandler] = DefaultRequestHandler,
) -> AsyncIterator[str]:
    """Serve an agent with the SDK's own handler; yield its URL."""

    def app(url: str) -> Starlette:
        card = pb.AgentCard(
            name="painter",
            description="Paints.",
            version="1",
            supported_interfaces=[
                pb.AgentInterface(url=f"{url}/", protocol_binding=binding, protocol_version="1.0")
            ],
            capabilities=pb.AgentCapabilities(streaming=streaming),
            default_input_modes=["text/plain"],
            default_output_modes=["text/plain"],
            skills=[pb.AgentSkill(id="paint", name="paint", description="Paints.", tags=["paint"])],
        )
        handler = handling(executor, InMemoryTaskStore(), card)
        served = (
            create_rest_routes(handler) if binding == "HTTP+JSON" else create_jsonrpc_routes(handler, "/")
        )
        return Starlette(routes=[*create_agent_card_routes(card), *served])

    async with listening(app) as url:
        yield url
