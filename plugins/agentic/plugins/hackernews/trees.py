"""A tree of comments as a list: plain functions."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import cast

from agentic.plugins.hackernews.items import Answer, Tree


def flattened(root: Mapping[str, object], most: int) -> Tree:
    """Return a tree level by level, so that a cut removes the deepest comments, whose parents are stored.

    The options of a poll follow it directly: they are not comments, and never cut off.

    Args:
        root: An item with its ``children`` from Algolia, of any depth.
        most: Comments to keep.
    """
    options = [_alone(option) for option in _items(root, "options")]
    comments: list[Answer] = []
    waiting = deque(_items(root, "children"))
    count = 0
    while waiting:
        node = waiting.popleft()
        count += 1
        if len(comments) < most:
            comments.append(_alone(node))
        waiting.extend(_items(node, "children"))
    nodes = (_alone(root), *options, *comments)
    return Tree(nodes=nodes, comment_count=count, option_count=len(options))


def joined(trees: Iterable[Tree], most: int) -> tuple[tuple[Answer, ...], int]:
    """Return the items of all trees with at most ``most`` comments, and the number of omitted comments."""
    nodes: list[Answer] = []
    left, out = most, 0
    for tree in trees:
        above = 1 + tree.option_count
        kept = tree.nodes[: above + left]
        nodes += kept
        left -= len(kept) - above
        out += tree.comment_count - (len(kept) - above)
    return tuple(nodes), out


def _items(node: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    found = node.get(name)
    return [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []


def _alone(node: Mapping[str, object]) -> Answer:
    kept = {name: value for name, value in node.items() if name not in ("children", "options")}
    return cast("Answer", kept)
