"""The stored forms that are written by hand: those of messages, replies and uses of models."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from tests.property.graph.effort import examples
from tests.unit.core.llm.strategies import counts, json_objects, messages, parts, replies, texts, words

from agentic.core.agents import AgentExecutorResponse, AgentResponse
from agentic.core.graph.codec.codec import Codec, from_text, to_text
from agentic.core.llm import ChatMessage, ChatRole, ModelReply, Part, StopReason, TokenUsage

amounts = dict.fromkeys(
    (
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "thinking_tokens",
        "requests",
        "tool_calls",
    ),
    counts,
)
costs = st.none() | st.just(0.0) | st.floats(min_value=0, max_value=1e6)
simple_uses = st.fixed_dictionaries({}, optional={**amounts, "cost_usd": costs, "model": texts})
uses = st.fixed_dictionaries(
    {},
    optional={
        **amounts,
        "cost_usd": costs,
        "by_model": st.dictionaries(words, simple_uses.map(TokenUsage.model_validate), max_size=2),
    },
).map(TokenUsage.model_validate)
"""With the fields that an adapter knows, and no others."""

some_messages = messages | st.fixed_dictionaries(
    {"role": st.sampled_from(ChatRole)},
    optional={
        "parts": st.lists(parts, max_size=3).map(tuple),
        "author_name": st.none() | texts,
        "meta": json_objects,
    },
).map(ChatMessage.model_validate)
some_replies = replies | st.fixed_dictionaries(
    {"message": some_messages},
    optional={"usage": uses, "stop_reason": st.sampled_from(StopReason), "model": texts, "replied_by": texts},
).map(ModelReply.model_validate)


@given(parts | some_messages | uses | some_replies)
@examples(300)
def test_the_form_that_is_written_by_hand_is_the_one_of_pydantic(
    one: Part | ChatMessage | TokenUsage | ModelReply,
) -> None:
    written = one.to_json()
    assert as_text(written) == as_text(one.model_dump(mode="json", exclude_defaults=True))
    assert type(one).model_validate(json.loads(json.dumps(written, allow_nan=False))) == one


@given(
    st.lists(some_messages, max_size=3).map(tuple),
    st.lists(some_messages, max_size=2).map(tuple),
    uses,
    texts,
)
@examples(100)
def test_what_agents_send_on_comes_back_from_a_run_as_it_was(
    said: tuple[ChatMessage, ...], before: tuple[ChatMessage, ...], usage: TokenUsage, text: str
) -> None:
    response: AgentResponse[Any] = AgentResponse(
        agent="a", thread_id="t", turn="1", messages=said, text=text, usage=usage
    )
    sent = AgentExecutorResponse(executor_id="e", agent_response=response, full_conversation=(*before, *said))
    back = CODEC.decode(from_text(to_text(CODEC.encode(sent))))
    assert back == sent
    assert set_fields(back) == set_fields(sent)


CODEC = Codec([AgentExecutorResponse])


def as_text(data: object) -> str:
    """Return JSON as text, which tells 1 from 1.0 and from true."""
    return json.dumps(data, sort_keys=True)


def set_fields(value: object) -> object:
    """Return the fields that were set, of each model in a value."""
    if isinstance(value, BaseModel):
        return value.model_fields_set, [set_fields(part) for part in vars(value).values()]
    return [set_fields(part) for part in value] if isinstance(value, tuple) else None
