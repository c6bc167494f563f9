"""Streamed pieces make the reply they were cut from."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.llm.strategies import json_objects, words

from agentic.core.llm import (
    ChatMessage,
    ChatRole,
    CutReplyError,
    ModelDelta,
    ReplyFold,
    StopReason,
    TextPart,
    ThinkingPart,
    TokenUsage,
    ToolCall,
    ToolCallChunk,
)
from agentic.core.llm.folding import tool_call
from agentic.core.llm.messages import Part
from agentic.core.types import JSONValue

USAGE = TokenUsage(input_tokens=3, output_tokens=2, requests=1, cost_usd=0.5)
said = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@dataclass
class Cut:
    """A message, and pieces that it can be streamed in."""

    parts: list[Part]
    deltas: list[ModelDelta]


@st.composite
def cuts(draw: st.DrawFn) -> Cut:
    """Cut a message: texts at any place, calls too, whose later pieces may come in each other's midst."""
    kinds = draw(st.lists(st.sampled_from(["text", "thinking", "call"]), max_size=6))
    parts: list[Part] = []
    deltas: list[ModelDelta] = []
    late: list[list[ModelDelta]] = []
    for kind in kinds:
        if kind == "call":
            call = ToolCall(id=draw(words) + str(len(late)), name=draw(words), arguments=draw(json_objects))
            pieces = draw(pieces_of_text(json.dumps(call.arguments)))
            deltas.append(called(len(late), pieces[0], call))
            late.append([called(len(late), piece) for piece in pieces[1:]])
            parts.append(call)
        elif not (parts and parts[-1].kind == kind):
            text = draw(said)
            deltas += [
                ModelDelta(text=piece) if kind == "text" else ModelDelta(thinking=piece)
                for piece in draw(pieces_of_text(text))
            ]
            parts.append(TextPart(text=text) if kind == "text" else ThinkingPart(text=text))
    while waiting := [pieces for pieces in late if pieces]:
        deltas.append(draw(st.sampled_from(waiting)).pop(0))
    return Cut(parts, deltas)


@st.composite
def pieces_of_text(draw: st.DrawFn, text: str) -> list[str]:
    places = sorted(draw(st.lists(st.integers(min_value=0, max_value=len(text)), max_size=4)))
    return [text[begin:end] for begin, end in zip([0, *places], [*places, len(text)], strict=True)]


def called(index: int, piece: str, call: ToolCall | None = None) -> ModelDelta:
    chunk = ToolCallChunk(
        index=index, id=call.id if call else "", name=call.name if call else "", arguments=piece
    )
    return ModelDelta(tool_call=chunk)


def folded(deltas: list[ModelDelta]) -> ChatMessage:
    fold = ReplyFold("some:model")
    for delta in deltas:
        fold.add(delta)
    return fold.reply(usage=USAGE, stop_reason=StopReason.END).message


@given(cuts())
def test_any_cutting_of_a_reply_folds_to_the_same_reply(cut: Cut) -> None:
    assert folded(cut.deltas) == ChatMessage(role=ChatRole.ASSISTANT, parts=tuple(cut.parts))


@given(cuts(), cuts())
def test_pieces_before_a_restart_do_not_count(broken: Cut, whole: Cut) -> None:
    assert folded([*broken.deltas, ModelDelta(restarted=True), *whole.deltas]) == folded(whole.deltas)


@pytest.mark.parametrize("written", ['{"a": ', "[1]", "3", '{"a": NaN}', "{" * 100_000])
def test_arguments_that_are_not_a_json_object_are_kept_as_they_were_written(written: str) -> None:
    (call,) = folded([called(0, written, ToolCall(id="1", name="add"))]).tool_calls
    assert (call.arguments, call.invalid) == ({}, written)


def test_no_arguments_are_an_empty_object() -> None:
    (call,) = folded([called(0, " ", ToolCall(id="1", name="add"))]).tool_calls
    assert (call.arguments, call.invalid) == ({}, None)


def test_a_call_without_a_name_is_a_cut_reply() -> None:
    with pytest.raises(CutReplyError, match=r"some:model .*has no name"):
        folded([called(0, "{}")])


def test_a_reply_with_calls_stops_for_them_and_calls_without_ids_get_some() -> None:
    fold = ReplyFold("some:model")
    for index in range(2):
        fold.add(called(index, "{}", ToolCall(id="", name="add")))
    reply = fold.reply(usage=USAGE, stop_reason=StopReason.END)
    assert reply.stop_reason is StopReason.TOOL_CALLS
    assert len({call.id for call in reply.tool_calls} - {""}) == 2


def test_opaque_data_stays_with_its_part_and_ends_it() -> None:
    fold = ReplyFold("some:model")
    fold.add(ModelDelta(thinking="Hm."))
    fold.mark({"signature": "abc"})
    fold.add(ModelDelta(thinking="So."))
    fold.add(called(0, "{}", ToolCall(id="1", name="add")))
    fold.add(ModelDelta(text="Done."))
    fold.mark({"thought": "def"}, call=0)
    opaque: list[JSONValue] = [
        dict(part.opaque) if part.opaque else None
        for part in fold.reply(usage=USAGE, stop_reason=StopReason.END).message.parts
    ]
    assert opaque == [{"signature": "abc"}, None, {"thought": "def"}, None]


@pytest.mark.requirement("LM08")
@pytest.mark.parametrize(
    ("usage", "cost_usd"),
    [
        (TokenUsage(input_tokens=10, requests=1), 0.0),
        (TokenUsage(input_tokens=10, requests=1, cost_usd=None), 0.0),
        (TokenUsage(input_tokens=10, requests=1, cost_usd=0.25), 0.25),
    ],
    ids=["not given", "not known", "given by the provider"],
)
def test_the_cost_is_the_providers_or_that_of_the_price(usage: TokenUsage, cost_usd: float) -> None:
    reply = ReplyFold("ollama:llama").reply(usage=usage, stop_reason=StopReason.END)
    assert reply.usage.cost_usd == cost_usd


@pytest.mark.requirement("LM08")
def test_the_cost_of_a_model_without_a_price_is_not_known() -> None:
    usage = TokenUsage(input_tokens=10, requests=1)
    assert ReplyFold("some:model").reply(usage=usage, stop_reason=StopReason.END).usage.cost_usd is None


@pytest.mark.parametrize("text", ['{"x": 1e400}', '{"x": NaN}', '{"x": ' + "[" * 70 + "]" * 70 + "}"])
def test_arguments_that_no_store_keeps_are_given_back_as_text(text: str) -> None:
    found = tool_call("1", "look", text)
    assert found.invalid == text
    assert found.arguments == {}
