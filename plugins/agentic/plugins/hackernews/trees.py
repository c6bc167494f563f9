"""A tree of comments as a list: plain functions."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import cast

from agentic.plugins.hackernews.items import Answer, Tree


def flattened(root: Mapping[str, object], most: int) -> Tree:
    """Return a tree level by level, so that what is cut off is the deepest and has its parents stored.

    Args:
        root: An item with its ``children``, as Algolia gives it; of any depth.
        most: Comments to keep.
    """
    nodes: list[Answer] = []
    waiting: deque[Mapping[str, object]] = deque([root])
    count = 0
    while waiting:
        node = waiting.popleft()
        count += 1
        if len(nodes) <= most:
            nodes.append(_alone(node))
        children = node.get("children")
        if isinstance(children, list):
            waiting.extend(child for child in children if isinstance(child, Mapping))
    return Tree(nodes=tuple(nodes), comment_count=count - 1)


def joined(trees: Iterable[Tree], most: int) -> tuple[tuple[Answer, ...], int]:
    """Return the items of all trees with ``most`` comments at most, and how many comments were left out."""
    nodes: list[Answer] = []
    left, out = most, 0
    for tree in trees:
        kept = tree.nodes[: left + 1]
        nodes += kept
        left -= len(kept) - 1
        out += tree.comment_count - (len(kept) - 1)
    return tuple(nodes), out


def _alone(node: Mapping[str, object]) -> Answer:
    kept = {name: value for name, value in node.items() if name != "children"}
    return cast("Answer", kept)
