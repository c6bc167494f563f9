"""Where messages go, said again in the plainest way: what the engine does must be the same.

It follows a shape, never the engine's graph, and knows of a run only what its executors came to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from tests.property.graph.mail import Slip, gist, holds, share_of
from tests.property.graph.shapes import (
    Direct,
    FanIn,
    FanOut,
    Link,
    MapOver,
    Node,
    Retry,
    Shape,
    Switch,
    ends_of,
)

from agentic.core import ItemResult
from agentic.core.graph import ExecutorFailure
from agentic.core.types import ExecutorId


@dataclass(frozen=True)
class Way:
    """An input that led to a message, and how often it was delivered again."""

    message: object
    sources: tuple[str, ...]
    passes: Mapping[int, int] = field(default_factory=dict)
    feedback: int = 0


Trail = Mapping[str, Way]


@dataclass(frozen=True)
class Due:
    """A message that an executor is to handle."""

    target: str
    sources: tuple[str, ...]
    message: object
    trail: Trail = field(default_factory=dict)
    item: tuple[int, int] | None = None
    passes: int = 0
    origin: str = ""

    @property
    def facts(self) -> tuple[object, ...]:
        """What the event of its beginning tells."""
        return self.target, self.sources, gist(self.message), self.item, self.passes, self.origin


@dataclass(frozen=True)
class Done:
    """What came of a message."""

    due: Due
    end: Literal["completed", "failed", "parked"]
    sends: tuple[tuple[object, str | None], ...] = ()
    origin: str = ""


@dataclass
class Letter:
    """A message that was sent.

    Attributes:
        copies: Who got it, fan-ins and lists included.
        held_back: Whether some rule did not let it pass.
        refused: Whether somebody could not take it.
    """

    source: str
    message: object
    aim: str | None
    trail: Trail
    is_failure: bool
    copies: int = 0
    held_back: bool = False
    refused: bool = False

    @property
    def is_lost(self) -> bool:
        return not self.copies and not self.is_failure and (self.refused or not self.held_back)

    def may_go(self, target: str) -> bool:
        return self.aim is None or self.aim == target


@dataclass
class Batch:
    """A list that is worked off."""

    link: int
    items: Sequence[object]
    trail: Trail
    handed_out: int = 0
    results: dict[int, ItemResult] = field(default_factory=dict)


class Model:
    """A run's mail.

    Attributes:
        due: What is to be handled in this superstep, in order.
        waiting: Fan-in's index -> source -> messages that wait.
        batches: Lists under way, by their number.
        parked: Messages whose handlers wait for answers, by origin.
        lost: Messages that reached nobody, in this superstep's barrier.
        superseded: Messages that a newer one replaced, likewise.
    """

    def __init__(self, shape: Shape, message: object) -> None:
        self._shape = shape
        self._nodes = {node.id: node for node in shape.nodes}
        self._ranks = {node.id: rank for rank, node in enumerate(shape.nodes)}
        self._workers = {link.target for link in shape.links if isinstance(link, Retry)}
        self._bodies = {link.body for link in shape.links if isinstance(link, MapOver)}
        self._batch_count = 0
        self._next: list[Due] = []
        self.due = self._in_order([Due(start, (), message) for start in shape.starts])
        self.waiting: dict[int, dict[str, list[tuple[object, Trail]]]] = {}
        self.batches: dict[int, Batch] = {}
        self.parked: dict[str, Due] = {}
        self.lost: list[object] = []
        self.superseded: list[object] = []

    def barrier(self, results: Sequence[Done], entered_again: Sequence[str]) -> None:
        """End a superstep.

        Args:
            results: One for each of :attr:`due`, in order.
            entered_again: Origins of the parked that were answered and go on in the next superstep.
        """
        self._next, self.lost, self.superseded = [], [], []
        touched = self._fold(results)
        letters = list(self._letters(results))
        for index, link in enumerate(self._shape.links):
            mine = [letter for letter in letters if _is_for(link, letter)]
            if mine or index in touched:
                self._carry(index, link, mine)
        self.lost += [letter.message for letter in letters if letter.is_lost]
        for done in results:
            if done.end == "parked":
                self.parked[done.origin] = replace(done.due, origin=done.origin)
        again = self.answer(entered_again)
        self._fire_available(again)
        self.due = self._in_order(again + self._next)

    def answer(self, origins: Sequence[str]) -> list[Due]:
        """Take out parked messages, oldest first."""
        return [self.parked.pop(origin) for origin in [*self.parked] if origin in set(origins)]

    def go_on(self, origins: Sequence[str]) -> None:
        """Begin a superstep with nothing but answers."""
        self.due = self._in_order(self.answer(origins))

    def _in_order(self, due: Sequence[Due]) -> list[Due]:
        return sorted(due, key=lambda one: self._ranks[one.target])

    def _letters(self, results: Sequence[Done]) -> Iterator[Letter]:
        for done in results:
            due = done.due
            if done.end != "parked" and due.target not in self._bodies:
                trail = due.trail
                if due.target in self._workers and not due.passes:
                    trail = {**trail, due.target: Way(due.message, due.sources)}
                for message, aim in done.sends:
                    yield Letter(due.target, message, aim, trail, done.end == "failed")

    def _carry(self, index: int, link: Link, letters: Sequence[Letter]) -> None:
        match link:
            case FanIn():
                self._gather(index, link, letters)
            case MapOver():
                self._work_off(index, link, letters)
            case Retry():
                for letter in letters:
                    self._again(index, link, letter)
            case Direct() | Switch() | FanOut():
                for letter in letters:
                    if self._passes_by(link, letter):
                        continue
                    ends = chosen(link, letter.message, self._nodes)
                    if any(map(letter.may_go, ends_of(link, link.source))):
                        letter.held_back |= not any(map(letter.may_go, ends))
                    for target in ends:
                        self._deliver(letter, target)

    def _passes_by(self, link: Direct | Switch | FanOut | Retry, letter: Letter) -> bool:
        """Whether a link's rule is not asked, as none of its ends takes the message and another link can."""
        if (isinstance(link, Direct) and link.rule is None) or (
            isinstance(link, FanOut) and not link.selects
        ):
            return False
        others = [other for other in self._shape.links if _is_for(other, letter)]
        return not self._fits(link, letter) and any(self._fits(other, letter) for other in others)

    def _fits(self, link: Link, letter: Letter) -> bool:
        ends = [end for end in ends_of(link, letter.source) if letter.may_go(end)]
        match link:
            case FanIn():
                return bool(ends)
            case MapOver():
                return bool(ends) and isinstance(letter.message, list)
            case Retry() if link.payload == "input":
                return bool(ends)
            case _:
                return any(takes(self._nodes[end], letter.message) for end in ends)

    def _deliver(self, letter: Letter, target: str, *, is_aimed: bool = True) -> None:
        if is_aimed and not letter.may_go(target):
            return
        if takes(self._nodes[target], letter.message):
            letter.copies += 1
            self._next.append(Due(target, (letter.source,), letter.message, letter.trail))
        else:
            letter.refused = True

    def _again(self, index: int, link: Retry, letter: Letter) -> None:
        if not letter.may_go(link.target):
            return
        if self._passes_by(link, letter):
            return
        way = letter.trail.get(link.target)
        if not holds(link.rule, letter.message):
            letter.held_back = True
        elif way is not None and way.passes.get(index, 0) < link.max_passes:
            if link.payload == "message" and not takes(self._nodes[link.target], letter.message):
                letter.refused = True
                return
            passes = {**way.passes, index: way.passes.get(index, 0) + 1}
            more = replace(way, passes=passes, feedback=way.feedback + 1)
            sources, message = (
                (way.sources, way.message) if link.payload == "input" else ((letter.source,), letter.message)
            )
            letter.copies += 1
            trail = {**letter.trail, link.target: more}
            self._next.append(Due(link.target, sources, message, trail, passes=more.feedback))
        elif way is None:
            letter.refused = True
        elif link.exhausted is not None:
            self._deliver(letter, link.exhausted, is_aimed=False)

    def _gather(self, index: int, link: FanIn, letters: Sequence[Letter]) -> None:
        arrived = [letter for letter in letters if letter.may_go(link.target)]
        box = self.waiting.setdefault(index, {}) if arrived else {}
        for letter in arrived:
            letter.copies += 1
            held = box.setdefault(letter.source, [])
            if link.mode == "latest":
                self.superseded += [message for message, _ in held]
                held.clear()
            held.append((letter.message, letter.trail))
        if arrived and len(box) == len(link.sources) and link.mode != "available":
            self._fire(index, link)

    def _fire(self, index: int, link: FanIn) -> None:
        box = self.waiting[index]
        sources = tuple(source for source in link.sources if source in box)
        held = [one for source in sources for one in box[source]]
        trail: dict[str, Way] = {}
        for _, led in held:
            for worker, way in led.items():
                if worker not in trail or way.feedback >= trail[worker].feedback:
                    trail[worker] = way
        if link.mode != "latest":
            del self.waiting[index]
        self._next.append(Due(link.target, sources, [message for message, _ in held], trail))

    def _fold(self, results: Sequence[Done]) -> set[int]:
        touched: set[int] = set()
        for done in results:
            if done.due.item is not None and done.end != "parked":
                number, index = done.due.item
                batch = self.batches[number]
                batch.results[index] = _item_result(index, done)
                touched.add(batch.link)
        return touched

    def _work_off(self, index: int, link: MapOver, letters: Sequence[Letter]) -> None:
        for letter in letters:
            if letter.may_go(link.body) or letter.may_go(link.join):
                assert isinstance(letter.message, list)
                letter.copies += 1
                self.batches[self._batch_count] = Batch(index, letter.message, letter.trail)
                self._batch_count += 1
        for number, batch in [*self.batches.items()]:
            if batch.link == index:
                self._hand_out(number, batch, link)

    def _hand_out(self, number: int, batch: Batch, link: MapOver) -> None:
        if len(batch.results) == len(batch.items):
            del self.batches[number]
            results = [batch.results[index] for index in sorted(batch.results)]
            kept = [one for one in results if one.error is None or link.on_item_error != "skip"]
            self._next.append(Due(link.join, (link.body,), kept, batch.trail))
        while batch.handed_out < len(batch.items) and batch.handed_out - len(batch.results) < link.window:
            item = (number, batch.handed_out)
            self._next.append(
                Due(link.body, (link.source,), batch.items[batch.handed_out], batch.trail, item)
            )
            batch.handed_out += 1

    def _fire_available(self, again: Sequence[Due]) -> None:
        links = self._shape.links
        busy = {due.target for due in (*again, *self._next)}
        for batch in self.batches.values():
            link = links[batch.link]
            assert isinstance(link, MapOver)
            busy |= {link.body, link.join}
        parked = {due.target for due in self.parked.values()}
        joins = {index: link for index, link in enumerate(links) if isinstance(link, FanIn)}
        open_joins = [index for index in sorted(self.waiting) if not self._is_full(index, joins[index])]
        able = [index for index in sorted(self.waiting) if joins[index].mode == "available"]
        fired = False
        for index in able:
            others = {joins[other].target for other in open_joins if other != index}
            if not self._may_come(index, joins[index], busy | parked | others):
                fired = True
                self._fire(index, joins[index])
        if not fired and not busy:
            for index in able:
                if not self._may_come(index, joins[index], parked):
                    self._fire(index, joins[index])
                    return

    def _is_full(self, index: int, link: FanIn) -> bool:
        return link.mode == "latest" and len(self.waiting[index]) == len(link.sources)

    def _may_come(self, index: int, link: FanIn, froms: set[str]) -> bool:
        """Whether a missing source can be reached without passing the join."""
        reached = set(froms)
        while True:
            links = [other for number, other in enumerate(self._shape.links) if number != index]
            new = {end for other in links for name in reached for end in ends_of(other, name)} - reached
            if not new:
                return bool(reached & (set(link.sources) - set(self.waiting[index])))
            reached |= new


def takes(node: Node, message: object) -> bool:
    """Whether an executor takes a message."""
    if node.inner is not None:
        starts = [inner for inner in node.inner.nodes if inner.id in node.inner.starts]
        return all(takes(start, message) for start in starts)
    return not (node.script.is_picky and not node.script.is_plain and isinstance(message, Slip))


def _is_for(link: Link, letter: Letter) -> bool:
    sources = link.sources if isinstance(link, FanIn) else (link.source,)
    on = "success" if isinstance(link, (MapOver, Retry)) else link.on
    return letter.source in sources and on in {"always", "failure" if letter.is_failure else "success"}


def chosen(
    link: Direct | Switch | FanOut, message: object, nodes: Mapping[str, Node] | None = None
) -> tuple[str, ...]:
    """Return where a link sends a message; a case for a node that does not take it is passed over."""
    match link:
        case Direct():
            return (link.target,) if link.rule is None or holds(link.rule, message) else ()
        case Switch():
            cases = [case for case in link.cases if nodes is None or takes(nodes[case[1]], message)]
            return (next((end for rule, end in cases if holds(rule, message)), link.default),)
        case FanOut():
            return tuple(t for t in link.targets if not link.selects or share_of(message, 3, t))


def _item_result(index: int, done: Done) -> ItemResult:
    if done.end == "failed":
        failure = done.sends[0][0]
        assert isinstance(failure, ExecutorFailure)
        return ItemResult(index=index, item=done.due.message, error=failure)
    values = [message for message, _ in done.sends]
    value = values if len(values) > 1 else next(iter(values), None)
    return ItemResult(index=index, item=done.due.message, value=value)


def failure_of(executor_id: str, error_type: str, message: str) -> ExecutorFailure:
    """Return the record of a failure; how many tries there were is not looked at."""
    return ExecutorFailure(executor_id=ExecutorId(executor_id), error_type=error_type, message=message)
