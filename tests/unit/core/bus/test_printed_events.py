"""Events as lines for people."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from tests.unit.core.bus.conftest import MakeEvent

from agentic.core.bus import PublishedEvent
from agentic.core.cli import events
from agentic.core.graph import EventKind


@pytest.mark.parametrize(
    ("kind", "is_terminal", "is_cut"),
    [
        (EventKind.EXECUTOR_COMPLETED, True, True),
        (EventKind.EXECUTOR_COMPLETED, False, False),
        (EventKind.EXECUTOR_FAILED, True, False),
    ],
)
def test_a_terminal_gets_a_line_for_each_event_and_failures_whole(
    make_event: MakeEvent,
    monkeypatch: pytest.MonkeyPatch,
    kind: EventKind,
    is_terminal: bool,
    is_cut: bool,
) -> None:
    text = StringIO()
    console = Console(file=text, width=80, force_terminal=is_terminal, no_color=True, color_system=None)
    monkeypatch.setattr(events, "console", console)
    event = make_event(1, kind=kind, data={"error": "no way " * 12 + "out"})
    events.print_event(PublishedEvent(stream_sequence=1, project="shop", event=event))
    line = text.getvalue().removesuffix("\n")
    assert (len(line) <= 80, line.endswith("…"), "way out" in line) == (is_cut, is_cut, not is_cut)
