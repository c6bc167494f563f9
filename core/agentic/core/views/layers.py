"""The layer of each node in a picture, and its place among its neighbours.

The first half of a layered drawing (Sugiyama, Tagawa, Toda, Methods for Visual Understanding of Hierarchical
System Structures, 1981): reverse links that close a cycle, give every node a layer, cut long links into
short ones, and sort the layers so that few links cross.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

LABEL_INDENT = 6.0
_STARTS = 12
_SWEEPS = 24
_PATIENCE = 8  # sweeps without a better order
_MANY_ITEMS = 6000


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A node to place, in pixels."""

    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """An arrow between two nodes, with the room its label needs, in pixels."""

    source: str
    target: str
    label_width: float = 0
    label_height: float = 0


@dataclass(slots=True, eq=False)
class LayerItem:
    """An item of a layer: a node, or the place where a link passes through, with its label.

    Attributes:
        aside: How far to the right of its middle a link runs through it.
        x: Of its middle.
        above: The linked items in the layer above.
        below: The linked items in the layer below.
    """

    width: float
    height: float
    is_node: bool
    aside: float = 0
    layer: int = 0
    order: int = 0
    x: float = 0
    above: list[LayerItem] = field(default_factory=list)
    below: list[LayerItem] = field(default_factory=list)

    @property
    def line(self) -> float:
        """The x of a link that runs through it."""
        return self.x + self.aside


@dataclass(slots=True)
class Layers:
    """Nodes stand in even layers, labels in odd ones.

    Attributes:
        rows: The items of each layer, from left to right.
        nodes: The item of each node.
        chains: For each link its items, downwards, both ends included; only its end for a self loop.
        turned: Indices of the links that point upwards.
    """

    rows: list[list[LayerItem]]
    nodes: dict[str, LayerItem]
    chains: list[list[LayerItem]]
    turned: frozenset[int]


def into_layers(boxes: Mapping[str, Box], links: Sequence[Link]) -> Layers:
    """Return the layers of a graph, sorted. The order of ``boxes`` and ``links`` decides ties."""
    turned = _closing_links(boxes, links)
    down = [(k.target, k.source) if i in turned else (k.source, k.target) for i, k in enumerate(links)]
    layer_of = _layer_numbers(list(boxes), [(a, b) for a, b in down if a != b])
    nodes = {
        name: LayerItem(box.width, box.height, is_node=True, layer=layer_of[name])
        for name, box in boxes.items()
    }
    chains = [_chain(nodes[a], nodes[b], links[i], i in turned) for i, (a, b) in enumerate(down)]
    layers = Layers(_rows(nodes), nodes, chains, turned)
    _sort(layers.rows)
    return layers


def _closing_links(boxes: Mapping[str, Box], links: Sequence[Link]) -> frozenset[int]:
    """Return the links that lead back on the path of a depth-first walk, without self loops."""
    leaving: dict[str, list[int]] = {name: [] for name in boxes}
    for index, link in enumerate(links):
        if link.source != link.target:
            leaving[link.source].append(index)
    closing: set[int] = set()
    done: set[str] = set()
    for root in boxes:
        on_path = {root: iter(leaving[root])}
        while on_path and root not in done:
            name, ahead = next(reversed(on_path.items()))
            index = next(ahead, -1)
            if index < 0:
                done.add(name)
                del on_path[name]
            elif (end := links[index].target) in on_path:
                closing.add(index)
            elif end not in done:
                on_path[end] = iter(leaving[end])
    return frozenset(closing)


def _layer_numbers(names: Sequence[str], down: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Put every node two layers below its lowest source, or close to most of its targets."""
    sources: dict[str, list[str]] = {name: [] for name in names}
    targets: dict[str, list[str]] = {name: [] for name in names}
    for source, target in down:
        sources[target].append(source)
        targets[source].append(target)
    layer: dict[str, int] = {}
    for name in _topological(names, sources, targets):
        layer[name] = 2 + max((layer[source] for source in sources[name]), default=-2)
    for name in reversed(list(layer)):
        if len(targets[name]) > len(sources[name]) > 0:
            layer[name] = min(layer[target] for target in targets[name]) - 2
    return layer


def _topological(
    names: Sequence[str], sources: Mapping[str, list[str]], targets: Mapping[str, list[str]]
) -> Iterator[str]:
    missing = {name: len(sources[name]) for name in names}
    ready = [name for name in names if not missing[name]]
    for name in ready:  # grows when nodes become free
        yield name
        for target in targets[name]:
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)


def _chain(upper: LayerItem, lower: LayerItem, link: Link, is_turned: bool) -> list[LayerItem]:
    if upper is lower:
        return [upper]
    passes = [LayerItem(0, 0, is_node=False, layer=n) for n in range(upper.layer + 1, lower.layer)]
    if link.label_width:
        label = passes[(len(passes) // 4) * 2]  # an odd layer near the middle
        label.width, label.height = link.label_width, link.label_height
        # A link that leads back runs left of its label, so that the forward link close by stays straight.
        label.aside = LABEL_INDENT - label.width / 2 if is_turned else 0
    chain = [upper, *passes, lower]
    for one, other in pairwise(chain):
        one.below.append(other)
        other.above.append(one)
    return chain


def _rows(nodes: Mapping[str, LayerItem]) -> list[list[LayerItem]]:
    """Return the layers in the order of a depth-first walk, which seldom crosses itself."""
    rows: list[list[LayerItem]] = [
        [] for _ in range(1 + max((node.layer for node in nodes.values()), default=-1))
    ]
    seen: set[int] = set()
    stack = [node for node in reversed(list(nodes.values())) if not node.above]
    while stack:
        item = stack.pop()
        if id(item) not in seen:
            seen.add(id(item))
            rows[item.layer].append(item)
            stack.extend(reversed(item.below))
    _number(rows)
    return rows


def _sort(rows: list[list[LayerItem]]) -> None:
    """Sort the layers from several starting orders, each a further rotation of the first; keep the best.

    On random graphs twelve starts have half the crossings of one start.
    """
    first = [list(row) for row in rows]
    best, fewest = first, _crossing_count(rows)
    start_count = max(1, min(_STARTS, _MANY_ITEMS // (1 + sum(map(len, rows)))))
    for start in range(start_count):
        if not fewest:
            break
        rows[:] = [_turned(row, start, start_count) for row in first]
        found, count = _sweep(rows)
        if count < fewest:
            best, fewest = found, count
    rows[:] = best
    _number(rows)


def _turned(row: Sequence[LayerItem], start: int, start_count: int) -> list[LayerItem]:
    cut = len(row) * start // start_count
    turned = [*row[cut:], *row[:cut]]
    return turned[::-1] if start % 2 else turned


def _sweep(rows: list[list[LayerItem]]) -> tuple[list[list[LayerItem]], int]:
    """Sweep down and up, each layer by the mean place of its neighbours; return the best order found."""
    _number(rows)
    best, fewest, stale_count = [list(row) for row in rows], _crossing_count(rows), 0
    for sweep in range(_SWEEPS):
        _sort_by_neighbours(rows, downwards=sweep % 2 == 0, mirror_ties=sweep % 4 > 1)
        for row in rows:
            _swap_neighbours(row, ties_too=sweep % 3 == 1)
            _swap_neighbours(row, ties_too=False)
        count = _crossing_count(rows)
        stale_count += 1
        if count < fewest:
            best, fewest, stale_count = [list(row) for row in rows], count, 0
        if not fewest or stale_count == _PATIENCE:
            break
    return best, fewest


def _sort_by_neighbours(rows: Sequence[list[LayerItem]], *, downwards: bool, mirror_ties: bool) -> None:
    for row in rows if downwards else reversed(rows):
        if mirror_ties:
            row.reverse()
        row.sort(key=lambda item: _mean_order(item, item.above if downwards else item.below))
        _number([row])


def _mean_order(item: LayerItem, neighbours: Sequence[LayerItem]) -> float:
    return sum(n.order for n in neighbours) / len(neighbours) if neighbours else item.order


def _swap_neighbours(row: list[LayerItem], *, ties_too: bool) -> None:
    for place in range(len(row) - 1):
        left, right = row[place], row[place + 1]
        gain = _swap_gain(left.above, right.above) + _swap_gain(left.below, right.below)
        if gain > 0 or (ties_too and gain == 0):
            row[place], row[place + 1] = right, left
            left.order, right.order = right.order, left.order


def _swap_gain(left: Sequence[LayerItem], right: Sequence[LayerItem]) -> int:
    """Return how many crossings disappear when two neighbours change places."""
    gain = 0
    for one in left:
        for other in right:
            if one.order != other.order:
                gain += 1 if one.order > other.order else -1
    return gain


def _crossing_count(rows: Sequence[Sequence[LayerItem]]) -> int:
    """Count inversions, layer by layer (Barth, Juenger, Mutzel, Simple Bilayer Cross Counting, 2002)."""
    count = 0
    for row in rows:
        met: list[int] = []
        for item in row:
            ends = [other.order for other in item.below]
            count += sum(len(met) - bisect_right(met, end) for end in ends)
            for end in ends:
                insort(met, end)
    return count


def _number(rows: Sequence[Sequence[LayerItem]]) -> None:
    for row in rows:
        for order, item in enumerate(row):
            item.order = order
