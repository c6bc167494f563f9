"""Messages, requests and replies: as JSON and back, in this version and the next."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from tests.unit.core.llm import golden
from tests.unit.core.llm.strategies import json_objects, requests, usages, words

from agentic.core.llm import (
    ChatMessage,
    ChatRole,
    ModelReply,
    ModelRequest,
    ModelSettings,
    OutputFormat,
    TextPart,
    ThinkingPart,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from agentic.core.llm.messages import MESSAGE_FORMAT
from agentic.core.types import JSONValue

REPOSITORY = Path(__file__).parents[4]


@given(requests, words, json_objects)
def test_a_digest_survives_json_and_lacks_ids_facts_of_the_application_and_the_time_limit(
    request: ModelRequest, message_id: str, meta: dict[str, JSONValue]
) -> None:
    back = ModelRequest.model_validate_json(request.model_dump_json(by_alias=True))
    assert back == request
    renamed = tuple(one.model_copy(update={"id": message_id, "meta": meta}) for one in back.messages)
    patient = back.settings.model_copy(update={"timeout_s": 999.0})
    assert back.model_copy(update={"messages": renamed, "settings": patient}).digest == request.digest


def test_the_stored_form_of_messages_is_that_of_the_golden_file() -> None:
    """A change here makes stored threads unreadable: raise MESSAGE_FORMAT, and keep the old file readable."""
    assert MESSAGE_FORMAT == 1
    found = golden.stored("messages_1")
    assert found == [message.to_json() for message in golden.MESSAGES]
    assert isinstance(found, list)
    assert tuple(map(ChatMessage.from_json, found)) == golden.MESSAGES


def test_the_stored_form_of_a_reply_is_that_of_the_golden_file() -> None:
    found = golden.stored("reply_1")
    assert found == golden.REPLY.to_json()
    assert ModelReply.from_json(found) == golden.REPLY


def test_digests_are_those_of_the_golden_file_in_every_process() -> None:
    """Other digests would make each recording and each kept reply useless."""
    expected = golden.stored("digests_1")
    assert {name: request.digest for name, request in golden.REQUESTS.items()} == expected
    code = (
        "import json; from tests.unit.core.llm.golden import REQUESTS; "
        "print(json.dumps({name: request.digest for name, request in REQUESTS.items()}))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(run.stdout) == expected


ASKED = ModelRequest(messages=(ChatMessage.user("Hello?"),))


@pytest.mark.parametrize(
    "changed",
    [
        {"instructions": "Be brief."},
        {"messages": (ChatMessage.user("Hello!"),)},
        {"messages": (ChatMessage.assistant("Hello?"),)},
        {"messages": (ChatMessage.user("Hello?", author_name="anna"),)},
        {"output": OutputFormat(schema={})},
        {"tool_choice": "none"},
        {"settings": ModelSettings(temperature=0)},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_all_that_the_model_sees_is_in_the_digest(changed: dict[str, object]) -> None:
    assert ASKED.model_copy(update=changed).digest != ASKED.digest


def test_key_parts_are_the_instructions_the_tools_each_message_and_the_rest() -> None:
    parts = golden.REQUESTS["all messages"].key_parts()
    assert parts[:2] == ["Be brief.", []]
    assert len(parts) == len(golden.MESSAGES) + 3
    assert parts[-1] == {}


@pytest.mark.parametrize(
    "stored",
    [
        {"role": "user", "parts": [{"kind": "video", "text": "x"}]},
        {"role": "user", "parts": [{"text": "x"}]},
        {"role": "judge"},
        {"role": "user", "colour": "red"},
        "user: hello",
    ],
)
def test_json_that_is_not_a_message_is_refused(stored: object) -> None:
    with pytest.raises(ValueError, match="ChatMessage"):
        ChatMessage.from_json(stored)


def test_text_thoughts_calls_and_results_of_a_message_are_found_apart() -> None:
    call = ToolCall(id="1", name="add")
    said = ChatMessage(
        role=ChatRole.ASSISTANT,
        parts=(ThinkingPart(text="Hm. "), TextPart(text="It is "), call, TextPart(text="3.")),
    )
    assert (said.text, said.thinking, said.tool_calls) == ("It is 3.", "Hm. ", (call,))
    result = ToolResult(call_id="1", name="add", content=3)
    assert ChatMessage.tool(result).tool_results == (result,)


def test_settings_that_are_set_take_the_place_of_others() -> None:
    base = ModelSettings(temperature=1, max_tokens=10, extra={"a": 1, "b": 1})
    over = base.overlaid(ModelSettings(temperature=0, seed=4, extra={"b": 2}))
    assert (over.temperature, over.max_tokens, over.seed, over.extra) == (0, 10, 4, {"a": 1, "b": 2})
    assert base.overlaid(ModelSettings(temperature=None)).temperature is None
    assert base.overlaid(None) is base


@pytest.mark.requirement("LM08")
@given(usages, usages, usages)
def test_usage_adds_up_in_any_order(first: TokenUsage, second: TokenUsage, third: TokenUsage) -> None:
    one, other = first + second + third, third + (second + first)
    assert one.model_dump(exclude={"cost_usd"}) == other.model_dump(exclude={"cost_usd"})
    if None in (first.cost_usd, second.cost_usd, third.cost_usd):
        assert one.cost_usd is other.cost_usd is None
    else:
        assert one.cost_usd == pytest.approx(other.cost_usd)
    assert first + TokenUsage() == first
    assert one.total_tokens == sum(
        usage.input_tokens + usage.output_tokens for usage in (first, second, third)
    )


@pytest.mark.requirement("LM08")
def test_usage_says_which_share_came_from_the_cache() -> None:
    assert TokenUsage(input_tokens=200, cache_read_tokens=150).cache_share == 0.75
    assert TokenUsage().cache_share == 0
