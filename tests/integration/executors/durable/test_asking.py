"""What runs ask, asked on the bus, and answered by whoever listens."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.commands import start_program

from agentic.core.bus import AnswerRefusedError, NobodyListensError, OpenQuestion, open_questions
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.graph import EventKind, RunStatus
from agentic.core.ledger.batches import read_batch
from agentic.core.types import RunId

if TYPE_CHECKING:
    from tests.conftest import Eventually
    from tests.integration.executors.durable.conftest import Office, Start

pytestmark = [pytest.mark.integration, pytest.mark.requirement("NA07", "CX11", "CX20")]

RESPONDER = """
    import asyncio, sys
    from agentic.core.bus import open_bus, open_questions
    from agentic.core.settings import load_settings

    async def main():
        async with open_bus(load_settings()) as bus:
            async with open_questions(bus, project="default") as questions:
                async for asked in questions:
                    await asked.answer(sys.argv[1], by="robot")
                    return

    asyncio.run(main())
"""


def begin(office: Office, run_id: str) -> None:
    """Begin a run, and work until it waits for an answer."""
    office.floor.submit("asking", "hello", run_id)
    office.floor.work()


def authors(office: Office, run_id: str) -> list[object]:
    """Return who answered, in order."""
    with office.floor.store.transaction() as ledger:
        events = [event for batch in ledger.events(RunId(run_id)) for event in read_batch(batch)]
    return [event.data["answered_by"] for event in events if event.kind is EventKind.REQUEST_ANSWERED]


@asynccontextmanager
async def questions(bus: NatsBus) -> AsyncIterator[asyncio.Queue[OpenQuestion]]:
    """Give what is asked, as it comes."""
    heard: asyncio.Queue[OpenQuestion] = asyncio.Queue()

    async def listen() -> None:
        async with open_questions(bus, project="default") as found:
            async for asked in found:
                heard.put_nowait(asked)

    listening = asyncio.create_task(listen())
    await bus.state()
    yield heard
    listening.cancel()


async def asked(heard: asyncio.Queue[OpenQuestion]) -> OpenQuestion:
    async with asyncio.timeout(20):
        return await heard.get()


async def test_one_answer_counts_and_it_must_be_of_the_type_that_is_asked_for(
    office: Office, bus: NatsBus, start: Start, eventually: Eventually
) -> None:
    await asyncio.to_thread(begin, office, "one")
    start()
    async with questions(bus) as heard:
        question = await asked(heard)
        assert question.question.subject == (
            "agentic.request.default/one.one=3Atalk=2E0=2E0=2Fask=2E0=2E0=2E1"
        )
        assert question.question.question == {"who": "hello"}
        with pytest.raises(AnswerRefusedError, match=r"is not a valid str"):
            await question.answer([5], by="robot")
        await question.answer("ada", by="robot")
        with pytest.raises((AnswerRefusedError, NobodyListensError)):
            await question.answer("eve", by="late")
    await asyncio.to_thread(office.floor.work)
    await eventually(lambda: office.row("one").status is RunStatus.COMPLETED)
    assert authors(office, "one") == ["robot"]


async def test_a_responder_that_starts_later_and_one_on_the_command_line_answer_the_same_requests(
    office: Office, bus: NatsBus, start: Start, eventually: Eventually, tmp_path: Path
) -> None:
    for run_id in ("one", "two"):
        await asyncio.to_thread(begin, office, run_id)
    start()
    await asyncio.to_thread(office.run, "requests", "answer", "two", "talk.0.0/ask.0.0.1", '"ada"')
    responder = start_program(RESPONDER, ["bob"], os.environ, tmp_path)
    assert await asyncio.to_thread(responder.wait, 30) == 0
    await eventually(lambda: office.json("requests", "list") == [])


async def test_after_its_deadline_a_question_is_asked_no_more_and_the_run_goes_on(
    office: Office, bus: NatsBus, start: Start, eventually: Eventually
) -> None:
    await asyncio.to_thread(office.floor.submit, "impatient", "hello", "one")
    await asyncio.to_thread(office.floor.work)
    assert office.row("one").status is RunStatus.WAITING_INPUT
    start()
    await eventually(lambda: office.row("one").status is RunStatus.RUNNING)
    await asyncio.to_thread(office.floor.work)

    assert office.row("one").status is RunStatus.COMPLETED
    assert office.json("requests", "list") == []
    with office.floor.store.transaction() as ledger:
        events = [event for batch in ledger.events(RunId("one")) for event in read_batch(batch)]
    assert [event.data["value"] for event in events if event.kind is EventKind.OUTPUT] == ["nothing"]
    assert EventKind.REQUEST_EXPIRED in [event.kind for event in events]


async def test_of_several_reconcilers_one_asks_and_another_goes_on_when_it_is_killed(
    office: Office, bus: NatsBus, start: Start
) -> None:
    processes = [start(), start(), start()]
    async with questions(bus) as heard:
        await asyncio.to_thread(begin, office, "one")
        await asked(heard)
        await asyncio.sleep(4)
        assert heard.empty()
        for process in processes[:2]:
            process.kill()
            process.wait()
        await asyncio.to_thread(begin, office, "two")
        found = {(await asked(heard)).question.run}
        while "two" not in found:
            found.add((await asked(heard)).question.run)
