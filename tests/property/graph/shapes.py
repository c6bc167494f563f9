"""Random workflows as plain data: which executors there are, what they do, and how they are connected."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeVar

from hypothesis import strategies as st

from agentic.core.graph.definition.edges import JoinMode, On, OnItemError, RetryPayload

MAX_LOAD = 60
MAX_INNER_LOAD = 12

OptionT = TypeVar("OptionT")
Way = Literal["one by one", "gather", "group"]


@dataclass(frozen=True)
class Rule:
    """A condition: of ``among`` messages ``share`` pass, and only those of fewer than ``below`` hops."""

    among: int = 1
    share: int = 1
    below: int = 99
    is_async: bool = False


@dataclass(frozen=True)
class Script:
    """What an executor does with a message; it does the same whenever it gets the same.

    Attributes:
        sends: Messages it sends.
        is_frozen: Whether those cannot be changed.
        aims: Whether each is for one target only.
        strays: Whether some are for an executor that is no target.
        mends: Whether it strays and clashes in its first try only.
        returns: Whether it returns one more message.
        yields: Outputs it yields.
        splits: Whether it sends one list instead.
        writes: Keys of the shared state it writes.
        reads: Whether what it does depends on the shared state.
        counts: Whether it counts its messages in ``ctx.local``, and what it does depends on that.
        failures: Tries that fail before one succeeds.
        breaks: Of how many messages one fails for good; 0 for none.
        attempts: Tries there are.
        asks: Requests it raises.
        asks_some: Whether it does so for some of its messages only.
        way: How, if they are several.
        expires: Whether nobody answers the first of them in time.
        remembers: Whether it does something through ``ctx.once``.
        is_plain: Whether it is a sync function, which only passes messages on.
        is_picky: Whether it takes no frozen messages.
        lanes: Messages it handles at a time.
    """

    sends: int = 1
    is_frozen: bool = False
    aims: bool = False
    strays: bool = False
    mends: bool = False
    returns: bool = False
    yields: int = 0
    splits: bool = False
    writes: tuple[str, ...] = ()
    reads: bool = False
    counts: bool = False
    failures: int = 0
    breaks: int = 0
    attempts: int = 1
    asks: int = 0
    asks_some: bool = False
    way: Way = "one by one"
    expires: bool = False
    remembers: bool = False
    is_plain: bool = False
    is_picky: bool = False
    lanes: int = 1


@dataclass(frozen=True)
class Node:
    """An executor, or a workflow in its place."""

    id: str
    script: Script = Script()
    inner: Shape | None = None


@dataclass(frozen=True)
class Direct:
    source: str
    target: str
    rule: Rule | None = None
    on: On = "success"


@dataclass(frozen=True)
class Switch:
    source: str
    cases: tuple[tuple[Rule, str], ...]
    default: str
    on: On = "success"


@dataclass(frozen=True)
class FanOut:
    source: str
    targets: tuple[str, ...]
    selects: bool = False
    on: On = "success"


@dataclass(frozen=True)
class FanIn:
    sources: tuple[str, ...]
    target: str
    mode: JoinMode = "all"
    on: On = "success"


@dataclass(frozen=True)
class MapOver:
    source: str
    body: str
    join: str
    lanes: int = 1
    window: int = 2
    on_item_error: OnItemError = "collect"


@dataclass(frozen=True)
class Retry:
    source: str
    target: str
    rule: Rule
    max_passes: int = 1
    exhausted: str | None = None
    payload: RetryPayload = "input"


Link = Direct | Switch | FanOut | FanIn | MapOver | Retry


@dataclass(frozen=True)
class Shape:
    """A workflow.

    Attributes:
        nodes: In declaration order.
        links: In declaration order.
        starts: Each gets the input.
        hops: After so many a message has no successors, so that loops end.
        supersteps: Limit of them.
        is_strict: Whether an undeliverable message fails the run.
        attempts: Tries of executors that have no policy of their own.
        max_parallel: Activations at a time.
        version: Of the workflow.
    """

    nodes: tuple[Node, ...]
    links: tuple[Link, ...] = ()
    starts: tuple[str, ...] = ("n0",)
    hops: int = 5
    supersteps: int = 12
    is_strict: bool = False
    attempts: int = 1
    max_parallel: int | None = None
    version: str | None = None


@dataclass(frozen=True)
class Taste:
    """What may be in a shape.

    Attributes:
        depth: Levels of sub-workflows.
        asks: Whether there are requests.
        expires: Whether some of them expire.
    """

    depth: int = 2
    asks: bool = True
    expires: bool = True


class Dice(Protocol):
    """Where chance comes from."""

    def number(self, least: int, most: int) -> int:
        """Return one of the numbers, both ends included."""
        ...


class SeededDice:
    """Throws the same for the same seed."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def number(self, least: int, most: int) -> int:
        return self._random.randint(least, most)


class DrawnDice:
    """Lets hypothesis decide, so that it can look for a simpler case."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def number(self, least: int, most: int) -> int:
        return self._draw(st.integers(least, most))


@st.composite
def shapes(draw: st.DrawFn, taste: Taste = Taste()) -> Shape:
    """Return any workflow."""
    return Drawing(DrawnDice(draw), taste).shape()


class Drawing:
    """Draws one shape."""

    def __init__(self, dice: Dice, taste: Taste, *, level: int = 0) -> None:
        self._dice = dice
        self._taste = taste
        self._level = level
        self._nodes: dict[str, Node] = {}
        self._links: list[Link] = []
        self._parents: dict[str, str] = {}

    def shape(self) -> Shape:
        size = self._dice.number(1, 2) if self._level else self._dice.number(2, 5)
        names = [f"n{number}" for number in range(size)]
        starts = names[:2] if size > 2 and self._chance(15) else names[:1]
        for name in names:
            self._nodes[name] = self._node(name)
        for name in names[len(starts) :]:
            self._parents[name] = self._pick(names[: names.index(name)])
            self._connect(self._direct(self._parents[name], name))
        kinds = [
            self._fan_in, self._map, self._retry, self._fan_in, self._feedback, self._switch, self._fan_out,
            self._extra_direct, self._loop, self._failure, self._retry, self._map,
        ]  # fmt: skip
        for _ in range(self._dice.number(0, 1) if self._level else self._dice.number(1, 5)):
            self._pick(kinds)()
        return self._whole(starts)

    def _whole(self, starts: Sequence[str]) -> Shape:
        shape = Shape(
            nodes=tuple(self._nodes.values()),
            links=tuple(self._links),
            starts=tuple(starts),
            hops=self._dice.number(4, 6),
            supersteps=self._dice.number(7, 12),
            is_strict=self._chance(15),
            attempts=2 if self._chance(10) else 1,
            max_parallel=self._pick([None, None, None, 1, 2]),
            version=self._pick([None, "1"]),
        )
        while shape.hops > 1 and load_of(shape) > (MAX_INNER_LOAD if self._level else MAX_LOAD):
            shape = replace(shape, hops=shape.hops - 1)
        return _within(shape, shape.hops)

    def _node(self, name: str) -> Node:
        script = self._script()
        inner = None
        if self._level < self._taste.depth and self._chance(12):
            inner = Drawing(self._dice, self._taste, level=self._level + 1).shape()
        return Node(name, script, inner)

    def _script(self) -> Script:
        taste = self._taste
        if self._chance(8):
            return Script(is_plain=True)
        script = Script(
            sends=self._pick([1, 1, 1, 1, 1, 1, 2, 2, 0]),
            is_frozen=self._chance(30),
            aims=self._chance(10),
            strays=self._chance(6),
            mends=self._chance(50),
            returns=self._chance(15),
            yields=self._pick([0, 0, 1, 1, 2]),
            writes=self._writes(),
            remembers=self._chance(10),
            lanes=self._pick([1, 1, 1, 3]),
        )
        if taste.asks and self._chance(16):
            expires = taste.expires and self._chance(45)
            asks, asks_some, way = self._dice.number(1, 2), self._chance(40), self._pick(_WAYS)
            script = replace(script, asks=asks, asks_some=asks_some, way=way, expires=expires)
        if self._chance(15):
            failures = self._dice.number(1, 2)
            attempts = self._pick([3, 3, 2, 1])
            script = replace(script, failures=failures, attempts=attempts)
        counts = self._chance(20)
        return replace(
            script,
            breaks=self._pick([0] * 19 + [3]),
            is_picky=self._chance(6),
            reads=self._chance(20),
            counts=counts,
            lanes=1 if counts else script.lanes,
        )

    def _writes(self) -> tuple[str, ...]:
        keys = ["sum"] * self._chance(20) + ["chain"] * self._chance(20) + ["own"] * self._chance(15)
        return tuple(keys + ["clash"] * self._chance(3))

    def _direct(self, source: str, target: str) -> Direct:
        on: On = "always" if self._chance(8) else "success"
        return Direct(source, target, self._rule() if self._chance(20) else None, on)

    def _rule(self, below: int = 99) -> Rule:
        among = self._dice.number(2, 3)
        return Rule(among, self._dice.number(1, among - 1) if below == 99 else among, below, self._chance(20))

    def _extra_direct(self) -> None:
        source, target = self._forward()
        self._connect(self._direct(source, target))

    def _switch(self) -> None:
        source, target = self._forward()
        cases = tuple((self._rule(), self._pick(self._names())) for _ in range(self._dice.number(1, 2)))
        self._connect(Switch(source, cases, target, self._on()))

    def _fan_out(self) -> None:
        targets = self._some_names(1)
        self._connect(FanOut(self._pick(self._names()), targets, self._chance(40), self._on()))

    def _fan_in(self) -> None:
        if len(self._nodes) > 1:
            mode = self._pick(_MODES)
            self._connect(FanIn(self._some_names(2), self._pick(self._names()), mode, self._on()))

    def _feedback(self) -> None:
        """A loop through a join: what comes of it is joined with what was there."""
        if len(self._nodes) > 1:
            target, source = self._forward()
            others = [name for name in self._names() if name not in {source, target}] or [target]
            self._connect(FanIn((self._pick(others), source), target, self._pick(_MODES)))

    def _loop(self) -> None:
        target, source = self._forward(or_same=True)
        self._connect(Direct(source, target, self._rule(below=self._dice.number(2, 4))))

    def _failure(self) -> None:
        source, target = self._forward()
        script = replace(self._nodes[source].script, breaks=2, is_plain=False)
        self._nodes[source] = replace(self._nodes[source], script=script)
        self._connect(Direct(source, target, on="failure"))

    def _retry(self) -> None:
        validator = self._pick(self._names())
        above = list(self._above(validator))
        if not above:
            return
        exhausted: str | None = self._pick(self._names())
        worker = self._pick(above)
        if exhausted == worker or self._chance(30):
            exhausted = None
        payload: RetryPayload = "message" if self._chance(30) else "input"
        rule = self._rule() if self._chance(30) else Rule()
        self._connect(Retry(validator, worker, rule, self._dice.number(1, 2), exhausted, payload))

    def _map(self) -> None:
        number = len(self._nodes)
        source, join = self._pick(self._names()[:2]), self._pick(self._names())
        split, body = Node(f"split{number}", Script(splits=True)), self._body(f"body{number}")
        self._nodes |= {split.id: split, body.id: body}
        self._connect(Direct(source, split.id))
        lanes = 1 if body.script.counts else self._dice.number(1, 3)
        window, on_item_error = self._pick(_WINDOWS), self._pick(_ON_ITEM_ERROR)
        self._connect(MapOver(split.id, body.id, join, lanes, window, on_item_error))

    def _body(self, name: str) -> Node:
        node = self._node(name)
        breaks = self._pick([0, 3])
        # Items are handled side by side: what they write without a reducer is a conflict.
        writes = tuple(key for key in node.script.writes if key in {"sum", "chain"})
        script = replace(node.script, breaks=breaks, writes=writes, aims=False, strays=False)
        if self._taste.asks and self._chance(50):  # some items wait while others go on
            script = replace(script, asks=1, asks_some=True)
        return replace(node, script=script)

    def _on(self) -> On:
        return self._pick(_ONS)

    def _names(self) -> list[str]:
        return [name for name in self._nodes if name.startswith("n")]

    def _forward(self, *, or_same: bool = False) -> tuple[str, str]:
        names = self._names()
        first = self._dice.number(0, len(names) - 1 if or_same or len(names) == 1 else len(names) - 2)
        second = self._dice.number(min(first + (not or_same), len(names) - 1), len(names) - 1)
        return names[first], names[second]

    def _some_names(self, least: int) -> tuple[str, ...]:
        left = self._names()
        count = self._dice.number(least, min(3, len(left)))
        return tuple(left.pop(self._dice.number(0, len(left) - 1)) for _ in range(count))

    def _above(self, name: str) -> Iterator[str]:
        while name in self._parents:
            name = self._parents[name]
            yield name

    def _connect(self, link: Link) -> None:
        """Add a link, unless the builder would call it a second one of its kind."""
        if not any(_is_twin(link, other) for other in self._links):
            self._links.append(link)

    def _chance(self, percent: int) -> bool:
        return self._dice.number(1, 100) > 100 - percent

    def _pick(self, options: Sequence[OptionT]) -> OptionT:
        return options[self._dice.number(0, len(options) - 1)]


def _within(shape: Shape, hops: int) -> Shape:
    """Return a shape in which no sub-workflow sends a message further than the workflow around it."""
    nodes = tuple(
        node if node.inner is None else replace(node, inner=_within(node.inner, hops)) for node in shape.nodes
    )
    return replace(shape, nodes=nodes, hops=min(hops, shape.hops))


def load_of(shape: Shape) -> int:
    """Return about how many messages are handled, if every condition lets every message pass."""
    ends = {node.id: [end for link in shape.links for end in ends_of(link, node.id)] for node in shape.nodes}
    sends = {node.id: _sends(node) for node in shape.nodes}
    loads = {node.id: load_of(node.inner) if node.inner else 1 for node in shape.nodes}
    due = Counter(shape.starts)
    total = 0
    for _ in range(shape.hops + 1):
        total += sum(loads[name] * count for name, count in due.items())
        sent = Counter[str]()
        for name, count in due.items():
            sent.update(dict.fromkeys(ends[name], 0))
            for end in ends[name]:
                sent[end] += count * sends[name]
        due = sent
    return total


def _sends(node: Node) -> int:
    script = node.script
    if node.inner is not None:
        return 2 * len(node.inner.nodes)
    return 3 if script.splits else 1 if script.is_plain else script.sends + script.returns


def ends_of(link: Link, source: str) -> tuple[str, ...]:
    """Return where messages of ``source`` can get over a link."""
    ends: tuple[str, ...]
    match link:
        case FanIn():
            return (link.target,) if source in link.sources else ()
        case MapOver():
            return (link.body,) if source == link.source else (link.join,) if source == link.body else ()
        case Switch():
            ends = (*(target for _, target in link.cases), link.default)
        case FanOut():
            ends = link.targets
        case Direct():
            ends = (link.target,)
        case Retry():
            ends = (link.target,) if link.exhausted is None else (link.target, link.exhausted)
    return ends if link.source == source else ()


_WAYS: tuple[Way, ...] = ("one by one", "gather", "group")
_MODES: tuple[JoinMode, ...] = ("latest", "all", "available", "latest")
_WINDOWS = (2, 1, 3, 2, 5)
_ON_ITEM_ERROR: tuple[OnItemError, ...] = ("collect", "skip", "fail")
_ONS: tuple[On, ...] = ("success", "success", "success", "always", "failure")


def _is_twin(one: Link, other: Link) -> bool:
    """Whether the builder would refuse a link, as what it carries comes over the other, too."""
    if isinstance(one, (MapOver, Retry)) or isinstance(other, (MapOver, Retry)):
        return False
    if one.on != other.on and "always" not in {one.on, other.on}:
        return False
    chosen = _is_chosen(one), _is_chosen(other)
    match one, other:
        case FanIn(), FanIn():
            return (one.sources, one.target, one.mode) == (other.sources, other.target, other.mode)
        case Direct(), Direct():
            is_refused = not any(chosen)
        case (FanOut(), FanOut()) if all(chosen):
            return (one.source, one.targets) == (other.source, other.targets)
        case _ if isinstance(one, FanIn) or isinstance(other, FanIn):
            is_refused = not any(chosen)
        case _:
            is_refused = not all(chosen)
    return is_refused and bool(_ways(one) & _ways(other))


def _is_chosen(link: Direct | Switch | FanOut | FanIn) -> bool:
    match link:
        case Direct():
            return link.rule is not None
        case FanOut():
            return link.selects
        case _:
            return isinstance(link, Switch)


def _ways(link: Direct | Switch | FanOut | FanIn) -> set[tuple[str, str]]:
    sources = link.sources if isinstance(link, FanIn) else (link.source,)
    return {(source, end) for source in sources for end in ends_of(link, source)}
