"""The guide to evaluations: its files are those of the example, and what it shows is what happens."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.commands import invoke
from tests.databases import only_sqlite
from tests.e2e.guides import Command, File, Shell, steps_of

from agentic.core.cli.main import build_app
from agentic.core.errors import AgenticError

if TYPE_CHECKING:
    from tests.integration.plugins.evals.conftest import Line

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[4]
GUIDE = (ROOT / "docs" / "how-to" / "evaluate-agents.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "evaluated_labels"
LINES = ((re.compile("─+"), "─"),)  # as wide as the cells
PROGRAM = re.compile(r"```python\n(import asyncio\n.*?)```\n\n```text\n(.*?)```", re.DOTALL)


class Here(Shell):
    """A shell whose commands run in this process: to start them takes longer than what they do."""

    def _type(self, command: Command) -> None:
        assert command.text.startswith("agentic ")
        words = shlex.split(re.sub(r"\b[0-9a-f]{8,32}\b", self._known, command.text))[1:]
        result = invoke(build_app(), words)
        printed = result.output
        if isinstance(result.exception, AgenticError):
            printed += f"agentic: {result.exception}\n"
        assert (result.exit_code != 0) == bool(command.code), f"{command.text!r} says\n{printed}"
        pattern = self._pattern(command.shown)
        assert re.fullmatch(pattern, self._fixed(printed)), f"{command.text!r} says\n{printed}\n{pattern}"


def test_the_files_of_the_guide_are_the_files_of_the_example() -> None:
    files = {step.path: step.text for step in steps_of(GUIDE) if isinstance(step, File)}
    assert files == {
        path.name: path.read_text("utf-8") for path in EXAMPLE.iterdir() if path.suffix in {".py", ".yaml"}
    }


@only_sqlite
def test_the_guide_is_followed_from_the_first_run_to_the_replay(line: Line) -> None:
    Here(line.folder, {}, varying=LINES).follow(GUIDE)


def test_the_program_of_the_guide_prints_what_it_shows() -> None:
    (found,) = PROGRAM.findall(GUIDE)
    printed, names = io.StringIO(), dict[str, Any](__name__="__main__")
    with contextlib.redirect_stdout(printed):
        exec(compile(found[0], "guide", "exec"), names)  # of our own page
    assert printed.getvalue() == found[1]
