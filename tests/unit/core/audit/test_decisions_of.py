"""What runs decide, read from their events."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest

from agentic.core import (
    AgenticError,
    Case,
    Default,
    EventKind,
    ExecutorFailure,
    RetryPolicy,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowEvent,
    executor,
)
from agentic.core.audit import Decision, DecisionKind, decided, decisions_of
from agentic.core.masking import MASK, remember_secrets
from agentic.core.types import RunId

pytestmark = [pytest.mark.requirement("NA21"), pytest.mark.requirement("LG15")]


@executor(id="begin")
async def begin(number: int) -> int:
    return number


@executor(id="small")
async def small(number: int) -> None:
    pass


@executor(id="large")
async def large(number: int) -> None:
    pass


def is_small(number: int) -> bool:
    return number < 10


async def decisions(workflow: Workflow, message: object = 1) -> Sequence[Decision]:
    """Run a workflow, however it ends; return what it decided."""
    told: list[WorkflowEvent] = []
    with suppress(AgenticError, ValueError):
        async for event in workflow.run_stream(message, run_id=RunId("one")):
            told.append(event)  # noqa: PERF401  # what was told before an error counts
    return decisions_of(told)


async def only(workflow: Workflow, message: object = 1) -> Decision:
    (found,) = await decisions(workflow, message)
    return found


async def test_a_condition_that_holds_is_a_route_taken_and_says_which() -> None:
    found = await only(WorkflowBuilder("w").set_start(begin).add_edge(begin, small, is_small).build())
    assert (found.kind, found.subject, found.who) == (DecisionKind.ROUTE_TAKEN, "one", "engine")
    assert (found.what, found.reason) == ("begin to small", "is_small holds")
    assert found.details == {"superstep": 0, "edge": "begin->small", "messages": 1}
    assert found.id.startswith("one:")


async def test_an_edge_that_takes_every_message_decides_nothing() -> None:
    assert not await decisions(WorkflowBuilder("w").set_start(begin).add_edge(begin, small).build())


@pytest.mark.parametrize(
    ("number", "target", "reason"), [(1, "small", "few of them holds"), (50, "large", "no case holds")]
)
async def test_a_switch_says_which_case_led_where(number: int, target: str, reason: str) -> None:
    cases: list[Case | Default] = [Case(is_small, small, description="few of them"), Default(large)]
    found = await only(WorkflowBuilder("w").set_start(begin).add_switch_edge(begin, cases).build(), number)
    assert (found.what, found.reason) == (f"begin to {target}", reason)
    assert found.details["chosen"] == {target: 1}


async def test_a_selector_is_told_with_whom_it_chose() -> None:
    def first_only(_: int, targets: Sequence[str]) -> Sequence[str]:
        return targets[:1]

    flow = WorkflowBuilder("w").set_start(begin).add_fan_out_edge(begin, [small, large], select=first_only)
    found = await only(flow.build())
    assert (found.what, found.reason) == ("begin to small", "first_only chose")


async def test_a_retry_and_the_edge_that_takes_the_failure_are_told_with_the_error() -> None:
    @executor(id="fetch", retry=RetryPolicy(max_attempts=2, first_delay_s=0.001, jitter=0.0))
    async def fetch(number: int) -> int:
        raise OSError(f"no route to http://anna:geheim@host/{number}?token=geheim")

    @executor(id="mend")
    async def mend(failure: ExecutorFailure) -> None:
        pass

    flow = WorkflowBuilder("w").set_start(fetch).add_edge(fetch, mend, on="failure").build()
    retried, given_up, route = await decisions(flow)

    assert (retried.kind, retried.what) == (DecisionKind.ATTEMPT_RETRIED, "fetch is retried after attempt 1")
    assert retried.reason == "OSError: no route to http://host/1"
    assert retried.details["attempt"] == 1
    assert given_up.kind is DecisionKind.EXECUTOR_GIVEN_UP
    assert given_up.what == "fetch failed for good after attempt 2, the run continues without it"
    assert (route.what, route.reason) == ("fetch to mend", "its source failed")


async def test_a_run_that_fails_says_of_what() -> None:
    @executor(id="fail")
    async def fail(number: int) -> None:
        raise ValueError(f"{number} is too few")

    given_up, ended = await decisions(WorkflowBuilder("w").set_start(fail).build())
    assert given_up.what == "fail failed for good after attempt 1, the run fails"
    assert (ended.kind, ended.reason) == (DecisionKind.RUN_FAILED, "1 is too few")
    assert ended.details["error_type"] == "ValueError"


async def test_a_run_that_does_not_come_to_rest_is_told_as_such() -> None:
    config = WorkflowConfig(max_supersteps=2)
    flow = WorkflowBuilder("w", config=config).set_start(begin).add_edge(begin, begin, is_small).build()
    *_, ended = await decisions(flow)
    assert ended.kind is DecisionKind.RUN_DIVERGED


async def test_a_run_whose_time_is_over_is_told_as_such() -> None:
    @executor(id="wait")
    async def wait(_: int) -> None:
        await asyncio.Event().wait()

    config = WorkflowConfig(run_timeout_s=0.01)
    *_, ended = await decisions(WorkflowBuilder("w", config=config).set_start(wait).build())
    assert ended.kind is DecisionKind.RUN_TIMED_OUT


def an_event(kind: EventKind, **data: object) -> WorkflowEvent:
    return WorkflowEvent(kind, RunId("one"), 7.0, 3, superstep=2, path="ask", data=data)


@pytest.mark.parametrize(
    ("event", "who", "what", "reason"),
    [
        (
            an_event(EventKind.REQUEST_RAISED, request="one:ask", question="password?", response_type="str"),
            "engine",
            "ask asks and waits for the answer",
            "it needs an answer to continue",
        ),
        (
            an_event(EventKind.REQUEST_ANSWERED, request="one:ask", answer="geheim", answered_by="anna"),
            "anna",
            "one:ask is answered",
            "the run asked for it",
        ),
        (
            an_event(EventKind.REQUEST_EXPIRED, request="one:ask", deadline=6.0),
            "engine",
            "one:ask expires",
            "no answer in time",
        ),
        (
            an_event(EventKind.RUN_RESUMED, was="failed", checkpoint="one@3", changed=[]),
            "engine",
            "the run continues where it stopped",
            "it was failed",
        ),
        (an_event(EventKind.RUN_CANCELLED), "engine", "the run ends", "it was requested"),
        (
            an_event(EventKind.MESSAGE_UNDELIVERABLE, type="str", reason="no out-edge", message="geheim"),
            "engine",
            "a str of ask is not delivered",
            "no out-edge",
        ),
    ],
)
def test_other_decisions_say_who_what_and_why(event: WorkflowEvent, who: str, what: str, reason: str) -> None:
    (found,) = decisions_of([event])
    assert (found.who, found.what, found.reason, found.time) == (who, what, reason, 7.0)
    assert not {"geheim", "password?"} & set(map(str, found.details.values()))


def test_an_event_without_its_data_tells_of_no_decision() -> None:
    assert not decisions_of([an_event(EventKind.EXECUTOR_FAILED, dropped_bytes=5)])


def test_what_is_long_is_cut() -> None:
    found = decided(
        DecisionKind.RUN_PAUSED, "one", "w" * 900, reason="r" * 900, who="anna", names=["n" * 9000]
    )
    assert (len(found.what), len(found.reason)) == (500, 500)
    assert found.details == {"names": {"omitted_chars": 9004}}


def test_the_user_of_the_process_decides_unless_another_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTIC_USER", "deploy-bot")
    assert decided(DecisionKind.RUN_PAUSED, "one", "rests").who == "deploy-bot"
    monkeypatch.delenv("AGENTIC_USER")
    monkeypatch.setenv("LOGNAME", "anna")
    assert decided(DecisionKind.RUN_PAUSED, "one", "rests").who == "anna"


@pytest.mark.requirement("PL41")
def test_a_decision_has_no_secret_that_this_process_has_read() -> None:
    remember_secrets("hush-7d-zebra")
    said = "it failed with hush-7d-zebra"
    made = decided(DecisionKind.RUN_CANCELLED, "r", said, reason=said, why=[said])
    masked = f"it failed with {MASK}"
    assert (made.what, made.reason, made.details) == (masked, masked, {"why": [masked]})
