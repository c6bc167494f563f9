"""Trees of comments as lists, and what is left out of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentic.plugins.reddit.reading.items import More
from agentic.plugins.reddit.reading.trees import BATCH, Tree, flat

Thing = dict[str, object]


def comment(name: str, *replies: Thing) -> Thing:
    inside = {"kind": "Listing", "data": {"children": list(replies)}} if replies else ""
    return {"kind": "t1", "data": {"id": name, "name": f"t1_{name}", "replies": inside}}


def more(count: int, *children: str, parent: str = "t1_a") -> Thing:
    return {"kind": "more", "data": {"id": "_", "parent_id": parent, "count": count, "children": [*children]}}


def test_comments_come_before_their_replies_and_without_them() -> None:
    tree = Tree(100)
    tree.add([comment("a", comment("b", comment("c")), comment("d")), comment("e")])
    assert [one["id"] for one in tree.kept()] == ["a", "b", "c", "d", "e"]
    assert not any("replies" in one for one in tree.kept())


def test_what_is_neither_comment_nor_more_is_left_out() -> None:
    odd: list[object] = ["x", None, {"kind": "t3", "data": {}}, {"kind": "t1", "data": "x"}, {"kind": "more"}]
    assert list(flat(odd)) == []


def test_a_thread_of_any_depth_is_read() -> None:
    deepest = comment("last")
    for number in range(3_000):
        deepest = {"kind": "t1", "data": {"id": str(number), "replies": [deepest]}}
    assert sum(1 for _ in flat([deepest])) == 3_001


def test_more_is_asked_for_a_hundred_at_a_time_and_threads_last() -> None:
    tree = Tree(1_000)
    tree.add([more(0, parent="t1_x"), more(270, *(str(number) for number in range(250)))])
    batches = []
    while (batch := tree.next_batch()) is not None:
        batches.append((len(batch.children), batch.count, batch.is_thread))
    assert batches == [(BATCH, 100, False), (BATCH, 100, False), (50, 70, False), (0, 0, True)]


def test_what_is_left_is_told_with_its_count() -> None:
    tree = Tree(2)
    tree.add([comment("a"), comment("b"), comment("c"), more(7, "d"), more(0), more(0)])
    assert (tree.is_full, len(tree.kept())) == (True, 2)
    assert tree.warnings("t3_p", "max_comments or more_requests") == (
        "8 comments of t3_p were skipped; raise max_comments or more_requests",
        "2 threads go on below the comments read of t3_p; raise max_comments or more_requests",
    )
    whole = Tree(2)
    whole.add([comment("a")])
    assert whole.warnings("t3_p", "max_comments") == ()


def test_a_comment_that_comes_twice_is_one() -> None:
    tree = Tree(10)
    tree.add([comment("a", comment("b"))])
    tree.add([comment("a", comment("b"), comment("c"))])
    assert [one["id"] for one in tree.kept()] == ["a", "b", "c"]


@given(st.integers(min_value=0, max_value=450), st.integers(min_value=0, max_value=50))
def test_batches_add_up_to_what_was_left_out(children: int, below: int) -> None:
    tree = Tree(1)
    tree.add([more(children + below, *(str(number) for number in range(children)))])
    found: list[More] = []
    while (batch := tree.next_batch()) is not None:
        found.append(batch)
    assert [name for batch in found for name in batch.children] == [str(number) for number in range(children)]
    assert sum(batch.count for batch in found) == children + below
    assert all(len(batch.children) <= BATCH for batch in found)
