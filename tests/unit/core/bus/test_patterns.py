"""What is known of an executor over all runs."""

from __future__ import annotations

import json

import pytest
from tests.unit.core.bus.told import ended, shaky, told

from agentic.core.bus import MemoryBus, learnt_patterns
from agentic.core.bus.projections.patterns import KvHistory, apply_patterns, fingerprint, pattern_keys
from agentic.core.bus.projections.projection import Documents
from agentic.core.graph import MemoryHistory
from agentic.core.graph.model.history import ExecutorHistory
from agentic.core.types import ExecutorId, RunId

pytestmark = pytest.mark.requirement("NA19", "LE02", "CX07")


async def history_of(documents: Documents, executor_id: str) -> ExecutorHistory:
    """Return what a run is told that asks for the past."""
    bucket = learnt_patterns(MemoryBus(), "shop")
    for key, document in documents.items():
        await bucket.put(key, json.dumps(document).encode())
    return await KvHistory(bucket).history(ExecutorId(executor_id))


async def test_an_executors_history_tells_what_worked_and_how_errors_ended() -> None:
    documents: Documents = {}
    for number, failures in enumerate([2, 2, 0]):
        events = [event async for event in shaky(failures).run_stream(1, run_id=RunId(f"r{number}"))]
        apply_patterns(told(events), documents)

    known = await history_of(documents, "write")

    assert [(one.run_id, one.number) for one in known.attempts][-2:] == [("r1", 3), ("r2", 1)]
    assert [(p.description, p.count) for p in known.successful_patterns] == [
        ("succeeded on attempt 3", 2),
        ("succeeded on attempt 1", 1),
    ]
    (error,) = known.errors  # ports differ, the error is one
    assert (error.error_type, error.count) == ("OSError", 4)
    assert error.suggestion == "a later attempt succeeded in 4 of 4 cases: retry"


async def test_it_is_what_the_same_events_teach_within_one_process() -> None:
    documents: Documents = {}
    memory = MemoryHistory()
    for number, failures in enumerate([1, 0, 3]):
        events = [event async for event in shaky(failures).run_stream(1, run_id=RunId(f"r{number}"))]
        apply_patterns(told(events), documents)
        memory.record(events)

    for name in ("read", "write"):
        assert await history_of(documents, name) == await memory.history(ExecutorId(name))


async def test_an_error_that_no_try_mended_says_so() -> None:
    documents: Documents = {}
    apply_patterns(told([ended(f"r{number}", error="gone") for number in range(3)]), documents)

    (error,) = (await history_of(documents, "fetch")).errors
    assert error.suggestion == "no later attempt of 3 succeeded: change the input, or ask a person"


async def test_a_success_elsewhere_mends_nothing() -> None:
    documents: Documents = {}
    apply_patterns(told([ended("r1", error="gone"), ended("r2")]), documents)

    (error,) = (await history_of(documents, "fetch")).errors
    assert error.suggestion.startswith("no later attempt of 1 succeeded")


async def test_the_twenty_newest_kinds_of_errors_and_hundred_tries_are_kept() -> None:
    documents: Documents = {}
    events = [ended(f"r{n}", error=f"no {chr(97 + n // 26)}{chr(97 + n % 26)} here") for n in range(150)]
    apply_patterns(told(events), documents)

    known = await history_of(documents, "fetch")
    assert (len(known.errors), len(known.attempts)) == (20, 100)
    assert documents["patterns.fetch.failure"]["count"] == 150
    assert {error.message for error in known.errors} >= {"no ft here"}


async def test_of_an_executor_nobody_knows_the_history_is_empty() -> None:
    assert await history_of({}, "new") == ExecutorHistory()


def test_errors_are_the_same_kind_when_only_numbers_ids_and_quotes_differ() -> None:
    one = fingerprint("HttpError", "GET 'https://a.example/1' gave 503 after 0x7f3a (id 9f8e7d6c5b4a)")
    other = fingerprint("HttpError", "GET 'https://b.example/2' gave 502 after 0x11 (id 0123456789ab)")

    assert one == other
    assert one != fingerprint("HttpError", "GET 'https://a.example/1' was refused")
    assert one != fingerprint(
        "OtherError", "GET 'https://a.example/1' gave 503 after 0x7f3a (id 9f8e7d6c5b4a)"
    )


def test_every_key_that_changes_was_named_before() -> None:
    events = told([ended("r1", error="gone", path="sub/fetch"), ended("r1", attempt=2, path="sub/fetch")])
    documents: Documents = {}

    assert apply_patterns(events, documents) <= pattern_keys(events)
    assert set(documents) == {f"patterns.fetch.{part}" for part in ("success", "failure", "attempts")}
