"""The position of everything in a picture of a graph, in pixels.

The second half of a layered drawing: neighbours are pulled above each other, as far as the order and the
room within the layers allow. Then links become vertical lines joined by curves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from statistics import median

from agentic.core.views.layers import LABEL_INDENT, Box, LayerItem, Layers, Link, into_layers

Point = tuple[float, float]

LOOP_WIDTH = 28.0
_NODE_GAP = 32.0
_PASS_GAP = 16.0
_LAYER_GAP = 20.0
_PORT_GAP = 16.0
_ROUNDS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The way of a link: lines between points above each other, else curves that are upright at both ends.

    Attributes:
        points: From source to target. For a self loop: its start and end at the right side of its node.
        label: Centre of the label, for a link that has one.
    """

    points: tuple[Point, ...]
    label: Point | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The picture's size, the centre of every node, and the way of every link, in the given order."""

    width: float
    height: float
    nodes: Mapping[str, Point]
    routes: tuple[Route, ...]


@dataclass(frozen=True, slots=True)
class _Grid:
    """The data for routes: layers, top and bottom of each, and where links touch their nodes."""

    layers: Layers
    spans: list[Point]
    ports: Mapping[tuple[int, int], float]

    def middle(self, item: LayerItem) -> float:
        return sum(self.spans[item.layer]) / 2


def lay_out(boxes: Mapping[str, Box], links: Sequence[Link]) -> Layout:
    """Return where nodes and links go. Same input, same layout; nodes and labels never overlap."""
    layers = into_layers(_with_room_for_loops(boxes, links), links)
    _place(layers)
    items = [item for row in layers.rows for item in row]
    left = min((item.x - item.width / 2 for item in items), default=0)
    for item in items:
        item.x -= left
    grid = _Grid(layers, _spans(layers.rows), _ports(layers, boxes))
    return Layout(
        width=max((item.x + item.width / 2 for item in items), default=0),
        height=grid.spans[-1][1] if grid.spans else 0,
        nodes={name: (item.x, grid.middle(item)) for name, item in layers.nodes.items()},
        routes=tuple(_route(grid, index, boxes, link) for index, link in enumerate(links)),
    )


def _with_room_for_loops(boxes: Mapping[str, Box], links: Sequence[Link]) -> dict[str, Box]:
    roomy = dict(boxes)
    for link in links:
        if link.source == link.target:
            box = roomy[link.source]
            room = LOOP_WIDTH + link.label_width
            # On both sides, so that the node stays in the middle of its room.
            roomy[link.source] = replace(box, width=max(box.width, boxes[link.source].width + 2 * room))
    return roomy


def _place(layers: Layers) -> None:
    """Set the x of every item: in turns below its upper links, above its lower ones, at last between both."""
    rows = layers.rows
    for row in rows:
        _pull(row, lambda _: [])
    for _ in range(_ROUNDS):
        for row in rows:
            _pull(row, lambda item: item.above)
        for row in reversed(rows):
            _pull(row, lambda item: item.below)
    for _ in range(_ROUNDS // 2):
        for row in rows:
            _pull(row, lambda item: item.above + item.below)
    for chain in layers.chains:
        _straighten(rows, chain)


def _straighten(rows: Sequence[Sequence[LayerItem]], chain: Sequence[LayerItem]) -> None:
    """Keep a long link upright as far as its neighbours leave room, with as few steps aside as possible."""
    run: list[LayerItem] = []
    low, high = -inf, inf
    for item in chain[1:-1]:
        room = _room(rows[item.layer], item)
        if max(low, room[0]) > min(high, room[1]):
            _align(run, low, high)
            run, low, high = [], -inf, inf
        run.append(item)
        low, high = max(low, room[0]), min(high, room[1])
    _align(run, low, high)


def _room(row: Sequence[LayerItem], item: LayerItem) -> Point:
    """Return the limits for moves of the item's line."""
    low = row[item.order - 1].x + _gap(row[item.order - 1], item) if item.order else -inf
    high = row[item.order + 1].x - _gap(item, row[item.order + 1]) if item.order + 1 < len(row) else inf
    return (low + item.aside, high + item.aside)


def _align(run: Sequence[LayerItem], low: float, high: float) -> None:
    if run:
        line = min(max(median(item.line for item in run), low), high)
        for item in run:
            item.x = line - item.aside


def _pull(row: Sequence[LayerItem], neighbours_of: Callable[[LayerItem], Sequence[LayerItem]]) -> None:
    wishes, weights = [], []
    for item in row:
        pulls = [(_strength(item, other), other.line - item.aside) for other in neighbours_of(item)]
        weight = sum(strength for strength, _ in pulls)
        weights.append(weight or 0.01)
        wishes.append(sum(strength * x for strength, x in pulls) / weight if weight else item.x)
    gaps = [_gap(left, right) for left, right in pairwise(row)]
    for item, x in zip(row, _spread(wishes, weights, gaps), strict=True):
        item.x = x


def _strength(item: LayerItem, other: LayerItem) -> float:
    """Return how straight a link should be: most within a long one, more if its node has only this one."""
    if not item.is_node and not other.is_node:
        return 8
    node, side = (item, other.layer < item.layer) if item.is_node else (other, item.layer < other.layer)
    return 4 if len(node.above if side else node.below) == 1 else 1


def _gap(left: LayerItem, right: LayerItem) -> float:
    gap = _NODE_GAP if left.is_node and right.is_node else _PASS_GAP
    return (left.width + right.width) / 2 + gap


def _spread(wishes: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Return the places nearest to the wishes (weighted least squares) that keep order and gaps.

    Pools adjacent violators (Barlow et al., Statistical Inference under Order Restrictions, 1972).
    """
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    pools: list[tuple[float, float, int]] = []  # mean, weight, how many
    for wish, own_weight, offset in zip(wishes, weights, offsets, strict=False):
        mean, weight, count = wish - offset, own_weight, 1
        while pools and pools[-1][0] > mean:
            other, other_weight, other_count = pools.pop()
            mean = (mean * weight + other * other_weight) / (weight + other_weight)
            weight, count = weight + other_weight, count + other_count
        pools.append((mean, weight, count))
    means = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]


def _spans(rows: Sequence[Sequence[LayerItem]]) -> list[Point]:
    """Return top and bottom of every layer; links that run far sideways get more height."""
    spans: list[Point] = []
    y = 0.0
    for row in rows:
        height = max(item.height for item in row)
        spans.append((y, y + height))
        aside = max((abs(item.line - other.line) for item in row for other in item.below), default=0)
        y += height + _LAYER_GAP + min(aside / 12, _LAYER_GAP)
    return spans


def _ports(layers: Layers, boxes: Mapping[str, Box]) -> dict[tuple[int, int], float]:
    """Return for each link the x of its upper (0) and its lower (-1) end."""
    fans: dict[tuple[str, int], list[tuple[float, int]]] = {}
    names = {id(item): name for name, item in layers.nodes.items()}
    for index, chain in enumerate(layers.chains):
        if len(chain) > 1:
            for end, neighbour in ((0, chain[1]), (-1, chain[-2])):
                fans.setdefault((names[id(chain[end])], end), []).append((neighbour.line, index))
    ports: dict[tuple[int, int], float] = {}
    for (name, end), fan in fans.items():
        fan.sort()
        places = _fan_places([x for x, _ in fan], layers.nodes[name].x, boxes[name].width)
        ports.update({(index, end): x for (_, index), x in zip(fan, places, strict=True)})
    return ports


def _fan_places(aims: Sequence[float], centre: float, width: float) -> list[float]:
    """Return where links touch one side of a node: in line with their other end, else in the middle."""
    reach = width * 0.36
    gap = min(_PORT_GAP, 2 * reach / max(len(aims) - 1, 1))
    wishes = [aim if abs(aim - centre) <= reach else centre for aim in aims]
    places = _spread(wishes, [1.0] * len(aims), [gap] * (len(aims) - 1))
    return [min(max(x, centre - reach), centre + reach) for x in places]


def _route(grid: _Grid, index: int, boxes: Mapping[str, Box], link: Link) -> Route:
    chain = grid.layers.chains[index]
    if len(chain) == 1:
        return _loop(grid, chain[0], boxes[link.source], link)
    upper, lower = chain[0], chain[-1]
    start, end = grid.ports[index, 0], grid.ports[index, -1]
    points = [(start, grid.middle(upper) + upper.height / 2), (start, grid.spans[upper.layer][1])]
    for place, item in enumerate(chain[1:-1], start=1):
        before = points[-1][0]
        after = end if place == len(chain) - 2 else chain[place + 1].line
        if not _can_be_cut(grid.layers.rows[item.layer], item, before, after):
            points += [(item.line, y) for y in grid.spans[item.layer]]
    points += [(end, grid.spans[lower.layer][0]), (end, grid.middle(lower) - lower.height / 2)]
    label = next((_label_point(grid, item) for item in chain[1:-1] if item.width), None)
    unique = list(dict.fromkeys((round(x, 2), round(y, 2)) for x, y in points))
    return Route(points=tuple(reversed(unique) if index in grid.layers.turned else unique), label=label)


def _can_be_cut(row: Sequence[LayerItem], item: LayerItem, before: float, after: float) -> bool:
    """Whether a curve from the layer above to the one below may pass an odd layer without a stop."""
    if item.layer % 2 == 0 or item.width:
        return False
    middle, slope = (before + after) / 2, abs(before - after) / 4
    return all(abs(middle - other.x) > other.width / 2 + slope + 4 for other in row if other.width)


def _label_point(grid: _Grid, item: LayerItem) -> Point:
    return (item.x + (LABEL_INDENT if item.aside else 0), grid.middle(item))


def _loop(grid: _Grid, item: LayerItem, box: Box, link: Link) -> Route:
    right, middle, reach = item.x + box.width / 2, grid.middle(item), min(box.height / 4, 14)
    label = (right + LOOP_WIDTH + link.label_width / 2, middle) if link.label_width else None
    return Route(points=((right, middle - reach), (right, middle + reach)), label=label)
