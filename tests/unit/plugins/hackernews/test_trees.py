"""Trees of comments to lists."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from agentic.plugins.hackernews.items import AlgoliaNode
from agentic.plugins.hackernews.mapper import node_row
from agentic.plugins.hackernews.trees import flattened, joined

Node = dict[str, object]


@st.composite
def trees(draw: st.DrawFn) -> tuple[Node, int]:
    """Make a tree of up to 20 items, and say how many there are."""
    nodes: list[Node] = [{"id": 1, "parent_id": None, "children": []}]
    for number in range(2, draw(st.integers(1, 20)) + 1):
        parent = draw(st.sampled_from(nodes))
        node: Node = {"id": number, "parent_id": parent["id"], "children": []}
        children = parent["children"]
        assert isinstance(children, list)
        children.append(node)
        nodes.append(node)
    return nodes[0], len(nodes)


@given(trees(), st.integers(1, 25))
def test_what_is_kept_of_a_tree_has_its_parents_before_it_and_the_rest_is_counted(
    made: tuple[Node, int], most: int
) -> None:
    root, count = made
    tree = flattened(root, most)
    assert tree.comment_count == count - 1
    assert len(tree.nodes) == min(count, most + 1)
    seen: set[object] = {None}
    for node in tree.nodes:
        assert node["parent_id"] in seen
        assert node["id"] not in seen
        assert "children" not in node
        seen.add(node["id"])


def test_a_talk_of_five_thousand_answers_deep_is_no_trouble() -> None:
    node: Node = {"id": 5_000}
    for number in range(4_999, 0, -1):
        node = {"id": number, "children": [node]}
    assert [item["id"] for item in flattened(node, 9_999).nodes] == list(range(1, 5_001))


def test_the_options_of_a_poll_come_right_behind_it_and_are_never_cut_off() -> None:
    poll = {
        "id": 1,
        "type": "poll",
        "options": [{"id": 2, "type": "pollopt", "parent_id": 1}, {"id": 3, "type": "pollopt"}, 4],
        "children": [{"id": 5, "options": []}, {"id": 6}],
    }
    tree = flattened(poll, 1)
    assert [node["id"] for node in tree.nodes] == [1, 2, 3, 5]
    assert (tree.comment_count, tree.option_count) == (2, 2)
    assert all("options" not in node for node in tree.nodes)
    nodes, left_out = joined([tree, flattened({"id": 7, "children": [{"id": 8}]}, 9)], 0)
    assert ([node["id"] for node in nodes], left_out) == ([1, 2, 3, 7], 3)


def test_an_option_of_a_poll_says_which_poll_it_is_of() -> None:
    row = node_row(AlgoliaNode.model_validate({"id": 2, "type": "pollopt", "parent_id": 1, "story_id": 1}))
    assert (row["poll_id"], row.get("parent_id"), row["story_id"]) == (1, None, 1)


def test_trees_share_the_limit_of_comments_and_each_keeps_its_story() -> None:
    one = flattened({"id": 1, "children": [{"id": 2}, {"id": 3}]}, 9)
    other = flattened({"id": 4, "children": [{"id": 5}]}, 9)
    nodes, left_out = joined([one, other], 1)
    assert ([node["id"] for node in nodes], left_out) == ([1, 2, 4], 2)
    assert joined([one, other], 3)[1] == 0


def rows() -> Iterator[dict[str, object]]:
    root = {
        "id": 7,
        "type": "story",
        "author": "pg",
        "title": "One",
        "points": 3,
        "story_id": 7,
        "children": [
            {"id": 8, "type": "comment", "author": "ada", "text": "<p>no", "parent_id": 7, "story_id": 7},
            {"id": 9, "author": None, "text": None, "parent_id": 7, "story_id": 7},
        ],
    }
    return (node_row(AlgoliaNode.model_validate(node)) for node in flattened(root, 10).nodes)


def test_a_tree_becomes_a_row_for_each_item_that_knows_its_story() -> None:
    story, comment, _ = rows()
    assert (story["id"], story["title"], story["score"], story["story_id"]) == (7, "One", 3, None)
    assert (comment["by"], comment["text"], comment["parent_id"], comment["story_id"]) == (
        "ada",
        "<p>no",
        7,
        7,
    )
    assert not {"rank", "descendants", "dead"} & comment.keys()
    assert comment["deleted"] is None


def test_an_item_without_author_and_text_was_taken_back() -> None:
    *_, gone = rows()
    assert (gone["type"], gone["deleted"], gone["by"], gone["text"]) == ("comment", True, None, None)
