"""Walks over the links between executors, each linear in the size of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from agentic.core.types import ExecutorId

Ways = Mapping[ExecutorId, Sequence[ExecutorId]]
"""Executor -> its successors."""


def ways_of(pairs: Iterable[tuple[ExecutorId, ExecutorId]]) -> dict[ExecutorId, list[ExecutorId]]:
    """Return pairs of source and target as ways; every end is a key."""
    ways: dict[ExecutorId, list[ExecutorId]] = {}
    for source, target in pairs:
        ways.setdefault(source, []).append(target)
        ways.setdefault(target, [])
    return ways


def reachable(ways: Ways, starts: Iterable[ExecutorId]) -> set[ExecutorId]:
    """Return the executors that can be reached, the starts included."""
    reached = set(starts)
    frontier = list(reached)
    while frontier:
        new = [end for end in ways.get(frontier.pop(), ()) if end not in reached]
        reached.update(new)
        frontier += new
    return reached


def circles(ways: Ways) -> list[list[ExecutorId]]:
    """Return the sets of executors that lead to each other and back, in the order of ``ways``.

    The algorithm of Kosaraju and Sharir (Sharir, A strong-connectivity algorithm, 1981): the set of a node is
    every node that reaches it, among the nodes that a depth-first walk finished before it.
    """
    back = ways_of((target, source) for source, targets in ways.items() for target in targets)
    placed: set[ExecutorId] = set()
    found: list[list[ExecutorId]] = []
    for root in reversed(_by_finish(ways)):
        if root in placed:
            continue
        members = [root]
        placed.add(root)
        for node in members:  # grows while it is walked
            new = [source for source in dict.fromkeys(back.get(node, ())) if source not in placed]
            placed.update(new)
            members += new
        found.append(members)
    rank = {node: index for index, node in enumerate(ways)}
    return sorted((sorted(each, key=rank.__getitem__) for each in found), key=lambda each: rank[each[0]])


def path_round(ways: Ways, circle: Sequence[ExecutorId]) -> list[ExecutorId]:
    """Return a way through a circle that ends where it began: ``[a, b, a]``; empty if none exists."""
    inside = set(circle)
    path: list[ExecutorId] = [circle[0]]
    places = {circle[0]: 0}
    while True:
        end = next((end for end in ways.get(path[-1], ()) if end in inside), None)
        if end is None:
            return []  # a lone executor without an edge to itself
        path.append(end)
        if end in places:
            return path[places[end] :]
        places[end] = len(path) - 1


def _by_finish(ways: Ways) -> list[ExecutorId]:
    """Return the executors in the order that a depth-first walk finishes them."""
    finished: list[ExecutorId] = []
    seen: set[ExecutorId] = set()
    for root in ways:
        stack = [(root, iter(ways[root]))] if root not in seen else []
        seen.add(root)
        while stack:
            node, ends = stack[-1]
            following = next((end for end in ends if end not in seen), None)
            if following is None:
                finished.append(node)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(ways.get(following, ()))))
    return finished
