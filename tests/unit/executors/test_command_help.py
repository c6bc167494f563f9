"""The help of commands."""

from __future__ import annotations

from tests.integration.executors.access.attempts import commands

COLUMNS = 80
BORDER = 2


def test_help_is_not_broken_in_the_middle_of_lines_of_80_columns() -> None:
    """The first paragraph is filled for the terminal; of others the lines are printed as they are written."""
    wide = {
        name: line
        for name, command in commands().items()
        for paragraph in (command.help or "").split("\n\n")[1:]
        for line in paragraph.splitlines()
        if len(line) > COLUMNS - BORDER
    }
    assert wide == {}
