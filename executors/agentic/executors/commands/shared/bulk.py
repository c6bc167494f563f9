"""One change to many things: shows the number first, and then the outcome of each."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Generic, TypeVar

import typer

from agentic.core.cli import err_console, print_json
from agentic.core.errors import AgenticError
from agentic.executors.commands.runs.steering import say
from agentic.executors.commands.shared.options import confirm

T = TypeVar("T")

FAILED = "failed"
MAX_NAMED = 20
"""Maximum names in the question; more are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkOutcome:
    """The outcome for one thing.

    Attributes:
        name: Name of the thing.
        outcome: In a word: ``disabled``, ``unchanged``, ``failed``.
        error: Why it failed.
    """

    name: str
    outcome: str
    error: str | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.outcome}" + (f": {self.error}" if self.error else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkOptions:
    """How to run a batch.

    Attributes:
        yes: Do not ask.
        dry_run: Only report.
        as_json: Print the outcomes as a list.
    """

    yes: bool = False
    dry_run: bool = False
    as_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(Generic[T]):
    """One action on several things.

    Attributes:
        things: Their noun, singular and plural: ``("agent", "agents")``.
        verb: The action: ``disable``.
        chosen: The things, each with its name.
        act: Does it with one thing, and returns the outcome in a word.
        is_named: The user named each of them, so they need not be listed.
        loses: The data it deletes; without a terminal it then needs ``--yes``.
        check: Raises the error that ``act`` would raise for one, for a dry run.
    """

    things: tuple[str, str]
    verb: str
    chosen: Sequence[tuple[str, T]]
    act: Callable[[T], str]
    is_named: bool = False
    loses: str = ""
    check: Callable[[T], None] | None = None

    def run(self, bulk_options: BulkOptions) -> None:
        """Do it with one after the other; if a single named one fails, this raises its error.

        Raises:
            typer.Abort: The user declined.
            typer.Exit: Some failed.
        """
        if self._is_batch:
            self._announce()
        if self.chosen and not (bulk_options.yes or bulk_options.dry_run):
            self._ask()
        outcomes: list[BulkOutcome] = []
        try:
            for name, thing in self.chosen:
                outcomes.append(self._outcome(name, thing, bulk_options))
        except BaseException:
            if self._is_batch:
                self._tell(outcomes, bulk_options)
                self._tell_rest(len(outcomes))
            raise
        self._tell(outcomes, bulk_options)
        if any(outcome.outcome == FAILED for outcome in outcomes):
            raise typer.Exit(1)

    def _tell(self, outcomes: Sequence[BulkOutcome], bulk_options: BulkOptions) -> None:
        if bulk_options.as_json:
            print_json([asdict(outcome) for outcome in outcomes])
        elif len(self.chosen) > 1:
            counts = Counter(outcome.outcome for outcome in outcomes)
            words = ", ".join(f"{count} {word}" for word, count in counts.items()) or "nothing was changed"
            how_many = "" if len(outcomes) == len(self.chosen) else f"{len(outcomes)} of "
            say(f"{how_many}{self._count}: {words}")

    def _tell_rest(self, done_count: int) -> None:
        """Report the rest of an interrupted batch: one was in progress, others not begun."""
        name, rest = self.chosen[done_count][0], len(self.chosen) - done_count - 1
        in_hand = f"interrupted at {self.things[0]} {name}, which may be done or not"
        line = f"{in_hand}; the {rest} after it are unchanged"
        err_console.print(line, markup=False, highlight=False, soft_wrap=True)

    @property
    def _is_batch(self) -> bool:
        return not self.is_named or len(self.chosen) > 1

    @property
    def _count(self) -> str:
        return f"{len(self.chosen)} {self.things[len(self.chosen) != 1]}"

    def _announce(self) -> None:
        names = [name for name, _ in self.chosen[:MAX_NAMED]]
        more = len(self.chosen) - len(names)
        listed = ", ".join(names) + (f" and {more} more" if more else "")
        line = f"{self._count} to {self.verb}{': ' if names else ''}{listed}"
        err_console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _ask(self) -> None:
        if self.loses or (self._is_batch and sys.stdin is not None and sys.stdin.isatty()):
            what = f"these {self._count}" if self._is_batch else f"{self.things[0]} {self.chosen[0][0]}"
            question = f"{self.verb.capitalize()} {what}{' and ' if self.loses else ''}{self.loses}?"
            confirm(question)

    def _would(self, thing: T) -> str:
        if self.check is not None:
            self.check(thing)
        return f"would {self.verb}"

    def _outcome(self, name: str, thing: T, bulk_options: BulkOptions) -> BulkOutcome:
        try:
            outcome = BulkOutcome(
                name=name, outcome=self._would(thing) if bulk_options.dry_run else self.act(thing)
            )
        except AgenticError as exc:
            if not self._is_batch:
                raise
            outcome = BulkOutcome(name=name, outcome=FAILED, error=str(exc))
        if not bulk_options.as_json:
            say(f"{self.things[0]} {outcome}")
        return outcome
