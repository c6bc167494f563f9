"""Events are found wherever the bytes were cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.llm.adapting import EventDecoder, LongEventError, sse

texts = st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])), max_size=4)


@given(texts=texts, end=st.sampled_from(["\n", "\r\n", "\r"]), cuts=st.lists(st.integers(1, 20), min_size=1))
def test_events_are_whole_wherever_the_bytes_are_cut(texts: list[str], end: str, cuts: list[int]) -> None:
    raw = (
        "".join(f": note{end}event: x{end}data: {text}{end}id: 1{end}{end}" for text in texts).encode()
        + b"\n"
    )
    decoder, found, start, number = EventDecoder(), list[str](), 0, 0
    while start < len(raw):
        size = cuts[number % len(cuts)]
        found += decoder.feed(raw[start : start + size])
        start, number = start + size, number + 1
    assert found == texts


def test_lines_of_data_belong_together_and_an_event_without_its_empty_line_is_none() -> None:
    assert list(EventDecoder().feed(b"data: a\ndata:b\n\ndata: c\n")) == ["a\nb"]


def test_an_endless_event_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 1_000)
    for piece in (b"x" * 100, b"data: " + b"x" * 100 + b"\n"):
        with pytest.raises(LongEventError):
            feed_all(EventDecoder(), [piece] * 20)


def feed_all(decoder: EventDecoder, pieces: list[bytes]) -> list[str]:
    return [event for piece in pieces for event in decoder.feed(piece)]
