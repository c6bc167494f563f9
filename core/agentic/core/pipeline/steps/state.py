"""The state of a running pipeline: one immutable message that goes from step to step."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from agentic.core.actors import Failure, ModelUse
from agentic.core.http.exits.uses import ProxyUse, added_uses
from agentic.core.pipeline.expressions.expressions import Path, ReferenceFailedError, descend
from agentic.core.pipeline.policies.policies import StepAttempt
from agentic.core.types import JSONValue

MAX_NOTES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFailure:
    """A step, or a loop's item, that failed.

    Attributes:
        step: Id of the step, after the ids of the loops around it: ``"details/fetch"``.
        failure: The last one, which decided the result.
        attempts: Every attempt; empty if its input could not be made.
        item: The loop's item as JSON text; None outside of loops.
        is_letter: Whether it becomes a dead letter.
    """

    __wire_name__: ClassVar[str] = "agentic.core.pipeline.state.StepFailure"

    step: str
    failure: Failure
    attempts: tuple[StepAttempt, ...] = ()
    item: str | None = None
    is_letter: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredStep:
    """A step that succeeded at last, after failures; ``item`` is the loop's item as JSON text, if any."""

    __wire_name__: ClassVar[str] = "agentic.core.pipeline.state.Retried"

    step: str
    attempts: tuple[StepAttempt, ...]
    item: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepNote:
    """A warning of a step that succeeded: ``"'div.x' fits nothing on http://..."``.

    Attributes:
        step: The step by its number and id, for people: ``"step 2 extract_list"``.
        message: The warning.
        subject: Its subject, if such warnings are counted: ``"field 'price'"``.
        count: How many there were about its subject; ``message`` is the first.
    """

    __wire_name__: ClassVar[str] = "agentic.core.pipeline.state.StepNote"

    step: str
    message: str
    subject: str = ""
    count: int = 1

    @property
    def text(self) -> str:
        """The step, the warning and, if there were several like it, how many."""
        others = f" (1 of {self.count} warnings about {self.subject})" if self.count > 1 else ""
        return f"{self.step}: {self.message}{others}"


def add_notes(known: Sequence[StepNote], more: Iterable[StepNote]) -> tuple[StepNote, ...]:
    """Return both, each once, and the first ``MAX_NOTES``; those about one subject are added up."""
    found: dict[tuple[str, ...], StepNote] = {}
    for note in (*known, *more):
        key = (note.step, "", note.subject) if note.subject else (note.step, note.message)
        first = found.get(key)
        if first is None:
            found[key] = note
        elif note.subject:
            found[key] = replace(first, count=first.count + note.count)
    return tuple(found.values())[:MAX_NOTES]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureTally:
    """How many pages failed with one class, and the first messages."""

    __wire_name__: ClassVar[str] = "agentic.core.pipeline.state.FailureTally"

    failure_class: str
    count: int = 0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlTotals:
    """The result of a crawl, in pages of the frontier, items on them, and rows of the tables."""

    __wire_name__: ClassVar[str] = "agentic.core.pipeline.state.CrawlTotals"

    done: int = 0
    failed: int = 0
    excluded: int = 0
    left: int = 0
    items: int = 0
    beyond: int = 0
    outside: int = 0
    borders: tuple[str, ...] = ()
    inserted: int = 0
    updated: int = 0
    unchanged: int = 0
    rejected: int = 0
    tallies: tuple[FailureTally, ...] = ()
    reread: int = 0
    unstored: int = 0
    held: int = 0
    drift: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineState:
    """Inputs and results by name, and the failures so far.

    Values are kept as JSON text: the message is immutable down to its last part, so the engine never copies
    it, and only the step that uses a value parses it.

    Attributes:
        values: (name, JSON text), each name once. ``inputs`` holds all inputs; inputs and results of steps
            also have their own names, and the newest wins. Names no later step needs are dropped.
        failures: Failed steps and items, in order.
        retried: Steps that needed more than one attempt.
        crawl: Of the crawl step, once it ended.
        left_out: Items beyond the ``max_items`` of loops.
        notes: What steps warned about.
        skipped: Steps left out because a result they need was never made.
        passed_over: Steps whose ``when`` was not true.
        branch: The branch of the last choice: ``"steps"`` or ``"otherwise"``.
        models: The use of models so far; None if no model was asked.
        proxies: Requests through each of several proxies.
    """

    __wire_name__: ClassVar[str] = "agentic.core.pipeline.state.PipelineState"

    values: tuple[tuple[str, str], ...] = ()
    failures: tuple[StepFailure, ...] = ()
    retried: tuple[RecoveredStep, ...] = ()
    crawl: CrawlTotals | None = None
    left_out: int = 0
    notes: tuple[StepNote, ...] = ()
    skipped: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()
    branch: str = ""
    models: ModelUse | None = None
    proxies: tuple[ProxyUse, ...] = ()

    def has(self, name: str) -> bool:
        """Whether there is a value of that name."""
        return any(known == name for known, _ in self.values)

    def value(self, name: str) -> JSONValue:
        """Return the value of that name.

        Raises:
            MissingResultError: It does not exist.
        """
        for known, text in self.values:
            if known == name:
                parsed: JSONValue = json.loads(text)
                return parsed
        raise MissingResultError(name)

    def only(self, names: Collection[str]) -> PipelineState:
        """Return a state of these values alone, without failures or notes."""
        return PipelineState(values=tuple((name, text) for name, text in self.values if name in names))

    def with_proxies(self, uses: Sequence[ProxyUse]) -> PipelineState:
        """Return the state with these requests through proxies added."""
        return replace(self, proxies=added_uses(self.proxies, uses)) if uses else self

    def lookup(self, path: Path) -> JSONValue:
        """Return the value of a dotted path.

        Raises:
            ReferenceFailedError: It leads nowhere.
        """
        return descend(self.value(path[0]), path[1:], path)

    def bind(self, results: Mapping[str, JSONValue], keep: Collection[str]) -> PipelineState:
        """Return the state with ``results`` added, holding only the names in ``keep`` and the inputs."""
        texts = {
            **dict(self.values),
            **{name: dump(value) for name, value in results.items() if name in keep},
        }
        kept = tuple((name, text) for name, text in texts.items() if name in keep or name == "inputs")
        return replace(self, values=kept)


class MissingResultError(ReferenceFailedError):
    """The step that gives this name was skipped."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "is missing because its step was skipped")


def dump(value: JSONValue) -> str:
    """Return ``value`` as JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
