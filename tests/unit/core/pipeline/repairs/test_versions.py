from __future__ import annotations

from agentic.core.pipeline.repairs.proposals import SpecChange
from agentic.core.pipeline.repairs.versions import joined_changes, repaired_spec
from agentic.core.types import JSONValue

SPEC: JSONValue = {"a": "1", "b": "1"}


def change(key: str, old: str, new: str) -> SpecChange:
    return SpecChange(place=(key,), old=old, new=new)


def test_changes_that_no_longer_fit_are_left_out_and_the_others_stay() -> None:
    wanted = [change("a", "1", "2"), change("b", "9", "2"), change("c", "1", "2")]
    assert repaired_spec(SPEC, wanted) == ({"a": "2", "b": "1"}, (wanted[0],))
    assert SPEC == {"a": "1", "b": "1"}


def test_changes_of_one_place_become_one_and_those_that_undo_it_none() -> None:
    first = [change("a", "1", "2"), change("b", "1", "2")]
    assert joined_changes(first, [change("a", "2", "3")]) == (change("a", "1", "3"), change("b", "1", "2"))
    assert joined_changes(first, [change("a", "2", "1")]) == (change("b", "1", "2"),)
