"""``ProxyAgent`` against our servers, and against a server that is made with the SDK alone."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import TaskNotFoundError
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from tests.integration.plugins.a2a.scene import TOKEN, Foreign, Reciter, foreign_server, listening, served
from tests.relays import at_port, relay_to

from agentic.core import WorkflowBuilder
from agentic.core.agents import (
    AgentExecutorResponse,
    AgentStoppedError,
    AgentThread,
    ChatAgent,
    ChunkKind,
    MemoryThreadStore,
    RequestAnswer,
    RequestKind,
    ResponseStatus,
    ThreadConflictError,
    tool,
)
from agentic.core.agents.threads.entries import ThreadEntry
from agentic.core.bus import MemoryBus
from agentic.core.graph import ApprovalResponse, MemoryCheckpointStore
from agentic.core.llm import FunctionModel, ModelRequest, ScriptedModel, ScriptLine, ToolCall
from agentic.core.types import RunId
from agentic.executors.serving import Guarded, GuardRules, Listening
from agentic.executors.serving.mounts import lifespan
from agentic.executors.serving.server import serving
from agentic.plugins.a2a import (
    AgentService,
    ProxyAgent,
    RemoteAddressError,
    RemoteAgentDeniedError,
    RemoteAgentError,
    RemoteAgentUnavailableError,
    RemoteTaskTimeoutError,
    agent_app,
    serve_agent,
)
from agentic.plugins.a2a.remote import turns

pytestmark = [pytest.mark.integration, pytest.mark.requirement("AG22")]


@tool(approval="always")
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def talker() -> ChatAgent[str]:
    """Return an agent that greets, and pays if it is asked to and may."""

    def reply(request: ModelRequest) -> ScriptLine:
        last = request.messages[-1]
        if last.tool_results:
            return f"Result: {last.tool_results[0].content}"
        if last.text.endswith("pay"):
            return ToolCall(id=f"c{len(request.messages)}", name="pay", arguments={"amount": 3})
        return f"You said {last.text!r}, after {len(request.messages) - 1} messages."

    return ChatAgent(FunctionModel(reply), name="talker", tools=[pay])


@asynccontextmanager
async def proxied(way: str) -> AsyncIterator[ProxyAgent]:
    """Serve the talker, and yield its proxy."""
    bus = MemoryBus()
    if way == "bus":
        async with serve_agent(talker(), bus):
            yield ProxyAgent("remote", "nats:talker", bus)
        return
    async with served(AgentService(talker(), bus)) as url:
        yield ProxyAgent("remote", url, token=TOKEN)


@pytest.mark.parametrize("way", ["http", "bus"])
async def test_a_proxy_talks_streams_and_asks_as_the_agent_itself_does(way: str) -> None:
    async with proxied(way) as proxy:
        thread = proxy.new_thread()
        pieces = [piece async for piece in proxy.run_stream("hello", thread)]
        assert (
            "".join(piece.text for piece in pieces if not piece.done) == "You said 'hello', after 0 messages."
        )
        assert (await proxy.run("again", thread)).text == "You said 'again', after 2 messages."
        asked = await proxy.run("pay", thread)
        assert asked.status is ResponseStatus.NEEDS_INPUT
        (request,) = asked.pending
        assert (request.kind, request.call and request.call.name) == (RequestKind.APPROVAL, "remote.pay")
        assert request.call
        assert request.call.arguments == {"amount": 3}
        restored = AgentThread.deserialize(thread.serialize())
        done = await proxy.run(RequestAnswer(request_id=request.id), restored)
        assert (done.text, done.usage.requests, done.usage.tool_calls) == ("Result: paid 3", 2, 1)
        refused = (await proxy.run("pay", restored)).pending[0]
        answer = RequestAnswer(request_id=refused.id, approved=False, reason="too much")
        assert "too much" in (await proxy.run(answer, restored)).text


async def test_in_a_graph_the_requests_of_a_remote_agent_are_those_of_the_run() -> None:
    async with proxied("bus") as proxy:
        flow, store = WorkflowBuilder("w").set_start(proxy).build(), MemoryCheckpointStore()
        first = await flow.run("pay", run_id=RunId("r"), checkpoints=store)
        (request,) = first.pending_requests
        assert getattr(request.data, "action", "") == "call remote.pay"
        responses = {request.id: ApprovalResponse(approved=True)}
        done = await flow.resume(RunId("r"), checkpoints=store, responses=responses)
        assert done.output(AgentExecutorResponse).text == "Result: paid 3"


class Verdict(BaseModel):
    is_good: bool
    count: int


async def test_structured_output_arrives_in_its_type_with_whole_numbers() -> None:
    model = ScriptedModel.repeating('{"is_good": true, "count": 7}', times=2)
    bus = MemoryBus()
    async with serve_agent(ChatAgent(model, name="judge", output_type=Verdict), bus):
        proxy = ProxyAgent("judge", "nats:judge", bus, output_type=Verdict)
        response = await proxy.run("Is it?")
        assert response.output == Verdict(is_good=True, count=7)
        assert response.data == {"is_good": True, "count": 7}
        other = ProxyAgent("judge", "nats:judge", bus, output_type=list[str])
        with pytest.raises(AgentStoppedError, match="is not the wanted output"):
            await other.run("Is it?")


async def test_a_remote_agent_is_a_tool_of_another_one() -> None:
    async with proxied("bus") as proxy:
        calls = [ToolCall(id="c", name="remote", arguments={"task": "hi"})]
        boss = ChatAgent(ScriptedModel([calls, "Done."]), name="boss", tools=[proxy.as_tool()])
        response = await boss.run("Ask it.")
        assert "You said 'hi'" in str(response.messages[1].tool_results[0].content)
        assert response.usage.requests == 3


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_proxy_talks_to_a_server_of_the_sdk(streaming: bool) -> None:
    executor = Foreign()
    async with foreign_server(executor, streaming=streaming) as url:
        proxy = ProxyAgent("painter", url)
        thread = proxy.new_thread()
        pieces = [piece async for piece in proxy.run_stream("a wall", thread)]
        assert pieces[-1].response
        assert pieces[-1].response.text == "Painted it for 'a wall'."
        assert (await proxy.run("plain", thread)).text == "just words"
        asked = await proxy.run("paint", thread)
        (request,) = asked.pending
        assert (request.kind, request.question) == (RequestKind.RESULT, "Which colour?")
        done = await proxy.run(RequestAnswer(request_id=request.id, result="blue"), thread)
        assert done.text == "Painted it for 'blue'."
        with pytest.raises(AgentStoppedError, match="'painter' failed the task: out of paint"):
            await proxy.run("break", thread)
        assert executor.executions == ["a wall", "plain", "paint", "blue", "break"]


class Forgetful(MemoryThreadStore):
    """Fails at one entry, once: as if the process had died before it was written."""

    def __init__(self, dies_at: int) -> None:
        super().__init__()
        self.dies_at = dies_at

    async def append(self, thread_id: str, number: int, entry: ThreadEntry) -> None:
        if number == self.dies_at:
            self.dies_at = 0
            raise ThreadConflictError(thread_id, number)
        await super().append(thread_id, number, entry)


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_a_message_whose_acceptance_was_not_noted_is_found_and_not_sent_twice(binding: str) -> None:
    """Entry 1 is the input, entry 2 the task's id. The task has ended meanwhile, and has no more events."""
    executor = Foreign()
    async with foreign_server(executor, binding=binding) as url:
        store = Forgetful(dies_at=2)
        proxy = ProxyAgent("painter", url, store=store)
        thread = proxy.new_thread()
        with pytest.raises(ThreadConflictError):
            await proxy.run("a wall", thread)
        later = await AgentThread.load(thread.id, store)
        assert (await proxy.run((), later)).text == "Painted it for 'a wall'."
        assert executor.executions == ["a wall"]


class Overtaken(DefaultRequestHandler):
    """Shows a task that has the next event already: the SDK takes it after its queue of events has begun."""

    async def on_subscribe_to_task(self, params: Any, context: Any) -> AsyncGenerator[Any, None]:
        events: Any = super().on_subscribe_to_task(params, context)
        await anext(events)
        self.agent_executor.go_on.set()  # type: ignore[attr-defined]  # of the test's agent
        words = [event async for event in events]
        shown = pb.Task()
        shown.CopyFrom(cast(Any, await self.task_store.get(params.id, context)))
        shown.status.state = pb.TaskState.TASK_STATE_WORKING
        del shown.artifacts[0].parts[2:]
        yield shown
        for event in words[1:]:  # the reader came after the first one
            yield event


class Forgetting(DefaultRequestHandler):
    """Shows no task but in its events."""

    async def on_subscribe_to_task(self, params: Any, context: Any) -> AsyncGenerator[Any, None]:
        async for event in super().on_subscribe_to_task(params, context):
            self.agent_executor.go_on.set()  # type: ignore[attr-defined]  # of the test's agent
            yield event

    async def on_get_task(self, params: Any, context: Any) -> pb.Task | None:
        raise TaskNotFoundError


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_words_that_a_server_shows_twice_are_in_the_answer_once(binding: str) -> None:
    executor = Foreign()
    executor.go_on.clear()
    async with foreign_server(executor, binding=binding, handling=Overtaken) as url:
        proxy = ProxyAgent("painter", url)
        pieces = [piece async for piece in proxy.run_stream("a wall", proxy.new_thread())]
    assert pieces[-1].response
    assert pieces[-1].response.text == "Painted it for 'a wall'."
    shown = ""
    for piece in pieces:
        shown = "" if piece.kind is ChunkKind.RESTARTED else shown + piece.text
    assert shown.startswith("Painted it for 'a wall'.")


async def test_the_answer_of_a_server_that_keeps_no_tasks_is_the_one_that_it_sent() -> None:
    executor = Foreign()
    executor.go_on.clear()
    async with foreign_server(executor, handling=Forgetting) as url:
        assert (await ProxyAgent("painter", url).run("a wall")).text == "Painted it for 'a wall'."


async def test_a_task_outlives_the_patience_of_its_caller_and_is_cancelled_by_it() -> None:
    executor = Foreign()
    executor.go_on.clear()
    async with foreign_server(executor) as url:
        proxy = ProxyAgent("painter", url, timeout_s=0.4)
        thread = proxy.new_thread()
        with pytest.raises(RemoteTaskTimeoutError):
            await proxy.run("a wall", thread)
        assert await proxy.cancel(thread)
        with pytest.raises(AgentStoppedError, match="canceled the task"):
            await proxy.run((), thread)
        assert not await proxy.cancel(thread)
        assert len(executor.cancelled) == 1


async def test_a_proxy_whose_stream_is_cut_again_and_again_shows_every_piece_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agent, dice = Reciter(40, ahead=1), random.Random(29)
    agent.may_end.set()
    monkeypatch.setattr(turns, "FIRST_PAUSE_S", 0.0)
    service, where = AgentService(agent, MemoryBus()), Listening(port=0)

    with where.bind() as bound:
        async with relay_to(bound.getsockname()[1]) as relay:
            url = at_port(where.url(bound), relay.port)
            app = Guarded(agent_app(service, url), GuardRules(token=TOKEN))
            async with lifespan(app, "test"), serving(app, bound, where):
                pieces = []
                async for piece in ProxyAgent("reciter", url, token=TOKEN).run_stream("Recite."):
                    pieces.append(piece)
                    agent.pace.release()
                    if relay.loses == "nothing":
                        relay.spares, relay.loses = dice.randint(0, 2), "answers"
    assert not [piece for piece in pieces if piece.kind == "restarted"]
    assert "".join(piece.text for piece in pieces if not piece.done) == "".join(agent.lines)
    assert relay.loss_count >= 5
    assert agent.started == 1


async def test_the_token_goes_to_no_other_host_than_that_of_the_address() -> None:
    heads: list[str] = []

    async def spy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.close()

    trap = await asyncio.start_server(spy, "127.0.0.1", 0)
    port = trap.sockets[0].getsockname()[1]
    card = {
        "name": "x",
        "supportedInterfaces": [
            {"url": f"http://127.0.0.1:{port}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
    }

    async def show(_: Any) -> JSONResponse:
        return JSONResponse(card)

    app = Starlette(routes=[Route("/.well-known/agent-card.json", show)])
    async with listening(lambda _: app) as url:
        proxy = ProxyAgent("liar", url, token="t0ken-of-ours")
        with pytest.raises(RemoteAgentError, match="use the address that the card names"):
            await proxy.run("hello")
    trap.close()
    assert heads == []
    assert "t0ken-of-ours" not in repr(proxy)


async def test_an_agent_that_is_away_or_refuses_is_told_with_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "FIRST_PAUSE_S", 0.0)
    with pytest.raises(RemoteAgentUnavailableError, match="remote agent 'gone'"):
        await ProxyAgent("gone", "http://127.0.0.1:1/").run("hello")
    with pytest.raises(RemoteAgentUnavailableError, match="no server of the agent listens"):
        await ProxyAgent("gone", "nats:gone", MemoryBus()).run("hello")
    async with served(AgentService(talker(), MemoryBus())) as url:
        with pytest.raises(RemoteAgentDeniedError, match="check the token"):
            await ProxyAgent("remote", url, token="wrong").run("hello")


@pytest.mark.parametrize(
    "address", ["", "nats:", "nats://host:4222", "ftp://x", "http://u:p@h/", "nats:a/b/c"]
)
def test_a_wrong_address_is_refused_at_once(address: str) -> None:
    with pytest.raises(RemoteAddressError):
        ProxyAgent("x", address)
