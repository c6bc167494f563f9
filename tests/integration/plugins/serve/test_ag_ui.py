"""Agents over AG-UI: runs outlive their readers, and interrupts are answered as the protocol says."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import (
    PROTOCOL_VERSION,
    Event,
    ResumeEntry,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    TextMessageContentEvent,
    ToolCallResultEvent,
    UserMessage,
)
from pydantic import TypeAdapter
from tests.integration.plugins.serve.conftest import AddAgent
from tests.serving import ServedHere, served

pytestmark = [pytest.mark.integration, pytest.mark.requirement("AG24")]

EVENTS: TypeAdapter[Any] = TypeAdapter(Event)
Body = dict[str, Any]
REFUND = "- Let me see.\n- call: {refund: {number: 7}}\n- Your money is on its way.\n"


def asked(
    run_id: str, *messages: str, thread: str = "t", resume: list[ResumeEntry] | None = None
) -> dict[str, Any]:
    """Return an input as the official types write it."""
    given: list[Any] = [UserMessage(id=f"m{number}", content=text) for number, text in enumerate(messages)]
    made = RunAgentInput(
        thread_id=thread, run_id=run_id, messages=given, resume=resume, protocol_version=PROTOCOL_VERSION
    )
    return made.model_dump(by_alias=True, mode="json")


async def frames(
    server: ServedHere, path: str, body: Body | None = None, last: str = ""
) -> AsyncIterator[tuple[str, Any]]:
    """Yield the id and the event of each frame, parsed with the official types."""
    headers = {"accept": "text/event-stream", **({"last-event-id": last} if last else {})}
    method = "GET" if body is None else "POST"
    async with server.http.stream(method, f"/ag-ui/{path}", json=body, headers=headers) as answer:
        assert answer.status_code == 200, await answer.aread()
        name = ""
        async for line in answer.aiter_lines():
            if line.startswith("id: "):
                name = line.removeprefix("id: ")
            if line.startswith("data: "):
                yield name, EVENTS.validate_json(line.removeprefix("data: "))
                name = ""


async def events(server: ServedHere, path: str, body: Body | None = None, last: str = "") -> list[Any]:
    return [event async for _, event in frames(server, path, body, last)]


def kinds(found: list[Any]) -> list[str]:
    return [event.type.value for event in found]


def text_of(found: list[Any]) -> str:
    return "".join(event.delta for event in found if isinstance(event, TextMessageContentEvent))


async def test_a_run_has_the_events_of_the_protocol(server: ServedHere, add: AddAgent) -> None:
    add("helper", "- call: {find_order: {number: 7}}\n- It is a lamp.\n", tools=["./tools.py:find_order"])
    found = await events(server, "helper", asked("r1", "What is order 7?"))
    contents = ["TEXT_MESSAGE_CONTENT"] * (len(found) - 8)
    assert kinds(found) == [
        "RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT",
        "TEXT_MESSAGE_START", *contents, "TEXT_MESSAGE_END", "RUN_FINISHED",
    ]  # fmt: skip
    assert found[0].protocol_version == PROTOCOL_VERSION
    assert text_of(found) == "It is a lamp."
    assert found[-1].outcome.type == "success"
    assert found[-1].usage is not None
    again = await events(server, "helper", asked("r1", "What is order 7?"))
    assert text_of(again) == "It is a lamp."
    assert kinds(again)[:5] == kinds(found)[:5]


async def test_the_second_run_of_a_thread_takes_only_the_new_messages(
    server: ServedHere, add: AddAgent
) -> None:
    add("helper", "- Hello.\n- You said hi.\n")
    await events(server, "helper", asked("r1", "Hi"))
    assert text_of(await events(server, "helper", asked("r2", "Hi", "What did I say?"))) == "You said hi."
    thread = (await server.http.get(f"{server.api}/threads/t")).json()
    assert [one["role"] for one in thread["messages"]] == ["user", "assistant", "user", "assistant"]
    (refused,) = [
        one for one in await events(server, "helper", asked("r3", "Hi")) if isinstance(one, RunErrorEvent)
    ]
    assert refused.code == "nothing_new"


async def test_interrupts_are_all_answered_in_one_resume(
    server: ServedHere, add: AddAgent, home: Path
) -> None:
    add("helper", REFUND.replace("- Let me see.\n", ""), tools=["./tools.py:refund"])
    first = await events(server, "helper", asked("r1", "Pay me back."))
    assert kinds(first)[-2:] == ["MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    (interrupt,) = first[-1].outcome.interrupts
    assert interrupt.reason == "tool_call"
    assert interrupt.tool_call_id in [call.id for call in first[-2].messages[-1].tool_calls]

    async def code(run_id: str, **given: Any) -> str:
        found = (await events(server, "helper", asked(run_id, "Pay me back.", **given)))[-1]
        assert isinstance(found, RunErrorEvent)
        return str(found.code)

    def entry(name: str = interrupt.id, payload: Any = None, status: Any = "resolved") -> ResumeEntry:
        return ResumeEntry(interrupt_id=name, status=status, payload=payload)

    assert await code("e1") == "interrupt_open"
    assert await code("e2", resume=[entry("other", True)]) == "interrupt_unknown"
    assert await code("e3", resume=[entry(payload=True), entry(payload=True)]) == "interrupt_twice"
    assert await code("e4", resume=[entry(payload="maybe")]) == "payload_misfit"
    assert await code("e5", resume=[entry(payload={"approved": True, "editedArgs": {}})]) == "payload_misfit"
    assert not (home.parent / "done.txt").exists()
    resume = [entry(payload={"approved": True})]
    second = await events(server, "helper", asked("r2", "Pay me back.", resume=resume))
    assert [one.content for one in second if isinstance(one, ToolCallResultEvent)] == ["paid back order 7"]
    assert "TOOL_CALL_START" not in kinds(second)
    assert text_of(second) == "Your money is on its way."
    assert kinds(await events(server, "helper", asked("r2", "Pay me back.", resume=resume))) == kinds(second)
    assert kinds(await events(server, "helper", asked("r1", "Pay me back.")))[-2:] == kinds(first)[-2:]
    assert (home.parent / "done.txt").read_text() == "refund 7\n"


async def test_a_cancelled_interrupt_is_a_call_that_did_not_run(
    server: ServedHere, add: AddAgent, home: Path
) -> None:
    add("helper", "- call: {refund: {number: 7}}\n- As you wish.\n", tools=["./tools.py:refund"])
    first = await events(server, "helper", asked("r1", "Pay me back."))
    (interrupt,) = first[-1].outcome.interrupts
    resume = [ResumeEntry(interrupt_id=interrupt.id, status="cancelled")]
    second = await events(server, "helper", asked("r2", "Pay me back.", resume=resume))
    assert text_of(second) == "As you wish."
    assert not (home.parent / "done.txt").exists()


@pytest.mark.parametrize("seed", range(2))
async def test_a_client_cut_at_random_points_has_every_event_once(
    server: ServedHere, add: AddAgent, seed: int
) -> None:
    """Ten cuts a seed; ids are sent back as ``Last-Event-ID``, by POST or by GET."""
    text = " ".join(f"word{number}" for number in range(60))
    script = f"- call: {{find_order: {{number: 1}}}}\n- call: {{find_order: {{number: 2}}}}\n- {text}\n"
    add("helper", script, tools=["./tools.py:find_order"])
    cuts, body, last = random.Random(seed), asked("r1", "Tell me all."), ""  # points, no secrets
    found: list[Any] = []
    for _ in range(10):
        count = cuts.randint(1, 9)
        again = cuts.random() < 0.5 and last
        source = frames(
            server, "helper/threads/t/runs/r1" if again else "helper", None if again else body, last
        )
        async with aclosing(source) as stream:  # type: ignore[type-var]  # a generator
            async for name, event in stream:
                found.append(event)
                last = name or last
                count -= 1
                if not count:
                    break
    found += await events(server, "helper", body, last)
    whole = await events(server, "helper", body)
    assert text_of(found) == text == text_of(whole)
    assert [kind for kind in kinds(found) if kind != "TEXT_MESSAGE_CONTENT"] == [
        kind for kind in kinds(whole) if kind != "TEXT_MESSAGE_CONTENT"
    ]
    assert isinstance(found[-1], RunFinishedEvent)
    assert await events(server, "helper", body, last="") == whole


async def test_a_run_outlives_the_server_and_its_client_resumes(home: Path, add: AddAgent) -> None:
    add("helper", "- call: {find_order: {number: 7}}\n- It is a lamp.\n", tools=["./tools.py:find_order"])
    body, last, found = asked("r1", "What is order 7?"), "", []
    async with served(home) as server:
        async for name, event in frames(server, "helper", body):
            found.append(event)
            last = name or last
            if len(found) == 2:
                break
    async with served(home) as server:
        found += await events(server, "helper", body, last)
        whole = await events(server, "helper", body)
    assert text_of(found) == "It is a lamp."
    assert [k for k in kinds(found) if "CONTENT" not in k] == [k for k in kinds(whole) if "CONTENT" not in k]
    assert (home.parent / "done.txt").read_text() == "find 7\n"


async def test_a_foreign_place_is_refused(server: ServedHere, add: AddAgent) -> None:
    add("helper", "- Hello.\n")
    answer = await server.http.post("/ag-ui/helper", json=asked("r1", "Hi"), headers={"last-event-id": "x.y"})
    assert answer.status_code == 422
    assert (await server.http.post("/ag-ui/nobody", json=asked("r1", "Hi"))).status_code == 404
    assert (await server.http.get("/ag-ui/helper/threads/t/runs/other")).status_code == 404
    found = (await server.http.get("/ag-ui/helper/capabilities")).json()
    assert found["transport"]["resumable"]
    assert (await server.http.get("/ag-ui/")).json()["agents"] == ["helper"]


SLOW = """
import asyncio


async def wait() -> str:
    '''Wait.'''
    await asyncio.sleep(60)
    return "never"
"""


async def test_a_limit_is_an_error_and_a_stopped_run_is_cancelled(
    server: ServedHere, add: AddAgent, home: Path
) -> None:
    endless = "- call: {find_order: {number: 7}}\n" * 3
    add("limited", endless, tools=["./tools.py:find_order"], limits={"max_model_calls": 1})
    found = await events(server, "limited", asked("r1", "Go on for ever."))
    assert (found[-1].type.value, found[-1].code) == ("RUN_ERROR", "stopped")
    assert kinds(await events(server, "limited", asked("r1", "Go on for ever."))) == kinds(found)
    (home.parent / "slow.py").write_text(SLOW)
    add("slow", "- call: {wait: {}}\n", tools=["./slow.py:wait"])
    misfit = await events(server, "slow", asked("r2", "Hi"))
    assert (misfit[-1].type.value, misfit[-1].code) == ("RUN_ERROR", "thread_misfit")
    source = frames(server, "slow", asked("r3", "Hi", thread="s"))
    async with aclosing(source) as stream:  # type: ignore[type-var]  # a generator
        async for _, event in stream:
            if event.type.value == "TOOL_CALL_END":
                break
    assert (await server.http.delete("/ag-ui/slow/threads/t/runs/r3")).status_code == 404
    assert (await server.http.delete("/ag-ui/slow/threads/s/runs/r3")).json() == {"cancelled": True}
    rest = await events(server, "slow/threads/s/runs/r3")
    assert rest[-1].outcome.type == "cancelled"


@pytest.mark.parametrize("name", ["run-7", "a\u0000b", "a\nb"])
async def test_a_thread_that_takes_no_messages_is_refused_and_not_made(
    server: ServedHere, add: AddAgent, name: str
) -> None:
    add("helper", "- Hello.\n")
    (*_, last) = await events(server, "helper", asked("r1", "Hi", thread=name))
    assert isinstance(last, RunErrorEvent)
    assert (await server.http.get(f"{server.api}/threads")).json()["items"] == []
