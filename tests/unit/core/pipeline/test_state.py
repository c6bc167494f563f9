"""The message that goes from step to step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.graph.codec.payload import is_immutable
from agentic.core.pipeline.steps.state import MissingResultError, PipelineState, StepNote, add_notes
from agentic.core.types import JSONValue

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(json_values)
def test_a_value_comes_back_as_it_was_bound(value: JSONValue) -> None:
    assert PipelineState().bind({"a": value}, {"a"}).value("a") == value


@given(json_values)
def test_the_engine_never_has_to_copy_a_state(value: JSONValue) -> None:
    assert is_immutable(PipelineState().bind({"a": value}, {"a"}))


def test_only_inputs_and_names_that_are_needed_later_are_kept() -> None:
    before = PipelineState().bind({"inputs": {}, "page": "x" * 1000, "urls": []}, {"inputs", "page", "urls"})
    after = before.bind({"item": 1, "title": "t"}, {"item", "urls"})
    assert [name for name, _ in after.values] == ["inputs", "urls", "item"]


def test_a_name_that_was_never_bound_is_missing() -> None:
    with pytest.raises(MissingResultError, match=r"\$\{page\} is missing"):
        PipelineState().lookup(("page", "url"))


def test_warnings_about_one_subject_are_counted_and_the_first_is_the_example() -> None:
    known = (StepNote(step="step 1", message="a", subject="field 'x'"), StepNote(step="step 1", message="b"))
    more = (
        StepNote(step="step 1", message="c", subject="field 'x'", count=2),
        StepNote(step="step 2", message="d", subject="field 'x'"),
        StepNote(step="step 1", message="b"),
    )
    assert [note.text for note in add_notes(known, more)] == [
        "step 1: a (1 of 3 warnings about field 'x')",
        "step 1: b",
        "step 2: d",
    ]
