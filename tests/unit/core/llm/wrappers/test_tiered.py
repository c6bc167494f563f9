"""A fast model for simple work, a smart one for what the fast one fails at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.llm.wrappers.streams import shown

from agentic.core.llm import (
    ChatMessage,
    ErrorFingerprint,
    FailurePick,
    ModelRequest,
    ScriptedModel,
    TieredModel,
    ToolResult,
    WordFingerprinter,
)

pytestmark = pytest.mark.requirement("LM07")


def conversation(*results: str | tuple[str | None, ...] | None) -> ModelRequest:
    """Return a request after calls of a tool: each result is the text of an error, or None."""
    messages = [ChatMessage.user("Mend it.")]
    for group in results:
        texts = group if isinstance(group, tuple) else (group,)
        messages.append(ChatMessage.assistant("I try."))
        messages.append(
            ChatMessage.tool(
                *(
                    ToolResult(call_id="1", name="compile", content=text or "ok", is_error=text is not None)
                    for text in texts
                )
            )
        )
    return ModelRequest(messages=tuple(messages))


TYPO = "NameError: name 'total' is not defined (line 12 of /src/cart.py)"
TYPO_AGAIN = "NameError: name 'total' is not defined (line 40 of /src/shop/cart.py)"
OTHER = "SyntaxError: expected a colon"


@pytest.mark.parametrize(
    ("results", "tier"),
    [
        ((), "fast"),
        ((None,), "fast"),
        ((TYPO,), "fast"),
        ((TYPO, OTHER), "fast"),
        ((TYPO, TYPO_AGAIN), "smart"),
        ((TYPO, OTHER, TYPO_AGAIN), "smart"),
        ((TYPO, OTHER, "ValueError: third"), "smart"),
        ((TYPO, None, TYPO), "fast"),
        (((None, TYPO), (TYPO, None)), "smart"),
        (((TYPO, TYPO),), "fast"),
        (("word " * 1_000,), "smart"),
        (("word " * 1_000, None), "fast"),
    ],
)
def test_the_smart_model_gets_what_the_fast_one_did_not_mend(
    results: tuple[str | None, ...], tier: str
) -> None:
    assert FailurePick()(conversation(*results)) == tier


def test_a_new_message_of_a_person_begins_with_the_fast_model() -> None:
    before = conversation(TYPO, TYPO_AGAIN)
    after = before.model_copy(update={"messages": (*before.messages, ChatMessage.user("Leave it."))})
    assert FailurePick()(after) == "fast"


def test_patience_is_how_many_failures_the_fast_model_may_see() -> None:
    assert FailurePick(patience=0)(conversation(TYPO)) == "smart"
    assert FailurePick(patience=3)(conversation(TYPO, OTHER, "ValueError: third")) == "fast"


def test_a_fingerprinter_of_another_room_decides_what_is_complex() -> None:
    class ByBorrows:
        def fingerprint(self, error: str) -> ErrorFingerprint:
            return ErrorFingerprint(key=error, is_complex="borrow" in error)

    pick = FailurePick(ByBorrows())
    assert pick(conversation("cannot borrow `x` as mutable")) == "smart"
    assert pick(conversation(TYPO, TYPO_AGAIN)) == "fast"


@given(st.integers(), st.integers(), st.from_regex(r"/[a-z/]{1,20}", fullmatch=True))
def test_numbers_and_paths_do_not_change_a_fingerprint(line: int, column: int, path: str) -> None:
    fingerprint = WordFingerprinter().fingerprint
    error = "type mismatch: expected text, at {} {}:{}"
    assert fingerprint(error.format(path, line, column)) == fingerprint(error.format("/a", 1, 2))
    assert fingerprint(error) != fingerprint("no such file")


async def test_each_request_is_sent_to_the_model_that_was_picked_and_the_reply_names_it() -> None:
    fast = ScriptedModel(["quick", "quick"], name="a:fast")
    smart = ScriptedModel(["wise"], name="a:smart")
    model = TieredModel(fast, smart)
    replies = [await model.complete(conversation(*errors)) for errors in ((), (TYPO, TYPO))]
    assert [(reply.text, reply.replied_by) for reply in replies] == [("quick", "a:fast"), ("wise", "a:smart")]
    assert await shown(model, conversation()) == ["quick", "<reply: quick>"]


async def test_the_pick_may_be_a_function_and_another_word_is_refused() -> None:
    fast, smart = ScriptedModel(["quick"]), ScriptedModel(["wise"])
    model = TieredModel(fast, smart, lambda request: "smart" if request.instructions else "fast")
    assert await model.generate("Think hard.", "Why?") == "wise"
    with pytest.raises(ValueError, match="returned 'clever'; return 'fast' or 'smart'"):
        await TieredModel(fast, smart, lambda _: "clever").complete(conversation())  # type: ignore[arg-type,return-value]  # a mistake
