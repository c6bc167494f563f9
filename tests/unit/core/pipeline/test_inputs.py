"""What a pipeline is given."""

from __future__ import annotations

import pytest

from agentic.core.pipeline import PipelineInputError, parse_spec, read_inputs
from agentic.core.types import JSONValue

SPEC = parse_spec("""
inputs:
  start: {description: first page}
  pages: {type: integer, default: 10}
  names: {type: list, default: []}
  note: {default: null}
steps: [{actor: fetch}]
""")


def test_inputs_left_out_have_their_defaults() -> None:
    assert read_inputs(SPEC, {"start": "x"}) == {"start": "x", "pages": 10, "names": [], "note": None}


def test_text_of_a_command_line_is_read_as_the_declared_type() -> None:
    given: dict[str, JSONValue] = {"start": "x", "pages": "3", "names": '["a"]'}
    assert read_inputs(SPEC, given) == {"start": "x", "pages": 3, "names": ["a"], "note": None}


def test_every_bad_input_is_named_and_no_value_is_quoted() -> None:
    with pytest.raises(PipelineInputError) as caught:
        read_inputs(SPEC, {"strat": "x", "pages": "hunter2"})
    message = str(caught.value)
    assert "unknown input 'strat'; did you mean 'start'?" in message
    assert "'start' is missing (first page)" in message
    assert "'pages' is not a valid integer" in message
    assert "hunter2" not in message


def test_a_string_is_not_made_of_a_number() -> None:
    with pytest.raises(PipelineInputError, match="'start' is not a valid string"):
        read_inputs(SPEC, {"start": 3})
