"""asyncpraw, unchanged, against the fake Reddit: listings, search, trees, limits and refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import asyncpraw
import pytest
from asyncpraw.models import Comment, MoreComments
from asyncpraw.models.comment_forest import CommentForest
from asyncprawcore.exceptions import (
    Forbidden,
    NotFound,
    OAuthException,
    Redirect,
    ResponseException,
    TooLarge,
    TooManyRequests,
)

from agentic.fakes.control import Fault
from agentic.fakes.reddit.account import RedditOrder
from agentic.fakes.reddit.credentials import (
    CLIENT_ID,
    CLIENT_SECRET,
    FEED_TOKEN,
    INSTALLED_ID,
    PASSWORD,
    REFRESH_TOKEN,
    USERNAME,
)
from agentic.fakes.reddit.things import ATTIC, BANNED, CHAIN, HARBOR, ODDITIES, PRIVATE, QUARANTINED
from agentic.fakes.server import FakeServer

pytestmark = [
    pytest.mark.integration,
    # asyncprawcore's.
    pytest.mark.filterwarnings("ignore:BasicAuth is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The 'auth' parameter is deprecated:DeprecationWarning"),
]

UNHURRIED_S = 700
"""asyncpraw spreads its requests over a window; in one longer than Reddit's it has nothing to spread."""


def opened(fakes: FakeServer, **changed: Any) -> asyncpraw.Reddit:
    given: dict[str, Any] = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, **changed}
    return asyncpraw.Reddit(
        user_agent="test:agentic:1 (by /u/ada)",
        reddit_url=fakes.reddit_url,
        oauth_url=f"{fakes.reddit_api_url}/",
        window_size=UNHURRIED_S,
        **given,
    )


@pytest.fixture
async def reddit(fakes: FakeServer) -> AsyncIterator[asyncpraw.Reddit]:
    async with opened(fakes) as client:
        yield client


def shown(forest: CommentForest) -> list[Comment]:
    return [one for one in forest.list() if isinstance(one, Comment)]


async def newest(reddit: asyncpraw.Reddit, name: str = HARBOR, limit: int | None = None) -> list[Any]:
    return [post async for post in (await reddit.subreddit(name)).new(limit=limit)]


async def test_a_listing_comes_in_pages_newest_first(reddit: asyncpraw.Reddit) -> None:
    posts = await newest(reddit)
    assert len({post.id for post in posts}) == len(posts) == 130
    times = [post.created_utc for post in posts]
    assert times == sorted(times, reverse=True)
    assert {str(post.subreddit) for post in posts} == {HARBOR}


async def test_a_listing_ends_at_the_thousandth_post(reddit: asyncpraw.Reddit) -> None:
    assert len(await newest(reddit, ATTIC)) == 1_000


async def test_listings_have_the_order_and_the_time_that_are_asked_for(reddit: asyncpraw.Reddit) -> None:
    harbor = await reddit.subreddit(HARBOR)
    top = [post async for post in harbor.top(time_filter="all", limit=50)]
    assert [post.score for post in top] == sorted((post.score for post in top), reverse=True)
    day = [post async for post in harbor.top(time_filter="day", limit=None)]
    assert 0 < len(day) < 130
    hot = [post async for post in harbor.hot(limit=3)]
    assert hot[0].stickied


async def test_several_subreddits_are_one_listing(reddit: asyncpraw.Reddit) -> None:
    posts = await newest(reddit, f"{HARBOR}+{ATTIC}", 200)
    assert {str(post.subreddit) for post in posts} == {HARBOR, ATTIC}


async def test_a_post_of_each_oddity_is_where_it_is_said_to_be(reddit: asyncpraw.Reddit) -> None:
    posts = await newest(reddit)
    at = {oddity: posts[place] for oddity, place in ODDITIES.items()}
    assert (at["deleted"].selftext, at["deleted"].author) == ("[deleted]", None)
    assert at["removed"].removed_by_category == "moderator"
    assert at["ghost"].author is None
    assert not hasattr(at["ghost"], "author_fullname")
    assert isinstance(at["edited"].edited, float)
    assert at["crosspost"].crosspost_parent.startswith("t3_")
    assert at["markup"].title == "Ships & <Sails>"


async def test_a_search_finds_words_and_authors(reddit: asyncpraw.Reddit) -> None:
    first = (await newest(reddit, limit=1))[0]
    harbor = await reddit.subreddit(HARBOR)
    found = [post async for post in harbor.search(f"author:{first.author}", sort="new", limit=None)]
    assert first.id in {post.id for post in found}
    assert {str(post.author) for post in found} == {str(first.author)}
    everywhere = await reddit.subreddit("all")
    word = first.title.split()[-1]
    assert first.id in {post.id async for post in everywhere.search(word, limit=None)}


async def test_posts_of_a_user_are_listed(reddit: asyncpraw.Reddit) -> None:
    ada = await reddit.redditor("ada")
    posts = [post async for post in ada.submissions.new(limit=None)]
    assert len(posts) > 10
    assert {str(post.author) for post in posts} == {"ada"}


@pytest.mark.parametrize("limit", [25, 2048])
async def test_a_tree_is_whole_once_all_that_was_left_out_is_asked_for(
    reddit: asyncpraw.Reddit, limit: int
) -> None:
    post = await reddit.submission((await newest(reddit))[ODDITIES["tree"]].id, fetch=False)
    post.comment_limit = limit
    await post.load()
    left_out = [one for one in post.comments.list() if isinstance(one, MoreComments)]
    assert left_out
    assert await post.comments.replace_more(limit=None) == []
    comments = shown(post.comments)
    assert (
        len(post.comments.list())
        == len({comment.id for comment in comments})
        == len(comments)
        == post.num_comments
    )
    assert max(comment.depth for comment in comments) == CHAIN - 1


async def test_one_thread_is_read_by_its_comment(reddit: asyncpraw.Reddit) -> None:
    post = await reddit.submission((await newest(reddit))[ODDITIES["tree"]].id)
    comment = await reddit.comment(shown(post.comments)[0].id)
    await comment.refresh()
    assert comment.replies[0].parent_id == comment.fullname


async def test_things_are_found_by_their_fullnames(reddit: asyncpraw.Reddit) -> None:
    posts = await newest(reddit)
    tree = await reddit.submission(posts[ODDITIES["tree"]].id)
    names = [*(post.fullname for post in posts), shown(tree.comments)[0].fullname, tree.subreddit_id, "t3_zz"]
    found = [thing.fullname async for thing in reddit.info(fullnames=names)]
    assert found == names[:-1]


async def test_a_subreddit_says_what_it_is_about(reddit: asyncpraw.Reddit) -> None:
    harbor = await reddit.subreddit(HARBOR, fetch=True)
    assert (harbor.display_name, harbor.over18) == (HARBOR, False)
    assert harbor.subscribers >= 100
    assert harbor.fullname.startswith("t5_")


@pytest.mark.parametrize(
    ("name", "error", "reason"),
    [(PRIVATE, Forbidden, "private"), (QUARANTINED, Forbidden, "quarantined"), (BANNED, NotFound, "banned")],
)
async def test_what_is_closed_says_why(
    fakes: FakeServer,
    reddit: asyncpraw.Reddit,
    client: aiohttp.ClientSession,
    name: str,
    error: type[ResponseException],
    reason: str,
) -> None:
    with pytest.raises(error):
        await newest(reddit, name)
    token = {"authorization": f"bearer {fakes.control.reddit.grant(CLIENT_ID)}"}
    named, url = {"user-agent": "a:b:1 (by /u/ada)"}, f"{fakes.reddit_api_url}/r/{name}/new"
    async with client.get(url, headers=token | named) as answer, client.get(url, headers=token) as nameless:
        assert (await answer.json())["reason"] == reason
        assert nameless.status == 429


async def test_what_nobody_has_leads_to_a_search_or_nowhere(reddit: asyncpraw.Reddit) -> None:
    with pytest.raises(Redirect):
        await newest(reddit, "nobody_has_this")
    with pytest.raises(NotFound):
        await reddit.submission("zz")
    ghost = await reddit.redditor("nobody")
    with pytest.raises(NotFound):
        await anext(ghost.submissions.new())


async def test_a_refusal_for_asking_too_much_tells_how_long_to_wait(
    fakes: FakeServer, reddit: asyncpraw.Reddit
) -> None:
    fakes.control.reddit.change(RedditOrder(refusals=1, retry_after_s=7))
    with pytest.raises(TooManyRequests) as caught:
        await newest(reddit)
    assert caught.value.retry_after == "7"
    assert len(await newest(reddit)) == 130


async def test_requests_are_counted_for_each_client(fakes: FakeServer, reddit: asyncpraw.Reddit) -> None:
    await newest(reddit, limit=1)
    limits = reddit.auth.limits
    assert (limits["remaining"], limits["used"]) == (999, 1)
    fakes.control.reddit.change(RedditOrder(remaining=1, reset_s=60))
    await newest(reddit, limit=1)
    assert reddit.auth.limits["remaining"] == 0
    async with opened(fakes) as same, opened(fakes, client_id=INSTALLED_ID, client_secret=None) as other:
        with pytest.raises(TooManyRequests):
            await newest(same, limit=1)
        assert len(await newest(other, limit=1)) == 1


@pytest.mark.parametrize(
    "login",
    [
        {"username": USERNAME, "password": PASSWORD},
        {"refresh_token": REFRESH_TOKEN},
        {"client_id": INSTALLED_ID, "client_secret": None},
    ],
    ids=["password", "refresh token", "installed"],
)
async def test_there_are_other_ways_to_a_token(fakes: FakeServer, login: dict[str, Any]) -> None:
    async with opened(fakes, **login) as reddit:
        assert len(await newest(reddit, limit=3)) == 3


async def test_wrong_credentials_get_no_token(fakes: FakeServer) -> None:
    async with opened(fakes, username=USERNAME, password="wrong") as reddit:
        with pytest.raises(OAuthException, match="invalid_grant"):
            await newest(reddit)
    async with opened(fakes, client_secret="wrong") as reddit:
        with pytest.raises(ResponseException, match="401"):
            await newest(reddit)


async def test_a_token_that_ended_is_replaced(fakes: FakeServer, reddit: asyncpraw.Reddit) -> None:
    await newest(reddit, limit=1)
    fakes.control.reddit.change(RedditOrder(expire_tokens=True))
    assert len(await newest(reddit, limit=1)) == 1


async def test_orders_delete_remove_and_vote(fakes: FakeServer, reddit: asyncpraw.Reddit) -> None:
    before = (await newest(reddit))[ODDITIES["edited"]]
    order = {"delete": before.fullname, "votes": 5}
    async with aiohttp.ClientSession() as session:
        told = await session.post(f"{fakes.control_url}/reddit", json=order)
        refused = await session.post(f"{fakes.control_url}/reddit", json={"delete": "nonsense"})
        assert (told.status, refused.status) == (201, 422)
    after = (await newest(reddit))[ODDITIES["edited"]]
    assert (after.selftext, after.author, after.score) == ("[deleted]", None, before.score + 5)
    fakes.control.reset()
    assert (await newest(reddit))[ODDITIES["edited"]].selftext == before.selftext


async def test_a_fault_happens_to_the_api_too(fakes: FakeServer, reddit: asyncpraw.Reddit) -> None:
    fakes.control.add(Fault(path="/reddit/oauth/*", status=413))
    with pytest.raises(TooLarge):
        await newest(reddit)
    assert len(await newest(reddit, limit=5)) == 5


async def test_json_without_a_token_is_a_page_of_html(
    fakes: FakeServer, client: aiohttp.ClientSession
) -> None:
    async with client.get(f"{fakes.reddit_url}/r/{HARBOR}/new.json") as answer:
        assert (answer.status, answer.content_type) == (403, "text/html")


async def test_feeds_are_atom_and_can_be_asked_too_often(
    fakes: FakeServer, client: aiohttp.ClientSession
) -> None:
    url = f"{fakes.reddit_url}/r/{HARBOR}/new/.rss?limit=100"
    async with client.get(url) as answer:
        text = await answer.text()
    assert text.count("<entry>") == 100
    assert "<score>" not in text
    fakes.control.reddit.change(RedditOrder(feed_interval_s=60))
    async with client.get(url) as too_soon:
        assert too_soon.status == 429
        assert 50 < int(too_soon.headers["retry-after"]) <= 60
    fakes.control.reset()
    token = f"feed={FEED_TOKEN}&user={USERNAME}"
    async with client.get(f"{url}&{token}") as good, client.get(f"{url}&{token}0") as bad:
        assert (good.status, bad.status) == (200, 403)


@pytest.mark.parametrize("is_bare", [False, True])
async def test_the_archive_answers_wrapped_or_bare_as_ordered(
    fakes: FakeServer, client: aiohttp.ClientSession, is_bare: bool
) -> None:
    fakes.control.reddit.change(RedditOrder(archive_is_bare=is_bare))
    url = f"{fakes.reddit_archive_url}/api/posts/search"
    async with client.get(url, params={"subreddit": HARBOR, "limit": "100"}) as answer:
        content = await answer.json()
        assert float(answer.headers["x-ratelimit-remaining"]) > 0
    posts = content if is_bare else content["data"]
    assert len(posts) == 100
    assert {post["score"] for post in posts[:3]} == {1}
    assert max(post["score"] for post in posts[-50:]) > 1
    async with client.get(url, params={"query": "queue"}) as refused:
        assert refused.status == 400
