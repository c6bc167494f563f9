"""Replies kept for equal requests."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.core.llm.wrappers.streams import PiecewiseModel, asked, list_files, mode_of, shown

from agentic.core.bus import MemoryKeyValue
from agentic.core.llm import (
    CacheModel,
    ChatMessage,
    FileReplyCache,
    FunctionModel,
    MemoryReplyCache,
    ModelReply,
    ModelSettings,
    OverloadedError,
    ReplyCache,
    ScriptedModel,
    StopReason,
    TokenUsage,
)
from agentic.core.stores.key_value_models import KeyValueReplyCache

pytestmark = pytest.mark.requirement("LM01", "LM08")


@pytest.fixture(params=["memory", "file", "key-value"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> ReplyCache:
    caches: dict[str, ReplyCache] = {
        "memory": MemoryReplyCache(),
        "file": FileReplyCache(tmp_path / "replies"),
        "key-value": KeyValueReplyCache(MemoryKeyValue()),
    }
    return caches[request.param]


async def test_an_equal_request_gets_the_kept_reply_that_costs_nothing_and_says_so(cache: ReplyCache) -> None:
    inner = ScriptedModel(["one", "two"], cost_usd=0.5)
    model = CacheModel(inner, cache)
    first = await model.complete(asked("a"))
    again = await CacheModel(inner, cache).complete(asked("a"))
    assert (first.is_cached, first.usage.cost_usd, first.usage.requests) == (False, 0.5, 1)
    assert again == first.model_copy(update={"is_cached": True, "usage": TokenUsage()})
    assert (await model.complete(asked("b"))).text == "two"
    assert inner.remaining_count == 0


async def test_a_stream_flows_and_is_kept_and_a_kept_reply_is_a_stream(cache: ReplyCache) -> None:
    model = CacheModel(PiecewiseModel(["Hel", "lo."]), cache)
    assert await shown(model) == ["Hel", "lo.", "<reply: Hello.>"]
    assert await shown(model) == ["Hello.", "<reply: Hello.>"]
    assert (await model.complete(asked())).is_cached


async def test_models_that_share_a_cache_keep_their_replies_apart(cache: ReplyCache) -> None:
    first = CacheModel(ScriptedModel(["one"], name="a:first"), cache)
    second = CacheModel(ScriptedModel(["two"], name="b:second"), cache)
    assert [(await model.complete(asked())).text for model in (first, second, first)] == ["one", "two", "one"]


@pytest.mark.parametrize(
    ("settings", "any_temperature", "is_kept"),
    [
        (ModelSettings(), False, True),
        (ModelSettings(temperature=0), False, True),
        (ModelSettings(temperature=0.7), False, False),
        (ModelSettings(temperature=0.7), True, True),
    ],
)
async def test_replies_that_are_meant_to_differ_are_kept_only_on_demand(
    settings: ModelSettings, any_temperature: bool, is_kept: bool
) -> None:
    model = CacheModel(ScriptedModel(["one", "two"]), any_temperature=any_temperature)
    request = asked().model_copy(update={"settings": settings})
    await model.complete(request)
    assert (await model.complete(request)).is_cached is is_kept


@pytest.mark.parametrize("stop_reason", [StopReason.LENGTH, StopReason.REFUSED])
async def test_a_reply_that_is_cut_or_refused_is_not_kept(stop_reason: StopReason) -> None:
    cut = ModelReply(message=ChatMessage.assistant("Hel"), stop_reason=stop_reason)
    model = CacheModel(ScriptedModel([cut, "Hello."]))
    assert [(await model.complete(asked())).text for _ in range(2)] == ["Hel", "Hello."]


async def test_an_error_is_not_kept() -> None:
    model = CacheModel(ScriptedModel([OverloadedError("scripted:model", "busy"), "Hello."]))
    with pytest.raises(OverloadedError):
        await model.complete(asked())
    assert (await model.complete(asked())).text == "Hello."


async def test_the_least_recently_used_reply_is_forgotten_first() -> None:
    model = CacheModel(FunctionModel(lambda _: "Yes."), MemoryReplyCache(2))
    for question in ("a", "b", "a", "c"):
        await model.complete(asked(question))
    assert [(await model.complete(asked(question))).is_cached for question in ("a", "c", "b")] == [
        True,
        True,
        False,
    ]


async def test_a_damaged_file_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    model = CacheModel(ScriptedModel(["one", "two"]), FileReplyCache(tmp_path))
    await model.complete(asked())
    (file,) = list_files(tmp_path)
    assert mode_of(file) == 0o600
    file.write_bytes(b'{"message": \xff')
    assert (await model.complete(asked())).text == "two"
    assert (await model.complete(asked())).is_cached
