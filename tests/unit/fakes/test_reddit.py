"""The parts of the fake Reddit that need no server."""

from __future__ import annotations

import pytest

from agentic.fakes.reddit.account import LIMIT, WINDOW_S, RedditAccount, RedditOrder
from agentic.fakes.reddit.finding import in_order, page_of, search
from agentic.fakes.reddit.things import (
    ATTIC,
    CHAIN,
    DELETED,
    HARBOR,
    ODDITIES,
    TOP_COMMENTS,
    base36,
    build_archive,
    flat,
)
from agentic.fakes.reddit.trees import TreeView, more_children
from agentic.fakes.reddit.views import Views

ARCHIVE = build_archive(1)
POSTS = ARCHIVE.subreddits[HARBOR].posts
TREE = POSTS[ODDITIES["tree"]]


class World:
    """An account on a clock that is turned by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.account = RedditAccount(clock=lambda: self.now)

    def ask(self, client: str = "app") -> tuple[int, int, bool]:
        """Ask once; return what is left, for how long, and whether it was answered."""
        standing, is_answered = self.account.count(client)
        return standing.remaining, standing.reset_s, is_answered


def test_requests_count_down_for_each_client_until_the_window_ends() -> None:
    world = World()
    assert [world.ask(), world.ask(), world.ask("other")] == [
        (LIMIT - 1, WINDOW_S, True),
        (LIMIT - 2, WINDOW_S, True),
        (LIMIT - 1, WINDOW_S, True),
    ]
    world.now += WINDOW_S
    assert world.ask() == (LIMIT - 1, WINDOW_S, True)


def test_an_order_leaves_so_many_until_the_window_ends_that_the_next_request_begins() -> None:
    world = World()
    world.account.change(RedditOrder(remaining=1, reset_s=5))
    world.now += 60
    assert [world.ask(), world.ask()] == [(0, 5, True), (0, 5, False)]
    world.now += 5
    assert world.ask() == (LIMIT - 1, WINDOW_S, True)


def test_feeds_are_given_once_in_an_interval() -> None:
    world = World()
    world.account.change(RedditOrder(feed_interval_s=60))
    assert [world.account.feed_wait_s(), world.account.feed_wait_s()] == [0, 60]
    world.now += 60
    assert world.account.feed_wait_s() == 0


def test_tokens_are_good_until_they_are_made_to_end() -> None:
    account = RedditAccount()
    token = account.grant("app")
    assert account.client_of(token) == "app"
    account.change(RedditOrder(expire_tokens=True))
    assert account.client_of(token) is None


def test_the_same_seed_gives_the_same_and_another_does_not() -> None:
    assert build_archive(1) == ARCHIVE
    assert build_archive(2).posts.keys() != ARCHIVE.posts.keys()


@pytest.mark.parametrize("number", [0, 35, 36, 60_000_000_000])
def test_ids_are_written_in_base_36(number: int) -> None:
    assert int(base36(number), 36) == number


def test_a_listing_has_pages_that_lead_on_up_to_the_thousandth() -> None:
    posts = in_order(ARCHIVE.subreddits[ATTIC].posts, "new", None)
    seen, after = 0, ""
    while True:
        shown, following = page_of(posts, {"limit": "100", "after": after})
        seen += len(shown)
        if following is None:
            break
        after = following
    assert seen == 1_000
    assert page_of(posts, {"after": "t3_unknown"}) == ((), None)


def test_a_search_needs_all_its_words() -> None:
    title = str(POSTS[0].facts["title"])
    assert POSTS[0] in search(POSTS, f"{title} subreddit:{HARBOR}")
    assert search(POSTS, f"{title} unheard-of") == []


def test_a_tree_shows_as_many_comments_as_are_asked_for_and_counts_the_others() -> None:
    views = Views(RedditAccount())
    shown = TreeView(views, TREE, 40).nested(TREE.comments, f"t3_{TREE.id}")
    last = shown[-1]
    assert last["kind"] == "more"
    total = len(flat(TREE.comments))
    # The thread that goes on is hidden behind a "continue this thread".
    assert last["data"]["count"] == total - 40 - (CHAIN - 10)  # type: ignore[call-overload,index]
    assert len(TREE.comments) == TOP_COMMENTS


def test_more_children_are_a_hundred_at_most_and_tell_of_the_others() -> None:
    answer = more_children(Views(RedditAccount()), TREE, TREE.comments[1:])
    things = answer["json"]["data"]["things"]  # type: ignore[call-overload,index]
    kinds = [thing["kind"] for thing in things]  # type: ignore[call-overload,index,union-attr]
    assert (kinds.count("t1"), kinds[-1]) == (100, "more")


def test_orders_change_what_is_shown_and_texts_are_escaped_unless_asked_for_raw() -> None:
    account = RedditAccount()
    post = POSTS[ODDITIES["markup"]]
    assert Views(account, is_raw=False).post(post)["title"] == "Ships &amp; &lt;Sails&gt;"
    account.change(RedditOrder(delete=f"t3_{post.id}", votes=3))
    shown = Views(account).post(post)
    assert (shown["author"], shown["selftext"], shown["score"]) == (DELETED, DELETED, post.score + 3)
    assert "author_fullname" not in shown
    account.change(RedditOrder(restore=f"t3_{post.id}"))
    assert Views(account).post(post)["selftext"] == post.facts["selftext"]
