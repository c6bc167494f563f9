"""``agentic events replay``: where events are looked for, and how the steps are shown."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.text import Text

from agentic.core.cli.output import console, err_console
from agentic.core.cli.replay.lines import ending_lines, heading, step_lines
from agentic.core.cli.replay.retelling import retell
from agentic.core.cli.replay.sources import Telling, UntoldRunError, gather, known_sources
from agentic.core.cli.replay.stepping import KEYS, go_through, span
from agentic.core.cli.replay.story import Step, Story
from agentic.core.errors import AgenticError


class UnknownStepError(AgenticError, LookupError):
    """A run has no such superstep."""

    def __init__(self, run_id: str, number: int, numbers: Sequence[int]) -> None:
        super().__init__(
            f"no events of superstep {number} of run {run_id!r}; there are events of {span(numbers)}"
        )
        self.number = number


def replay_run(
    run: str,
    project: str | None,
    *,
    step: int | None,
    is_backwards: bool,
    shows_all: bool,
    as_json: bool,
) -> None:
    """Show the steps of a run: by hand in a terminal, else one after the other.

    Raises:
        UntoldRunError: There is no event of it.
        UnknownStepError: It has no superstep ``step``.
    """
    with _waiting():
        found, faults = gather(run, project, known_sources())
    story = retell(found.events, found.run_id)
    if story is None:
        raise UntoldRunError(run, faults)
    _tell_absent(faults)
    steps = _chosen(story, step, is_backwards=is_backwards)
    if as_json:
        for one in steps:
            _print_json({"run_id": story.run_id, "project": found.project, **one.to_dict()})
    elif step is None and not shows_all and console.is_terminal and sys.stdin.isatty():
        _by_hand(story, found, is_backwards=is_backwards)
    else:
        _print_all(story, found, steps, is_backwards=is_backwards)


@contextmanager
def _waiting() -> Iterator[None]:
    """Show that something goes on: a large stream takes a while, some 7,000 events a second."""
    if err_console.is_terminal:
        with err_console.status("loading events"):
            yield
    else:
        yield


def _chosen(story: Story, number: int | None, *, is_backwards: bool) -> Sequence[Step]:
    steps = [step for step in story.steps if number is None or step.number == number]
    if not steps and number is not None:
        raise UnknownStepError(story.run_id, number, [step.number for step in story.steps])
    return steps[::-1] if is_backwards else steps


def _by_hand(story: Story, found: Telling, *, is_backwards: bool) -> None:
    last = len(story.steps) - 1

    def show(at: int) -> None:
        _print(step_lines(story.steps[at]))
        if at == last:
            _print(ending_lines(story, time.time()))

    _print([*_head(story, found), Text(KEYS, "dim")])
    go_through(
        [step.number for step in story.steps], show, input, lambda words: _print([Text(words)]),
        is_backwards=is_backwards,
    )  # fmt: skip


def _print_all(story: Story, found: Telling, steps: Sequence[Step], *, is_backwards: bool) -> None:
    _print(_head(story, found))
    ending = ending_lines(story, time.time()) if story.steps[-1] in steps else []
    if is_backwards:
        _print(ending)
    for one in steps:
        _print(step_lines(one))
    if not is_backwards:
        _print(ending)


def _head(story: Story, found: Telling) -> list[Text]:
    return heading(story, found.project, " and ".join(found.sources))


def _print(lines: Sequence[Text]) -> None:
    for line in lines:
        console.print(line, soft_wrap=True)


def _print_json(step: Mapping[str, object]) -> None:
    sys.stdout.write(json.dumps(step) + "\n")  # in ASCII: text that is no valid Unicode survives it
    sys.stdout.flush()


def _tell_absent(faults: Mapping[str, AgenticError]) -> None:
    """Say which servers that there should be could not be asked."""
    for name, fault in faults.items():
        if isinstance(fault, ConnectionError):
            err_console.print(f"could not read {name}: {fault}", style="yellow", markup=False, soft_wrap=True)
