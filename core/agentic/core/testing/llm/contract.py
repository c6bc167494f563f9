"""The contract of every adapter to a provider's API."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import gzip
import json
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from agentic.core.llm import (
    BadModelRequestError,
    ChatMessage,
    ChatRole,
    CutReplyError,
    DataPart,
    LLMAdapter,
    ModelConnectionError,
    ModelError,
    ModelReply,
    ModelRequest,
    ModelSettings,
    ModelTimeoutError,
    OutputFormat,
    RateLimitedError,
    StopReason,
    TextPart,
    ThinkingPart,
    TokenUsage,
    ToolCall,
    ToolDefinition,
    ToolResult,
)
from agentic.core.llm import errors as model_errors
from agentic.core.testing.llm.server import KEY, Framing, ModelServer, ModelWire, WireAnswer, serving
from agentic.core.types import JSONValue

FRAMINGS: tuple[Framing, ...] = ("chunked", "close")
ODD_TEXTS = (
    "plain",
    "two\nlines\r\nand a tab\t",
    "line\u2028separator\u0085next",
    "data: [DONE]\n\ndata: x",
    "Zoë 漢字 🐍 \\u0041 \"quoted\" {'json': 1}",
    " leading and trailing ",
)
USAGE = TokenUsage(
    input_tokens=1_200,
    output_tokens=40,
    cache_read_tokens=1_000,
    thinking_tokens=7,
    requests=1,
    cost_usd=None,
)
SCHEMA: dict[str, JSONValue] = {
    "type": "object",
    "title": "Offer",
    "properties": {
        "name": {"type": "string", "minLength": 1, "title": "Name"},
        "price": {"anyOf": [{"type": "number", "minimum": 0}, {"type": "null"}], "default": None},
        "color": {"enum": ["red", "green"], "type": "string"},
        "note": {"type": "string", "default": ""},
        "tags": {"type": "array", "items": {"type": "string"}, "default": []},
        "seller": {"$ref": "#/$defs/Seller"},
        "kind": {"const": "offer", "type": "string", "default": "offer"},
    },
    "required": ["name", "color", "seller"],
    "$defs": {
        "Seller": {
            "type": "object",
            "properties": {"name": {"type": "string", "pattern": "^[A-Z]"}, "rank": {"type": "integer"}},
            "required": ["name"],
        }
    },
}
FREE_KEYS: dict[str, JSONValue] = {
    "type": "object",
    "properties": {"facts": {"type": "object", "additionalProperties": {"type": "string"}}},
    "required": ["facts"],
}
TOOLS = (
    ToolDefinition(name="find_offer", description="Finds an offer.", parameters=SCHEMA),
    ToolDefinition(name="note", description="Keeps facts.", parameters=FREE_KEYS),
    ToolDefinition(name="now"),
)
OFFERS: tuple[dict[str, JSONValue], ...] = (
    {"name": "Hat", "price": None, "color": "red", "seller": {"name": "Bo"}, "kind": "offer"},
    {
        "name": "Hat",
        "price": 12.5,
        "color": "green",
        "note": "x",
        "tags": ["a"],
        "seller": {"name": "Bo", "rank": 1},
        "kind": "offer",
    },
)
FOREIGN_ANSWERS = (
    ("text/html", b"<html>Hello</html>"),
    ("application/json", b"[1]"),
    ("text/event-stream", b"data: {oops\n\n"),
    ("application/x-ndjson", b"oops\n"),
)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

sizes = st.lists(st.integers(min_value=1, max_value=9), min_size=1, max_size=4)
json_values: st.SearchStrategy[JSONValue] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
arguments = st.dictionaries(st.text(min_size=1, max_size=6), json_values, max_size=4)


def said(*parts: TextPart | ThinkingPart | ToolCall, stop: StopReason = StopReason.END) -> ModelReply:
    """Return a reply as a provider gives it."""
    if stop is StopReason.END and any(isinstance(part, ToolCall) for part in parts):
        stop = StopReason.TOOL_CALLS
    message = ChatMessage(role=ChatRole.ASSISTANT, parts=parts)
    return ModelReply(message=message, usage=USAGE, stop_reason=stop, model="model-1", id="reply-1")


def asked(*messages: ChatMessage | str, **more: object) -> ModelRequest:
    """Return a request."""
    given = [ChatMessage.user(one) if isinstance(one, str) else one for one in messages] or [
        ChatMessage.user("Hi")
    ]
    return ModelRequest.model_validate({"messages": tuple(given), "instructions": "Be brief.", **more})


async def check_property(
    check: Callable[..., Awaitable[None]], examples: int = 15, **strategies: st.SearchStrategy[Any]
) -> None:
    """Check a property with drawn values on the running event loop, where server and model are."""
    loop = asyncio.get_running_loop()

    async def checked(drawn: dict[str, Any]) -> None:
        await check(**drawn)

    @settings(max_examples=examples, deadline=None, database=None)
    @given(**strategies)
    def run(**drawn: Any) -> None:  # noqa: ANN401  # as the strategies draw
        asyncio.run_coroutine_threadsafe(checked(drawn), loop).result(60)

    await asyncio.to_thread(run)


class LLMAdapterContract:
    """What every adapter must do; subclasses give a fixture ``wire``."""

    @pytest.fixture
    async def server(self, wire: ModelWire) -> AsyncIterator[ModelServer]:
        async with serving(wire) as server:
            yield server
        assert server.problems == []

    @pytest.fixture
    async def model(self, wire: ModelWire, server: ModelServer) -> AsyncIterator[LLMAdapter]:
        async with wire.adapter(server.url) as model:
            yield model

    @pytest.mark.parametrize("text", ODD_TEXTS)
    async def test_a_text_comes_in_pieces_and_as_a_whole(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter, text: str
    ) -> None:
        reply = said(TextPart(text=text))
        server.script(wire.streamed(reply, [3]), wire.streamed(reply, [1, 5]))
        deltas = [delta async for delta in model.stream(asked())]
        assert "".join(delta.text for delta in deltas) == text
        assert [delta.reply is not None for delta in deltas] == [*[False] * (len(deltas) - 1), True]
        assert deltas[-1].reply == await model.complete(asked()) == self.expected(wire, reply)

    async def test_calls_of_tools_are_whole_wherever_their_arguments_were_cut(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        async def check(given: list[dict[str, JSONValue]], cuts: list[int]) -> None:
            calls = [ToolCall(id=f"call-{n}", name="note", arguments=one) for n, one in enumerate(given)]
            reply = said(TextPart(text="Let me see."), *calls)
            server.script(wire.streamed(reply, cuts))
            deltas = [delta async for delta in model.stream(asked(tools=TOOLS))]
            assert self.comparable(wire, deltas[-1].reply) == self.comparable(wire, reply)
            names = [delta.tool_call.name for delta in deltas if delta.tool_call and delta.tool_call.name]
            assert names == ["note"] * len(calls)

        await check_property(check, given=st.lists(arguments, min_size=1, max_size=4), cuts=sizes)

    async def test_results_go_back_in_a_request_that_the_provider_accepts(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        first = said(
            ToolCall(id="a", name="note", arguments={"facts": {"x": "1"}}), ToolCall(id="b", name="now")
        )
        last = said(TextPart(text="Done."))
        server.script(wire.streamed(first, [4]), wire.streamed(last, [4]), wire.streamed(last, [4]))
        reply = await model.complete(asked(tools=TOOLS))
        contents: tuple[JSONValue, ...] = ("no such fact", {"t": 12.5})
        results = [
            ToolResult(call_id=call.id, name=call.name, content=content, is_error=isinstance(content, str))
            for call, content in zip(reply.tool_calls, contents, strict=True)
        ]
        messages = (ChatMessage.user("Hi"), reply.message, ChatMessage.tool(*results))
        assert (await model.complete(asked(*messages, tools=TOOLS))).text == "Done."
        # Results may come in messages of their own, and a person may add something.
        apart = (*messages[:2], *map(ChatMessage.tool, results), ChatMessage.user("And?"))
        assert (await model.complete(asked(*apart, tools=TOOLS))).text == "Done."

    async def test_arguments_that_are_not_json_are_kept_and_can_go_back(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        call = ToolCall(id="a", name="now")
        result = ToolResult(call_id="a", name="now", content="The arguments are not JSON.", is_error=True)
        broken = call.model_copy(update={"invalid": '{"x": '})
        server.script(wire.streamed(said(TextPart(text="Sorry.")), [9]))
        request = asked("Hi", ChatMessage.assistant("", broken), ChatMessage.tool(result), tools=TOOLS)
        assert (await model.complete(request)).text == "Sorry."

    async def test_half_a_character_is_replaced_and_everything_else_is_sent_as_it_is(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        """A cut text, or a JSON answer of a site, may contain half of a surrogate pair; no API accepts it."""
        half = "\ud83d"
        call = ToolCall(id="a", name="note", arguments={"facts": {f"k{half}": "漢字"}})
        result = ToolResult(call_id="a", name="note", content=[f"found {half}", "🐍"])
        server.script(wire.streamed(said(TextPart(text="So.")), [9]))
        messages = (
            ChatMessage.user(f"Hi {half}\ude00 é"),
            ChatMessage.assistant("", call),
            ChatMessage.tool(result),
        )
        request = asked(*messages, instructions=f"Be {half} brief.", tools=TOOLS)
        assert (await model.complete(request)).text == "So."
        sent = json.dumps(server.requests[-1].body, ensure_ascii=False)
        sent.encode()  # no half is left
        for words in ("Hi 😀 é", "Be \ufffd brief.", "found \ufffd", "🐍", "k\ufffd", "漢字"):
            assert words in sent

    async def test_thoughts_go_back_as_they_came(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        opaque = wire.thinking("Hmm, 漢字.")
        reply = said(ThinkingPart(text="Hmm, 漢字.", opaque=opaque), ToolCall(id="a", name="now"))
        server.script(wire.streamed(reply, [2]), wire.streamed(said(TextPart(text="Noon.")), [2]))
        deltas = [delta async for delta in model.stream(asked(tools=TOOLS))]
        assert "".join(delta.thinking for delta in deltas) == "Hmm, 漢字."
        found = deltas[-1].reply
        assert found is not None
        assert self.comparable(wire, found) == self.comparable(wire, reply)
        stored = ChatMessage.from_json(found.message.to_json())
        results = ChatMessage.tool(ToolResult(call_id=found.tool_calls[0].id, name="now", content="12:00"))
        await model.complete(asked("Hi", stored, results, tools=TOOLS))
        assert wire.thoughts_in(server.requests[-1]) == [opaque]

    async def test_thoughts_of_another_provider_are_left_out(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        foreign = ThinkingPart(text="Hmm.", opaque={"elsewhere": {"signature": "xyz"}})
        server.script(wire.streamed(said(TextPart(text="Yes.")), [9]))
        await model.complete(
            asked("Hi", ChatMessage(role=ChatRole.ASSISTANT, parts=(foreign, TextPart(text="So."))), "?")
        )
        assert wire.thoughts_in(server.requests[-1]) == []
        assert "xyz" not in str(server.requests[-1].body)

    @pytest.mark.parametrize("given", OFFERS)
    async def test_output_and_arguments_have_the_form_of_the_schema(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter, given: dict[str, JSONValue]
    ) -> None:
        enforced = wire.enforced(given)
        text = TextPart(text=json.dumps(enforced))
        call = ToolCall(id="a", name="find_offer", arguments=enforced)
        server.script(wire.streamed(said(text), [5]), wire.streamed(said(call), [5]))
        output = OutputFormat(name="offer", schema=SCHEMA, description="An offer.")
        assert json.loads((await model.complete(asked(output=output))).text) == given
        assert (await model.complete(asked(tools=TOOLS))).tool_calls[0].arguments == given

    async def test_usage_counts_cached_tokens_and_thoughts(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        reply = said(TextPart(text="Yes."))
        server.script(wire.streamed(reply, [2]))
        usage = (await model.complete(asked())).usage
        assert usage == self.expected(wire, reply).usage
        assert usage.requests == 1
        assert usage.input_tokens == 1_200

    async def test_the_reason_to_stop_is_known(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        for reason in map(StopReason, wire.stops):
            part = ToolCall(id="a", name="now") if reason is StopReason.TOOL_CALLS else TextPart(text="So")
            server.script(wire.streamed(said(part, stop=reason), [2]))
            assert (await model.complete(asked(tools=TOOLS))).stop_reason is reason

    async def test_settings_and_choices_are_accepted(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        given = ModelSettings(
            temperature=0.5, max_tokens=4_000, stop=("END",), parallel_tool_calls=False, thinking="off"
        )
        choices = ("auto", "none", *(("required", "now") if wire.has_tool_choice else ()))
        for choice in choices:
            server.script(wire.streamed(said(TextPart(text="So")), [2]))
            await model.complete(asked(tools=TOOLS, tool_choice=choice, settings=given))

    async def test_a_long_conversation_with_images_is_accepted(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        image = DataPart(media_type="image/png", data=PIXEL)
        messages = [
            ChatMessage.system("Speak French."),
            ChatMessage.user("Describe this.", image, author_name="Ann"),
            ChatMessage.user("And quickly.", author_name="Bo"),
            ChatMessage.assistant("A pixel."),
            ChatMessage.assistant("A black one."),
            ChatMessage.system("Speak English now."),
            ChatMessage.user("Thanks."),
        ]
        server.script(wire.streamed(said(TextPart(text="So")), [2]))
        await model.complete(asked(*messages))
        sent = str(server.requests[-1].body)
        assert PIXEL in sent.replace("-", "+").replace("_", "/")  # base64 for URLs is as good
        assert all(message.text in sent for message in messages)
        assert "Ann: Describe this." in sent

    async def test_a_part_that_cannot_be_sent_is_refused_by_name_before_anything_is_sent(
        self, server: ModelServer, model: LLMAdapter
    ) -> None:
        odd = DataPart(media_type="application/x-odd", data="AAAA")
        misplaced = ChatMessage(role=ChatRole.USER, parts=(ToolCall(id="a", name="now"),))
        for message, name in ((ChatMessage.user("Hi", odd), "application/x-odd"), (misplaced, "tool_call")):
            with pytest.raises(BadModelRequestError, match=name):
                await model.complete(asked(message))
        with pytest.raises(BadModelRequestError, match="tool_choice 'other'"):
            await model.complete(asked(tools=TOOLS, tool_choice="other"))
        assert server.requests == []

    async def test_failures_have_the_class_that_fits_and_are_not_retried(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        for name, answer in wire.failures().items():
            cls = getattr(model_errors, name.partition(":")[0])
            sent_count = len(server.requests)
            server.script(answer)
            with pytest.raises(ModelError) as caught:
                await model.complete(asked())
            assert type(caught.value) is cls, f"{name}: {caught.value!r}"
            assert caught.value.model == model.name
            assert len(server.requests) == sent_count + 1

    async def test_the_wait_is_that_of_the_answer(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        later = datetime.now(UTC) + timedelta(seconds=90)
        waits: list[tuple[dict[str, str], float, float]] = [
            ({"Retry-After": "17"}, 17, 17),
            ({"Retry-After": format_datetime(later, usegmt=True)}, 30, 90),
            ({"retry-after-ms": "1500", "Retry-After": "2"}, 1.5, 1.5),
        ]
        for headers, least, most in waits:
            server.script(WireAnswer(status=429, headers=headers, body=wire.error(429, "Slow down.")))
            with pytest.raises(RateLimitedError) as caught:
                await model.complete(asked())
            assert caught.value.retry_after_s is not None
            assert least <= caught.value.retry_after_s <= most
        server.script(WireAnswer(status=429, body=wire.error(429, "Slow down.")))
        with pytest.raises(RateLimitedError) as caught:
            await model.complete(asked())
        assert caught.value.retry_after_s is None

    @pytest.mark.parametrize(
        "body", [b"", b"<html><h1>Bad Gateway</h1></html>", b"[]", b'"x"', b"\xff\xfe", b"{" * 5_000]
    )
    async def test_bodies_of_errors_that_are_not_json_are_understood(
        self, server: ModelServer, model: LLMAdapter, body: bytes
    ) -> None:
        server.script(WireAnswer(status=502, kind="text/html", body=body))
        with pytest.raises(model_errors.OverloadedError) as caught:
            await model.complete(asked())
        assert len(str(caught.value)) < 1_000
        assert caught.value.status == 502

    async def test_an_error_without_end_is_read_to_a_limit_also_if_it_is_packed(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        packed = gzip.compress(wire.error(429, "Slow down, please."))
        server.script(WireAnswer(status=429, headers={"Content-Encoding": "gzip"}, body=packed))
        with pytest.raises(RateLimitedError, match="Slow down, please"):
            await model.complete(asked())
        large = wire.error(400, f"Too bad. {'x' * 2**21}")
        for headers, body in (({}, large), ({"Content-Encoding": "gzip"}, gzip.compress(large * 20)[:-9])):
            server.script(WireAnswer(status=400, headers=headers, body=body, framing="close", stalls=True))
            with pytest.raises(BadModelRequestError, match="Too bad"):
                await model.complete(asked(settings=ModelSettings(timeout_s=20)))

    async def test_an_answer_that_is_not_of_the_api_is_an_error_of_models(
        self, server: ModelServer, model: LLMAdapter
    ) -> None:
        for kind, body in FOREIGN_ANSWERS:
            server.script(WireAnswer(kind=kind, body=body))
            with pytest.raises(ModelError):
                await model.complete(asked())

    async def test_the_time_limit_holds_for_the_whole_reply(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        whole = wire.streamed(said(TextPart(text="A long story. " * 40)), [5])
        silent = replace(whole, cut=0, stalls=True)
        stuck = replace(whole, cut=len(whole.raw()) // 2, stalls=True)
        for answer in (silent, stuck):
            server.script(answer)
            with pytest.raises(ModelTimeoutError, match=r"0\.2 s|no answer"):
                await model.complete(asked(settings=ModelSettings(timeout_s=0.2)))

    async def test_a_reader_that_takes_its_time_is_not_stopped(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        server.script(*[wire.streamed(said(TextPart(text="Yes, it is.")), [2])] * 2)
        await model.complete(asked())  # the first request takes longer
        stream = model.stream(asked(settings=ModelSettings(timeout_s=1)))
        await anext(stream)
        passed = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(1, passed.set_result, None)
        await passed  # the limit has passed, and this code still runs
        with pytest.raises(ModelTimeoutError):
            async for _ in stream:
                pass

    @pytest.mark.parametrize("framing", FRAMINGS)
    async def test_a_cut_stream_is_never_a_whole_reply(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter, framing: Framing
    ) -> None:
        thoughts = ThinkingPart(text="Hmm.", opaque=wire.thinking("Hmm."))
        calls = ToolCall(id="a", name="note", arguments={"facts": {"a": "漢"}}), ToolCall(id="b", name="now")
        reply = said(thoughts, TextPart(text="So."), *calls)
        whole = replace(wire.streamed(reply, [3]), framing=framing)
        raw = whole.raw()
        head = raw.index(b"\r\n\r\n") + 4
        needed = len(whole.raw(wire.last_stop(whole)))

        async def check(cut: int) -> None:
            if cut < needed:
                server.script(replace(whole, cut=cut))
                with pytest.raises(ModelConnectionError) as caught:
                    await model.complete(asked(tools=TOOLS))
                assert cut < head or isinstance(caught.value, CutReplyError)
                return
            server.script(replace(whole, cut=cut))  # only bytes after the reply are missing
            with contextlib.suppress(CutReplyError):
                found = await model.complete(asked(tools=TOOLS))
                assert self.comparable(wire, found) == self.comparable(wire, reply)

        for cut in (index for index, byte in enumerate(raw) if byte == ord("\n")):  # between events
            await check(cut)
        await check_property(check, 60, cut=st.integers(min_value=0, max_value=len(raw) - 1))

    async def test_a_server_that_does_not_listen_is_a_lost_connection(self, wire: ModelWire) -> None:
        async with serving(wire) as server:
            url = server.url
        async with wire.adapter(url) as model:
            with pytest.raises(ModelConnectionError) as caught:
                await model.complete(asked())
        assert not isinstance(caught.value, CutReplyError)

    async def test_a_redirect_is_not_followed(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        async with serving(wire) as other:
            server.script(WireAnswer(status=307, headers={"Location": f"{other.url}/v1"}, body=b"{}"))
            with pytest.raises(ModelError):
                await model.complete(asked())
            assert other.requests == []

    async def test_the_key_is_sent_and_never_shown(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        server.script(
            WireAnswer(status=401, body=wire.error(401, f"Wrong key {KEY}.")),
            WireAnswer(status=500, kind="text/plain", body=f"fault: {KEY}".encode()),
            replace(wire.streamed(said(TextPart(text="Yes.")), [2]), cut=120),
        )
        with capture_logs() as logs:
            for _ in range(3):
                with pytest.raises(ModelError) as caught:
                    await model.complete(asked())
                error = caught.value
                shown = [str(error), repr(error), str(vars(error)), repr(vars(copy.copy(error)))]
                shown += traceback.format_exception(error)
                assert KEY not in "".join(shown)
                assert error.__cause__ is None
                assert error.__context__ is None
        assert KEY in str(server.requests[0].headers)
        assert KEY not in repr(model) + str(vars(model)) + str(logs)

    async def test_many_conversations_at_a_time_do_not_mix(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        replies = [said(TextPart(text=f"{number} " * 50)) for number in range(8)]
        server.script(*(wire.streamed(reply, [7]) for reply in replies))
        found = await asyncio.gather(*(model.complete(asked()) for _ in replies))
        assert sorted(reply.text for reply in found) == sorted(reply.text for reply in replies)

    async def test_a_stream_that_is_left_early_closes_its_connection(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        whole = wire.streamed(said(TextPart(text="A long story. " * 400)), [5])
        server.script(replace(whole, cut=len(whole.raw()) // 2, stalls=True), whole)
        stream = model.stream(asked())
        assert (await anext(stream)).text
        await stream.aclose()  # type: ignore[attr-defined]  # an asynchronous generator
        assert (await model.complete(asked())).text

    async def test_an_adapter_works_after_it_was_closed_and_in_another_event_loop(
        self, wire: ModelWire, server: ModelServer, model: LLMAdapter
    ) -> None:
        server.script(*[wire.streamed(said(TextPart(text="Yes.")), [2])] * 4)
        assert (await model.complete(asked())).text == "Yes."
        await model.aclose()
        await model.aclose()
        assert (await model.complete(asked())).text == "Yes."

        async def once() -> str:
            async with model:
                return (await model.complete(asked())).text

        for _ in range(2):
            assert await asyncio.to_thread(asyncio.run, once()) == "Yes."

    def expected(self, wire: ModelWire, reply: ModelReply) -> ModelReply:
        """Return a reply as the adapter must return it."""
        return wire.said_of(reply)

    def comparable(self, wire: ModelWire, reply: ModelReply | None) -> ModelReply:
        """Return a reply without the ids of calls, if the provider gives none."""
        assert reply is not None
        parts = tuple(
            part.model_copy(update={"id": ""}) if isinstance(part, ToolCall) and not wire.gives_ids else part
            for part in reply.message.parts
        )
        expected = self.expected(wire, reply)
        return expected.model_copy(update={"message": expected.message.model_copy(update={"parts": parts})})
