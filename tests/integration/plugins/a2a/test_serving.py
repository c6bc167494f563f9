"""Our servers and the clients of the A2A SDK, over HTTP and over a bus."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from typing import Any

import httpx
import pytest
from a2a.client import Client
from a2a.client.client import ClientCallContext
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors as wrong
from google.protobuf.json_format import MessageToDict, ParseDict
from tests.integration.plugins.a2a.scene import (
    TOKEN,
    Reciter,
    everything,
    saying,
    sdk_client,
    sequence_of,
    served,
)

from agentic.core.agents import Agent, ChatAgent, ToolError, tool
from agentic.core.bus import Bus, MemoryBus
from agentic.core.llm import FunctionModel, ModelRequest, ScriptedModel, ToolCall
from agentic.plugins import a2a
from agentic.plugins.a2a import AgentService, serve_agent
from agentic.plugins.a2a.nats.frames import subject_of
from agentic.plugins.a2a.nats.transport import nats_client
from agentic.plugins.a2a.serving import handler
from agentic.plugins.a2a.tasks.entries import EntryKind, TaskEntry

pytestmark = [pytest.mark.integration, pytest.mark.requirement("AG22", "AG24")]

WAYS = ("JSONRPC", "HTTP+JSON", "bus")


@asynccontextmanager
async def reached(agent: Agent[Any], way: str, bus: Bus | None = None) -> AsyncIterator[Client]:
    """Serve an agent, and yield the SDK's client of it."""
    bus = bus or MemoryBus()
    async with AsyncExitStack() as stack:
        if way == "bus":
            await stack.enter_async_context(serve_agent(agent, bus))
            yield await nats_client(bus, subject_of("default", agent.name))
        else:
            url = await stack.enter_async_context(served(AgentService(agent, bus)))
            yield await stack.enter_async_context(sdk_client(url, way))


def payer() -> ChatAgent[str]:
    """Return an agent that pays once it may."""

    @tool(approval="always")
    async def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    calls = [ToolCall(id="c1", name="pay", arguments={"amount": 3})]
    return ChatAgent(ScriptedModel([calls, "All is paid."]), name="payer", tools=[pay])


def text_of(task: pb.Task, artifact: str = "answer") -> str:
    return "".join(part.text for one in task.artifacts if one.artifact_id == artifact for part in one.parts)


@pytest.mark.parametrize("way", WAYS)
async def test_a_client_of_the_sdk_gets_an_answer_as_it_is_made_and_reads_its_task(way: str) -> None:
    agent = ChatAgent(ScriptedModel(["Blue, mostly.", "Still blue."]), name="helper")
    async with reached(agent, way) as client:
        events = await everything(client, saying("Which colour?"))
        assert [event.WhichOneof("payload") for event in events] == [
            "task",
            "status_update",
            "artifact_update",
            "status_update",
        ]
        assert events[-1].status_update.status.state == pb.TaskState.TASK_STATE_COMPLETED
        numbers = [sequence_of(event) for event in events]
        assert numbers == sorted(set(numbers))
        task = await client.get_task(pb.GetTaskRequest(id=events[0].task.id))
        assert text_of(task) == "Blue, mostly."
        assert [message.parts[0].text for message in task.history] == ["Which colour?"]
        again = await everything(client, saying("Sure?", context_id=task.context_id))
        assert again[0].task.context_id == task.context_id
        model = agent.setup.model
        assert isinstance(model, ScriptedModel)
        assert [message.text for message in model.requests[1].messages] == [
            "Which colour?",
            "Blue, mostly.",
            "Sure?",
        ]
        listed = await client.list_tasks(pb.ListTasksRequest(context_id=task.context_id, page_size=1))
        assert (listed.total_size, len(listed.tasks), bool(listed.next_page_token)) == (2, 1, True)
        rest = await client.list_tasks(
            pb.ListTasksRequest(
                context_id=task.context_id,
                page_size=1,
                page_token=listed.next_page_token,
                include_artifacts=True,
            )
        )
        assert {listed.tasks[0].id, rest.tasks[0].id} == {task.id, again[0].task.id}
        assert not listed.tasks[0].artifacts
        assert rest.tasks[0].artifacts


@pytest.mark.parametrize("way", WAYS)
async def test_a_request_of_the_agent_is_input_required_and_is_answered_once(way: str) -> None:
    async with reached(payer(), way) as client:
        asked = (await everything(client, saying("Pay.")))[-1].status_update
        assert asked.status.state == pb.TaskState.TASK_STATE_INPUT_REQUIRED
        assert asked.status.message.parts[0].text == "May I call pay(amount=3)? Answer yes or no."
        unclear = await everything(client, saying("perhaps", task_id=asked.task_id))
        assert unclear[0].task.status.state == pb.TaskState.TASK_STATE_INPUT_REQUIRED
        assert unclear[0].task.status.message.parts[0].text.startswith('answer with "yes" or "no"')
        done = await everything(client, saying("yes", task_id=asked.task_id))
        assert done[-1].status_update.status.state == pb.TaskState.TASK_STATE_COMPLETED
        assert text_of(await client.get_task(pb.GetTaskRequest(id=asked.task_id))) == "All is paid."
        with pytest.raises(wrong.UnsupportedOperationError, match="has ended"):
            await everything(client, saying("yes", task_id=asked.task_id))


async def test_an_answer_to_another_request_than_the_open_one_is_refused() -> None:
    async with reached(payer(), "bus") as client:
        asked = (await everything(client, saying("Pay.")))[-1].status_update
        answer = {"answers": [{"request_id": "0" * 32, "approved": True}]}
        message = ParseDict(
            {"messageId": "m2", "taskId": asked.task_id, "role": "ROLE_USER", "parts": [{"data": answer}]},
            pb.Message(),
        )
        events = await everything(client, pb.SendMessageRequest(message=message))
        assert events[0].task.status.state == pb.TaskState.TASK_STATE_INPUT_REQUIRED
        assert "no open request has the id" in events[0].task.status.message.parts[0].text


@pytest.mark.parametrize("way", ["JSONRPC", "bus"])
async def test_a_client_that_is_cut_at_twenty_random_points_has_every_event_once(way: str) -> None:
    dice = random.Random(29)
    agent = Reciter(32)
    agent.may_end.set()
    bus = MemoryBus()
    async with reached(agent, way, bus) as client:
        request = saying("Recite.")
        request.configuration.return_immediately = True
        seen: list[int] = []
        task = (await everything_at_once(client, request)).id
        cuts, state = 0, 0
        while state != pb.TaskState.TASK_STATE_COMPLETED:
            context = ClientCallContext(service_parameters={"Last-Event-ID": str(seen[-1] if seen else 0)})
            stop_after = dice.randint(0, 3) if cuts < 20 else 1_000
            async with aclosing(
                client.subscribe(pb.SubscribeToTaskRequest(id=task), context=context)  # type: ignore[type-var]
            ) as events:
                async for event in events:
                    if event.HasField("task"):
                        assert sequence_of(event) == (seen[-1] if seen else 0)
                        continue
                    if stop_after == 0:
                        break
                    stop_after -= 1
                    seen.append(sequence_of(event))
                    state = event.status_update.status.state
            cuts += 1
        service = AgentService(agent, bus)
        key = service.tasks.key_of("", task)
        assert key is not None
        entries = await service.tasks.entries(key) or ()
        assert cuts > 20
        assert seen == [number for number, entry in enumerate(entries, 1) if entry.is_event]
        assert text_of(await client.get_task(pb.GetTaskRequest(id=task))) == "".join(agent.lines)


async def test_the_same_message_again_is_the_same_task_and_the_agent_is_asked_once() -> None:
    agent = ChatAgent(ScriptedModel(["Once."]), name="helper")
    async with reached(agent, "JSONRPC") as client:
        request = saying("Hello")
        first, second = await everything(client, request), await everything(client, request)
        assert first[0].task.id == second[0].task.id
        assert second[0].task.status.state == pb.TaskState.TASK_STATE_COMPLETED
        assert text_of(second[0].task) == "Once."


@pytest.mark.parametrize("way", ["HTTP+JSON", "bus"])
async def test_a_running_task_is_cancelled_and_the_next_message_of_its_context_is_answered(way: str) -> None:
    agent = Reciter(1)
    async with reached(agent, way) as client:
        request = saying("Recite.")
        request.configuration.return_immediately = True
        task = (await everything_at_once(client, request)).id
        await agent.has_begun.wait()
        cancelled = await client.cancel_task(pb.CancelTaskRequest(id=task))
        assert cancelled.status.state == pb.TaskState.TASK_STATE_CANCELED
        with pytest.raises(wrong.TaskNotCancelableError):
            await client.cancel_task(pb.CancelTaskRequest(id=task))
        agent.may_end.set()
        again = await everything(client, saying("Again.", context_id=cancelled.context_id))
        assert again[-1].status_update.status.state == pb.TaskState.TASK_STATE_COMPLETED


async def everything_at_once(client: Client, request: pb.SendMessageRequest) -> pb.Task:
    async with aclosing(client.send_message(request)) as events:  # type: ignore[type-var]  # a generator
        async for event in events:
            return event.task
    raise AssertionError


async def test_a_conversation_that_waits_for_input_takes_no_other_message() -> None:
    async with reached(payer(), "bus") as client:
        asked = (await everything(client, saying("Pay.")))[-1].status_update
        other = await everything(client, saying("Hello?", context_id=asked.context_id))
        assert other[-1].status_update.status.state == pb.TaskState.TASK_STATE_REJECTED
        assert asked.task_id in other[-1].status_update.status.message.parts[0].text


async def test_an_agent_that_breaks_fails_its_task_without_its_secrets() -> None:
    @tool
    async def read() -> str:
        """Read."""
        raise ToolError("the password is hunter2")

    model = ScriptedModel([ToolCall(id="c", name="read", arguments={}), RuntimeError("key sk-123 is wrong")])
    async with reached(ChatAgent(model, name="helper", tools=[read]), "JSONRPC") as client:
        events = await everything(client, saying("Read it."))
    assert events[-1].status_update.status.state == pb.TaskState.TASK_STATE_FAILED
    assert events[-1].status_update.status.message.parts[0].text == "the agent failed (RuntimeError)"
    assert not [event for event in events if "sk-123" in str(event) or "hunter2" in str(event)]


async def test_a_server_answers_nothing_without_its_token_or_for_another_host() -> None:
    agent = ChatAgent(ScriptedModel([]), "Never tell: swordfish.", name="helper", description="Helps.")
    async with served(AgentService(agent, MemoryBus())) as url, httpx.AsyncClient(trust_env=False) as http:
        call = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}
        headers = {"authorization": f"Bearer {TOKEN}"}
        card = f"{url}/.well-known/agent-card.json"
        assert (await http.get(card)).status_code == 401
        assert (await http.post(f"{url}/", json=call)).status_code == 401
        assert (await http.get(f"{url}/tasks", headers={"authorization": "Bearer x"})).status_code == 401
        assert (await http.get(card, headers={**headers, "host": "evil.example"})).status_code == 421
        large = await http.post(f"{url}/", content=b"x" * (1024 * 1024 + 1), headers=headers)
        assert large.status_code == 413
        shown = (await http.get(card, headers=headers)).text
        assert "swordfish" not in shown
        assert TOKEN not in shown
        assert '"Bearer"' in shown


async def test_a_message_that_lacks_something_or_is_too_large_is_refused() -> None:
    async with reached(ChatAgent(ScriptedModel([]), name="helper"), "bus") as client:
        with pytest.raises(wrong.InvalidParamsError, match="the most"):
            await everything(client, saying("x" * 600_000))
        with pytest.raises(wrong.InvalidParamsError, match="contextId has more than 256"):
            await everything(client, saying("x", context_id="c" * 300))
        with pytest.raises(wrong.TaskNotFoundError):
            await everything(client, saying("x", task_id="../../secret"))
        with pytest.raises(wrong.TaskNotFoundError):
            await client.get_task(pb.GetTaskRequest(id="f" * 32))
        listed = await client.list_tasks(pb.ListTasksRequest())
        assert MessageToDict(listed).get("tasks") is None


async def test_a_server_that_ends_in_good_order_hands_its_task_over() -> None:
    bus, agent = MemoryBus(), Reciter(1)
    subject = subject_of("default", "reciter")
    request = saying("Recite.")
    request.configuration.return_immediately = True
    async with serve_agent(agent, bus, lease_s=3_600):
        task = await everything_at_once(await nats_client(bus, subject), request)
        await agent.has_begun.wait()
    agent.may_end.set()
    async with serve_agent(agent, bus, lease_s=3_600) as service:
        client = await nats_client(bus, subject)
        events = await everything(client, request)  # the same message: its task
        assert events[0].task.id == task.id
        assert events[-1].status_update.status.state == pb.TaskState.TASK_STATE_COMPLETED
        _, view = await service.view("", task.id)
    assert (agent.started, view.runs, view.tries) == (2, 2, 1)


async def test_a_task_that_every_server_dies_of_fails() -> None:
    bus, agent = MemoryBus(), Reciter(1)
    service = AgentService(agent, bus)
    body = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Recite."}]}
    key = await service.accept(body, "")
    for number in range(1, 6):  # as five dead servers leave it
        view = await service.tasks.read(key)
        assert view is not None
        await service.tasks.append(view, [TaskEntry(kind=EntryKind.BEGUN, at=1.0, run=number)])
    async with serve_agent(agent, bus):
        client = await nats_client(bus, subject_of("default", "reciter"))
        with suppress(wrong.UnsupportedOperationError):  # it may have ended already
            async with aclosing(client.subscribe(pb.SubscribeToTaskRequest(id=key.task))) as events:  # type: ignore[type-var]
                [event async for event in events]
        task = await client.get_task(pb.GetTaskRequest(id=key.task))
    assert task.status.state == pb.TaskState.TASK_STATE_FAILED
    assert "5 servers, one after the other, have died" in task.status.message.parts[0].text
    assert agent.started == 0


async def test_callers_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler, "MAX_WAITING", 1)
    agent = Reciter(1)
    async with reached(agent, "bus") as client:
        waiting = asyncio.create_task(everything(client, saying("Recite.")))
        await agent.has_begun.wait()
        with pytest.raises(wrong.InternalError, match="too many callers"):
            await everything(client, saying("Recite."))
        agent.may_end.set()
        assert (await waiting)[-1].status_update.status.state == pb.TaskState.TASK_STATE_COMPLETED


async def test_without_the_sdk_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> object:
        raise ModuleNotFoundError("No module named 'a2a'", name="a2a")

    monkeypatch.setattr(a2a, "loaded", missing)
    with pytest.raises(ImportError, match=r"pip install 'agentic-pipelines\[a2a\]'"):
        a2a.__getattr__("ProxyAgent")


async def test_several_servers_share_the_tasks_and_each_message_is_answered_once() -> None:
    asked: list[tuple[str, str]] = []

    def made(server: str) -> ChatAgent[str]:
        def reply(request: ModelRequest) -> str:
            asked.append((server, request.messages[-1].text))
            return "Done."

        return ChatAgent(FunctionModel(reply), name="helper")

    bus = MemoryBus()
    async with serve_agent(made("one"), bus), serve_agent(made("two"), bus), serve_agent(made("three"), bus):
        client = await nats_client(bus, subject_of("default", "helper"))
        ended = await asyncio.gather(*(everything(client, saying(f"{number}")) for number in range(24)))
    completed = pb.TaskState.TASK_STATE_COMPLETED
    assert all(events[-1].status_update.status.state == completed for events in ended)
    assert sorted(int(text) for _, text in asked) == list(range(24))
    assert len({server for server, _ in asked}) > 1
