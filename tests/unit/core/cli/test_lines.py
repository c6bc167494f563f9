"""Lines with one long column, and what a terminal is spared."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from agentic.core.cli import main as entrance
from agentic.core.cli import output
from agentic.core.settings import Settings

ROWS = [{"name": "aggregate", "does": f"Makes {'a list ' * 20}of items."}, {"name": "x", "does": "\x1b[2J"}]


def printed(monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool) -> list[str]:
    text = StringIO()
    console = Console(file=text, width=80, force_terminal=is_terminal, no_color=True, color_system=None)
    monkeypatch.setattr(output, "console", console)
    output.print_lines("Actors", ["name", "does"], ROWS)
    return text.getvalue().splitlines()


def test_a_terminal_gets_a_line_each_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = printed(monkeypatch, is_terminal=True)
    assert len(lines) == 4
    assert max(map(len, lines)) <= 80
    assert lines[2].startswith("  aggregate   Makes a list")
    assert lines[2].endswith("…")


def test_a_pipe_gets_each_line_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(monkeypatch, is_terminal=False)[2].endswith("of items.")


def test_control_characters_are_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(monkeypatch, is_terminal=False)[3] == r"  x           \x1b[2J"


@pytest.mark.parametrize(
    ("is_terminal", "settings", "verbose", "level"),
    [
        (True, Settings.model_validate({}), False, "critical"),
        (True, Settings.model_validate({}), True, "info"),
        (True, Settings.model_validate({"log_level": "warning"}), False, "warning"),
        (False, Settings.model_validate({}), False, "warning"),
        (False, Settings.model_validate({"log_level": "debug"}), True, "debug"),
    ],
)
def test_log_lines_are_for_pipes_and_for_those_who_ask(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, settings: Settings, verbose: bool, level: str
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)
    assert entrance.log_level_of(settings, verbose=verbose) == level
