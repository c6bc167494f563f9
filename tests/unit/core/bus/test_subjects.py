from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.bus import parse_token, subject_for, token
from agentic.core.bus.subjects import EVENT_SUBJECTS
from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.types import RunId

ids = st.text(max_size=20)
parts = st.lists(ids, min_size=1, max_size=4).filter(lambda found: any(found) or len(found) > 1)
events = st.builds(
    WorkflowEvent,
    kind=st.sampled_from(EventKind),
    run_id=ids.filter(bool).map(RunId),
    time=st.just(0.0),
    path=ids,
    data=st.fixed_dictionaries({"edge": ids, "type": ids}),
)

LEGAL_IN_SUBJECTS_AND_KEYS = re.compile(r"[-/_=a-zA-Z0-9]+")


def an_event(kind: EventKind, *, run_id: str = "r1", path: str = "", **data: str) -> WorkflowEvent:
    return WorkflowEvent(kind=kind, run_id=RunId(run_id), time=0.0, path=path, data=dict(data))


@given(parts)
def test_a_token_is_read_back_as_the_parts_it_was_made_of(given_parts: list[str]) -> None:
    assert parse_token(token(*given_parts)) == tuple(given_parts)


@given(parts)
def test_a_token_is_legal_as_one_word_of_a_subject_and_as_a_key(given_parts: list[str]) -> None:
    assert LEGAL_IN_SUBJECTS_AND_KEYS.fullmatch(token(*given_parts))


def test_a_token_stays_readable() -> None:
    assert token("shop", "parent/impl.3.0", "impl", "compile") == "shop/parent=2Fimpl=2E3=2E0/impl/compile"


def test_a_lone_surrogate_of_a_broken_file_name_survives() -> None:
    assert parse_token(token("a\udc80")) == ("a\udc80",)


def test_a_token_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one part"):
        token("")


@pytest.mark.parametrize("word", ["", "a.b", "a=2", "a=zz", "a b", "=FF"])
def test_what_is_no_token_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match=r"token|decode"):
        parse_token(word)


@given(events, ids)
def test_every_event_has_a_legal_subject_that_the_stream_keeps(event: WorkflowEvent, project: str) -> None:
    words = subject_for(event, project).split(".")
    assert all(LEGAL_IN_SUBJECTS_AND_KEYS.fullmatch(word) for word in words)
    assert f"{words[0]}.{words[1]}.>" in EVENT_SUBJECTS


@pytest.mark.requirement("NA05", "NA06", "NA08")
@pytest.mark.requirement("NA02", "NA03", "NA04", "NA09", "NA10", "NA11", "NA12", "CX04")
@pytest.mark.parametrize(
    ("event", "subject"),
    [
        (an_event(EventKind.RUN_STARTED), "agentic.workflow.p/r1.started"),
        (an_event(EventKind.RUN_COMPLETED), "agentic.workflow.p/r1.completed"),
        (an_event(EventKind.RUN_FAILED), "agentic.workflow.p/r1.error"),
        (an_event(EventKind.RUN_CANCELLED), "agentic.workflow.p/r1.cancelled"),
        (an_event(EventKind.SUPERSTEP_STARTED), "agentic.workflow.p/r1.superstep.started"),
        (an_event(EventKind.SUPERSTEP_COMPLETED), "agentic.workflow.p/r1.superstep.completed"),
        (an_event(EventKind.OUTPUT, path="save"), "agentic.workflow.p/r1.output"),
        (an_event(EventKind.EXECUTOR_INVOKED, path="impl/test"), "agentic.executor.p/r1/impl/test.started"),
        (an_event(EventKind.EXECUTOR_PROGRESS, path="save"), "agentic.executor.p/r1/save.progress"),
        (an_event(EventKind.EXECUTOR_COMPLETED, path="save"), "agentic.executor.p/r1/save.completed"),
        (an_event(EventKind.EXECUTOR_FAILED, path="save"), "agentic.executor.p/r1/save.failed"),
        (an_event(EventKind.EXECUTOR_LOG, path="save"), "agentic.executor.p/r1/save.log"),
        (an_event(EventKind.EDGE_ACTIVATED, edge="a->b"), "agentic.edge.p/r1/a-=3Eb.activated"),
        (an_event(EventKind.CUSTOM, path="a", type="x.y"), "agentic.executor.p/r1/a.event.x.y"),
        (an_event(EventKind.CUSTOM, path="a", type="..*"), "agentic.executor.p/r1/a.event.=2A"),
        (an_event(EventKind.CUSTOM, path="a", type="."), "agentic.executor.p/r1/a.event.unnamed"),
        (an_event(EventKind.CUSTOM, path="a", type="agent.tool_call"), "agentic.agent.p/r1/a.tool_call"),
        (an_event(EventKind.CUSTOM, path="a", type="agent.task.t 1"), "agentic.agent.p/r1/a.task.t=201"),
        (
            an_event(EventKind.CUSTOM, path="a", type="validator.test.result"),
            "agentic.validator.p/r1/a.test.result",
        ),
        (
            an_event(EventKind.CUSTOM, path="a", type="orchestrator.decision"),
            "agentic.orchestrator.p/r1/a.decision",
        ),
        (an_event(EventKind.CUSTOM, path="a", type="agent."), "agentic.executor.p/r1/a.event.agent"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_events_are_published_where_subscribers_expect_them(event: WorkflowEvent, subject: str) -> None:
    assert subject_for(event, "p") == subject


@given(events, ids, ids)
def test_equal_runs_of_two_projects_do_not_share_a_subject(
    event: WorkflowEvent, one: str, other: str
) -> None:
    assert (subject_for(event, one) == subject_for(event, other)) == (one == other)


@given(events, ids.filter(bool))
def test_a_nested_run_does_not_share_a_subject_with_its_parent(event: WorkflowEvent, node: str) -> None:
    nested = WorkflowEvent(
        event.kind, RunId(f"{event.run_id}/{node}.0.0"), event.time, path=event.path, data=event.data
    )
    assert subject_for(nested, "p") != subject_for(event, "p")
