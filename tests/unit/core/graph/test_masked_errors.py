"""Secrets that a handler read and quotes: nothing that a run tells of its failures has one."""

from __future__ import annotations

import pytest

from agentic.core import (
    CustomEvent,
    ExecutorFailure,
    ItemResult,
    MemoryCheckpointStore,
    RetryPolicy,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
)
from agentic.core.masking import MASK, remember_secrets
from agentic.core.types import RunId

SECRET = "hush-7d-zebra"

pytestmark = pytest.mark.requirement("PL41")


@executor(id="work")
async def work(_word: str) -> str:
    """Read a secret, and say it in an error."""
    remember_secrets(SECRET)
    raise RuntimeError(f"401 for Bearer {SECRET}")


@executor(id="pass_on")
async def pass_on(message: ExecutorFailure | list[ItemResult]) -> object:
    """Return it."""
    return message


async def test_no_event_and_no_checkpoint_of_a_run_that_failed_has_one() -> None:
    store = MemoryCheckpointStore()
    flow = WorkflowBuilder("w", version="1", config=WorkflowConfig(retry=RetryPolicy(max_attempts=2)))
    with pytest.raises(RuntimeError) as caught:
        await flow.set_start(work).build().run("x", run_id="r", checkpoints=store)
    assert SECRET in str(caught.value)  # who runs it in his own process sees what was raised

    revisions = [kept.revision for kept in await store.list_metadata(run_id=RunId("r"))]
    said = repr([await store.load(RunId("r"), revision) for revision in revisions])
    assert MASK in said
    assert SECRET not in said


async def test_an_edge_for_failures_gives_on_none() -> None:
    flow = WorkflowBuilder("w").set_start(work).add_edge(work, pass_on, on="failure").build()
    result = await flow.run("x")
    assert result.output(ExecutorFailure).message == f"401 for Bearer {MASK}"
    assert SECRET not in told(result.events)
    assert "executor.failed" in told(result.events)


async def test_items_that_failed_tell_none() -> None:
    @executor(id="words")
    async def words(text: str) -> list[str]:
        return text.split()

    flow = WorkflowBuilder("w").set_start(words).add_map_edge(words, work, pass_on).build()
    result = await flow.run("one two")
    assert SECRET not in told(result.events)
    assert told(result.events).count(MASK) >= 2


async def test_what_a_handler_logs_and_tells_of_its_progress_has_none() -> None:
    result = await chatty().run("x")
    said = [event async for event in chatty().run_stream("x") if event.sequence is None]
    assert {str(event.kind) for event in said} >= {"executor.log", "executor.progress", "custom"}
    assert SECRET not in told(said)
    assert MASK in told(said)
    assert result.output(str) == SECRET  # a message is what its author sends


def chatty() -> Workflow:
    """Return a graph that says its secret wherever it can."""

    @executor(id="chat")
    async def chat(_word: str, ctx: WorkflowContext) -> str:
        remember_secrets(SECRET)
        ctx.log("info", f"sent {SECRET}", header=SECRET)
        ctx.report_progress(1, 2, f"with {SECRET}")
        await ctx.add_event(CustomEvent(type="sent", data={"with": [SECRET]}))
        return SECRET

    return WorkflowBuilder("w").set_start(chat).build()


def told(events: object) -> str:
    """Return all that events say."""
    assert isinstance(events, (list, tuple))
    return "".join(event.to_json().decode() for event in events)
