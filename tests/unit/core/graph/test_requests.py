"""Human in the loop: asking, resting, answering, expiring."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta

import pytest
from pydantic import BaseModel

from agentic.core import (
    EventKind,
    Executor,
    MemoryCheckpointStore,
    RunResult,
    RunStatus,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
    handler,
)
from agentic.core.graph import (
    AnswerError,
    NotStoredError,
    RequestExpiredError,
    RunEndedError,
    UnknownRequestError,
)


@dataclass(frozen=True)
class Deploy:
    """What is asked."""

    service: str


class Approval(BaseModel):
    """What is answered."""

    approved: bool
    reason: str = ""


class Gate(Executor):
    """Asks before it lets anything pass."""

    @handler
    async def ask(self, service: str, ctx: WorkflowContext) -> str:
        approval = await ctx.request_info(Deploy(service), Approval)
        return f"{service}: {'yes' if approval.approved else approval.reason}"


@executor(id="side")
async def side(service: str) -> str:
    return f"side {service}"


def gated() -> Workflow:
    return WorkflowBuilder("gated", version="1").set_start(Gate("gate"), side).build()


@pytest.fixture
def store() -> MemoryCheckpointStore:
    return MemoryCheckpointStore()


async def waiting(flow: Workflow, store: MemoryCheckpointStore, message: object = "web") -> RunResult:
    result = await flow.run(message, run_id="r", checkpoints=store)
    assert result.status is RunStatus.WAITING_INPUT
    return result


@pytest.mark.requirement("CX11", "CX18")
async def test_run_rests_while_other_arms_go_on_and_shows_what_is_asked(store: MemoryCheckpointStore) -> None:
    result = await waiting(gated(), store)
    assert result.outputs == ("side web",)
    (request,) = result.pending_requests
    assert (request.data, request.path, request.id) == (Deploy("web"), "gate", "r:gate.0.0.1")
    assert request.response_type.endswith("Approval")
    assert [e.kind for e in result.events][-1] is EventKind.RUN_WAITING_INPUT


@pytest.mark.requirement("CX24")
async def test_answer_from_another_process_is_coerced_and_the_handler_goes_on(
    store: MemoryCheckpointStore,
) -> None:
    await waiting(gated(), store)
    answers = {"r:gate.0.0.1": {"approved": True}}
    result = await gated().resume("r", checkpoints=store, responses=answers, answered_by="ada")
    assert result.outputs == ("side web", "web: yes")
    answered = next(e for e in result.events if e.kind is EventKind.REQUEST_ANSWERED)
    assert answered.data["answered_by"] == "ada"


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ({"r:gate.0.0.1": {"approved": "perhaps"}}, AnswerError),
        ({"r:gate.0.0.1": 3}, AnswerError),
        ({"r:gate.9.0.1": {"approved": True}}, UnknownRequestError),
    ],
)
async def test_wrong_answer_is_refused_and_changes_nothing(
    store: MemoryCheckpointStore, answers: dict[str, object], error: type[Exception]
) -> None:
    await waiting(gated(), store)
    before = await store.list_metadata(run_id=None)
    with pytest.raises(error):
        await gated().resume("r", checkpoints=store, responses=answers)
    assert await store.list_metadata(run_id=None) == before


async def test_run_without_answers_goes_on_waiting(store: MemoryCheckpointStore) -> None:
    await waiting(gated(), store)
    again = await gated().resume("r", checkpoints=store)
    assert (again.status, len(again.pending_requests)) == (RunStatus.WAITING_INPUT, 1)
    assert again.events == ()


async def test_request_is_answered_at_most_once(store: MemoryCheckpointStore) -> None:
    await waiting(gated(), store)
    answers = {"r:gate.0.0.1": {"approved": True}}
    await gated().resume("r", checkpoints=store, responses=answers)
    with pytest.raises(RunEndedError, match="completed"):
        await gated().resume("r", checkpoints=store, responses=answers)


class TwoQuestions(Executor):
    """Asks two things at once, and does something costly before."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.entered: list[str] = []

    def work(self) -> str:
        self.entered.append("costly")
        return "result"

    @handler
    async def ask(self, text: str, ctx: WorkflowContext) -> str:
        self.entered.append("entered")
        costly = await ctx.once("costly", self.work)
        await ctx.send_message("dropped when it parks")
        first, second = await asyncio.gather(ctx.request_info("name?", str), ctx.request_info("age?", int))
        return f"{first} {second} {costly}"


@executor(id="show")
async def show(text: str) -> str:
    return text


async def test_several_open_requests_are_answered_one_by_one(store: MemoryCheckpointStore) -> None:
    asking = TwoQuestions("ask")
    flow = WorkflowBuilder("two", version="1").set_start(asking).add_edge(asking, show).build()
    first = await waiting(flow, store)
    assert [request.data for request in first.pending_requests] == ["name?", "age?"]
    second = await flow.resume("r", checkpoints=store, responses={"r:ask.0.0.1": "Ada"})
    assert [request.data for request in second.pending_requests] == ["age?"]
    assert asking.entered == ["entered", "costly"]
    done = await flow.resume("r", checkpoints=store, responses={"r:ask.0.0.2": "36"})
    assert done.outputs == ("dropped when it parks", "Ada 36 result")
    assert asking.entered == ["entered", "costly", "entered"]


async def test_answering_one_request_runs_no_other_paused_executor_again(
    store: MemoryCheckpointStore,
) -> None:
    one, other = TwoQuestions("one"), TwoQuestions("other")
    flow = (
        WorkflowBuilder("two", version="1")
        .set_start(one, other)
        .add_edge(one, show)
        .add_edge(other, show)
        .build()
    )
    await waiting(flow, store)
    answers = {"r:one.0.0.1": "Ada", "r:one.0.0.2": 36}
    result = await flow.resume("r", checkpoints=store, responses=answers)
    assert result.status is RunStatus.WAITING_INPUT
    assert (one.entered.count("entered"), other.entered.count("entered")) == (2, 1)


@pytest.mark.parametrize("is_caught", [True, False])
async def test_request_expires_at_its_deadline(store: MemoryCheckpointStore, is_caught: bool) -> None:
    @executor(id="ask")
    async def ask(text: str, ctx: WorkflowContext) -> str:
        try:
            return await ctx.request_info("?", str, deadline=timedelta(seconds=0))
        except RequestExpiredError:
            if is_caught:
                return "nobody"
            raise

    flow = WorkflowBuilder("w", version="1").set_start(ask).build()
    await waiting(flow, store)
    if is_caught:
        assert (await flow.resume("r", checkpoints=store)).outputs == ("nobody",)
    else:
        with pytest.raises(RequestExpiredError, match=r"ask\.0\.0\.1"):
            await flow.resume("r", checkpoints=store)


async def test_request_is_seen_by_the_handler_as_a_cancellation(store: MemoryCheckpointStore) -> None:
    seen: list[str] = []

    @executor(id="ask")
    async def ask(text: str, ctx: WorkflowContext) -> str:
        try:
            return await ctx.request_info("?", str)
        except Exception:
            seen.append("swallowed")
            raise
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        finally:
            seen.append("cleaned up")

    flow = WorkflowBuilder("w", version="1").set_start(ask).build()
    await waiting(flow, store)
    assert seen == ["cancelled", "cleaned up"]


async def test_handler_that_swallows_the_cancellation_still_waits(store: MemoryCheckpointStore) -> None:
    @executor(id="ask")
    async def ask(text: str, ctx: WorkflowContext) -> str:
        try:
            return await ctx.request_info("?", str)
        except BaseException:
            return "invented"

    flow = WorkflowBuilder("w", version="1").set_start(ask).build()
    result = await waiting(flow, store)
    assert result.outputs == ()


def nested() -> Workflow:
    inner = WorkflowBuilder("inner", version="1").set_start(Gate("gate"), Gate("other")).build()
    return WorkflowBuilder("outer", version="1").set_start(show).add_edge(show, inner).build()


async def test_request_of_a_sub_workflow_surfaces_and_its_other_arm_is_not_run_again(
    store: MemoryCheckpointStore,
) -> None:
    result = await waiting(nested(), store)
    ids = [request.id for request in result.pending_requests]
    assert ids == ["r:inner.1.0/gate.0.0.1", "r:inner.1.0/other.0.0.1"]
    assert [request.path for request in result.pending_requests] == ["inner/gate", "inner/other"]
    half = await nested().resume("r", checkpoints=store, responses={ids[0]: {"approved": True}})
    assert [request.id for request in half.pending_requests] == [ids[1]]
    done = await nested().resume(
        "r", checkpoints=store, responses={ids[1]: {"approved": False, "reason": "no"}}
    )
    assert done.outputs == ("web: yes", "web: no")


async def test_events_of_a_sub_workflow_name_a_request_as_its_answer_does(
    store: MemoryCheckpointStore,
) -> None:
    result = await waiting(nested(), store)
    raised = [e.data["request"] for e in result.events if e.kind is EventKind.REQUEST_RAISED]
    assert raised == [request.id for request in result.pending_requests]
    done = await nested().resume(
        "r", checkpoints=store, responses={str(request): {"approved": True} for request in raised}
    )
    assert done.outputs == ("web: yes", "web: yes")


async def test_question_of_a_sub_workflow_that_was_cut_off_is_open_again_after_a_resume(
    store: MemoryCheckpointStore,
) -> None:
    broken = [True]

    @executor(id="slow")
    async def slow(service: str) -> str:
        if broken:
            await asyncio.Event().wait()
        return f"slow {service}"

    @executor(id="fail")
    async def fail(service: str) -> None:
        await asyncio.sleep(0)
        if broken:
            raise ConnectionError("down")

    inner = WorkflowBuilder("inner", version="1").set_start(Gate("gate"), slow).build()
    config = WorkflowConfig(fail_fast=True)
    flow = WorkflowBuilder("outer", version="1", config=config).set_start(inner, fail).build()
    with pytest.raises(ConnectionError) as caught:
        await flow.run("web", run_id="r", checkpoints=store)
    assert caught.value.result.pending_requests == ()  # type: ignore[attr-defined]  # documented
    broken.clear()
    (request,) = (await flow.resume("r", checkpoints=store)).pending_requests
    done = await flow.resume("r", checkpoints=store, responses={request.id: {"approved": True}})
    assert (request.id, done.outputs) == ("r:inner.0.0/gate.0.0.1", ("slow web", "web: yes"))


@pytest.mark.requirement("CX16")
async def test_question_in_a_run_that_nobody_could_go_on_with_is_an_error() -> None:
    with pytest.raises(NotStoredError, match="run it with checkpoints"):
        await gated().run("web")


async def test_changed_code_is_told_when_a_waiting_run_goes_on(store: MemoryCheckpointStore) -> None:
    await waiting(gated(), store)

    class Gate2(Gate):
        @handler
        async def ask(self, service: str, ctx: WorkflowContext) -> str:
            return "changed" if (await ctx.request_info(Deploy(service), Approval)).approved else ""

    flow = WorkflowBuilder("gated", version="1").set_start(Gate2("gate"), side).build()
    result = await flow.resume("r", checkpoints=store, responses={"r:gate.0.0.1": {"approved": True}})
    assert result.outputs == ("side web", "changed")
    assert result.events[0].kind is EventKind.RUN_RESUMED
    assert "gate" in str(result.events[0].data["changed"])


async def test_question_in_a_sub_run_that_is_not_kept_says_who_can_ask(store: MemoryCheckpointStore) -> None:
    @executor(id="ask")
    async def ask(number: int, ctx: WorkflowContext) -> int:
        return await ctx.request_info("how many?", int)

    inner = WorkflowBuilder("inner").set_start(ask).build()

    @executor(id="around")
    async def around(number: int, ctx: WorkflowContext) -> None:
        await ctx.run_workflow(inner, number, is_kept=False)

    with pytest.raises(NotStoredError, match=r"within .*is_kept=False\) only the executor around it can ask"):
        await WorkflowBuilder("outer").set_start(around).build().run(1, checkpoints=store)
