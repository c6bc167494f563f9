from __future__ import annotations

import json
from typing import Literal

import pytest

from agentic.core.llm import ScriptedModel, ScriptLine, ToolCall
from agentic.core.pipeline import IntentSpec, ModelIntentInference, NoIntentError
from agentic.core.pipeline.spec.inferring import MAX_WORDS_CHARS, NOT_FROM_WORDS
from agentic.core.types import JSONValue

WORDS = "I want title and price of the lamps at https://shop.example/lamps, each is a .product"
ANSWER: dict[str, JSONValue] = {
    "name": "lamps",
    "kind": "list",
    "url": "https://shop.example/lamps",
    "items": ".product",
    "fields": {"title": "h1"},
}


@pytest.mark.requirement("SP04")
@pytest.mark.parametrize("mode", ["native", "tool", "prompt"])
async def test_words_become_an_intent_for_a_builder(mode: Literal["native", "tool", "prompt"]) -> None:
    call = ToolCall(id="1", name="final_output", arguments=ANSWER)
    line: ScriptLine = call if mode == "tool" else json.dumps(ANSWER)
    model = ScriptedModel([line], structured=mode)
    intent = await ModelIntentInference(model).infer(WORDS)
    assert intent == IntentSpec.model_validate({**ANSWER, "goal": WORDS})
    assert [message.text for message in model.requests[0].messages] == [WORDS]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("no idea", "the answer is not valid JSON"),
        ("[1]", "the answer is not a JSON object"),
        (json.dumps({**ANSWER, "items": None}), "an intent of kind 'list' needs items"),
        (json.dumps({**ANSWER, "kind": "book"}), "kind: Input should be 'page', 'list'"),
        (json.dumps({**ANSWER, "url": "https://evil.example/"}), "do not name the site 'evil.example'"),
        (json.dumps({**ANSWER, "url": "lamps"}), "do not name the site 'lamps'"),
        *((json.dumps({**ANSWER, name: "x"}), f"{name} is not for you to set") for name in NOT_FROM_WORDS),
    ],
)
async def test_an_answer_that_cannot_be_used_is_told_to_the_model_and_then_to_the_person(
    answer: str, told: str
) -> None:
    model = ScriptedModel([answer, json.dumps(ANSWER)])
    assert (await ModelIntentInference(model).infer(WORDS)).url == ANSWER["url"]
    assert told in model.requests[1].messages[-1].text
    with pytest.raises(NoIntentError) as caught:
        await ModelIntentInference(ScriptedModel([answer] * 2), attempts=2).infer(WORDS)
    assert told in str(caught.value)


async def test_too_many_words_are_refused_before_the_model_is_asked() -> None:
    with pytest.raises(NoIntentError, match="10001 characters are too many"):
        await ModelIntentInference(ScriptedModel([])).infer("x" * (MAX_WORDS_CHARS + 1))


async def test_the_model_is_not_offered_the_fields_that_it_may_not_set() -> None:
    model = ScriptedModel([json.dumps(ANSWER)])
    await ModelIntentInference(model).infer(WORDS)
    offered = model.requests[0].output
    assert offered is not None
    assert set(IntentSpec.model_fields) - set(offered.schema_["properties"]) == set(NOT_FROM_WORDS)  # type: ignore[arg-type]  # an object
