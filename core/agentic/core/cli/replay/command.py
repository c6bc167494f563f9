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
from agentic.core.cli.replay.places import known_sources
from agentic.core.cli.replay.retelling import replay_events
from agentic.core.cli.replay.sources import RunEvents, RunEventsNotFoundError, gather
from agentic.core.cli.replay.stepping import KEYS, go_through, span
from agentic.core.cli.replay.story import ReplayedRun, ReplayedStep
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
        RunEventsNotFoundError: There is no event of it.
        UnknownStepError: It has no superstep ``step``.
    """
    with _waiting():
        found, faults = gather(run, project, known_sources())
    replayed = replay_events(found.events, found.run_id)
    if replayed is None:
        raise RunEventsNotFoundError(run, faults)
    _tell_absent(faults)
    steps = _chosen(replayed, step, is_backwards=is_backwards)
    if as_json:
        for one in steps:
            _print_json({"run_id": replayed.run_id, "project": found.project, **one.to_dict()})
    elif step is None and not shows_all and console.is_terminal and sys.stdin.isatty():
        _by_hand(replayed, found, is_backwards=is_backwards)
    else:
        _print_all(replayed, found, steps, is_backwards=is_backwards)


@contextmanager
def _waiting() -> Iterator[None]:
    """Show that something goes on: a large stream takes a while, some 7,000 events a second."""
    if err_console.is_terminal:
        with err_console.status("loading events"):
            yield
    else:
        yield


def _chosen(replayed: ReplayedRun, number: int | None, *, is_backwards: bool) -> Sequence[ReplayedStep]:
    steps = [step for step in replayed.steps if number is None or step.number == number]
    if not steps and number is not None:
        raise UnknownStepError(replayed.run_id, number, [step.number for step in replayed.steps])
    return steps[::-1] if is_backwards else steps


def _by_hand(replayed: ReplayedRun, found: RunEvents, *, is_backwards: bool) -> None:
    last = len(replayed.steps) - 1

    def show(at: int) -> None:
        _print(step_lines(replayed.steps[at]))
        if at == last:
            _print(ending_lines(replayed, time.time()))

    _print([*_head(replayed, found), Text(KEYS, "dim")])
    go_through(
        [step.number for step in replayed.steps], show, input, lambda words: _print([Text(words)]),
        is_backwards=is_backwards,
    )  # fmt: skip


def _print_all(
    replayed: ReplayedRun, found: RunEvents, steps: Sequence[ReplayedStep], *, is_backwards: bool
) -> None:
    _print(_head(replayed, found))
    ending = ending_lines(replayed, time.time()) if replayed.steps[-1] in steps else []
    if is_backwards:
        _print(ending)
    for one in steps:
        _print(step_lines(one))
    if not is_backwards:
        _print(ending)


def _head(replayed: ReplayedRun, found: RunEvents) -> list[Text]:
    return heading(replayed, found.project, " and ".join(found.sources))


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
