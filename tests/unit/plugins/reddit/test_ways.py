"""Feeds, the archive and pages: what is asked, and what we make of the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.plugins.reddit.conftest import ARCHIVE, SITE

from agentic.core.browser import RenderedPage
from agentic.core.http import FetchError, UnexpectedAnswerError
from agentic.core.http.urls import host_of
from agentic.core.types import JSONValue
from agentic.plugins.reddit.reading.feeds import feed_of
from agentic.plugins.reddit.reading.feeds import post_of as post_of_entry
from agentic.plugins.reddit.reading.items import Target
from agentic.plugins.reddit.reading.pages import posts_on
from agentic.plugins.reddit.things import RedditPost

if TYPE_CHECKING:
    from tests.unit.plugins.reddit.conftest import ScriptedApi

FEED: dict[str, JSONValue] = {"mode": "feed", "subreddits": ["python"]}
KEPT: dict[str, JSONValue] = {"mode": "archive", "subreddits": ["python"]}
LISTING = Target(what="listing", name="python", limit=3)
SEARCH = f"{ARCHIVE}/api/posts/search"
ENTRY = """<entry><author><name>/u/ada</name></author><category term="python" label="r/python"/>
<content type="html">&lt;div class="md"&gt;&lt;p&gt;R&amp;amp;D&lt;/p&gt;&lt;/div&gt; submitted by
&lt;a href="https://www.reddit.com/user/ada"&gt;/u/ada&lt;/a&gt;
&lt;a href="https://x.test/a"&gt;[link]&lt;/a&gt; &lt;a href="https://r.test/c"&gt;[comments]&lt;/a&gt;</content>
<id>t3_%s</id><link href="https://www.reddit.com/r/python/comments/%s/t/"/>
<published>2026-11-01T10:00:00+00:00</published><title>T</title></entry>"""


def atom(*ids: str) -> bytes:
    entries = "".join(ENTRY % (name, name) for name in ids)
    return f'<feed xmlns="http://www.w3.org/2005/Atom"><id>/r/python</id>{entries}</feed>'.encode()


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        (Target(what="listing", name="a+b", sort="top", t="day"), "r/a+b/top/.rss", {"t": "day"}),
        (Target(what="user", name="ada"), "user/ada/submitted/.rss", {"sort": "new"}),
        (Target(what="search", query="x"), "search.rss", {"q": "x", "sort": "new"}),
        (
            Target(what="search", query="x", name="a"),
            "r/a/search.rss",
            {"q": "x", "sort": "new", "restrict_sr": 1},
        ),
    ],
)
def test_each_target_has_its_feed(target: Target, path: str, query: dict[str, object]) -> None:
    assert feed_of(target) == (path, {"limit": 25, **query})


async def test_a_feed_is_read_as_posts_and_its_host_left_alone_for_a_minute(api: ScriptedApi) -> None:
    url = f"{SITE}/r/python/new/.rss"
    api.put(url, atom("a", "b", "c", "d"), content_type="application/atom+xml")
    client = api.client(**FEED)
    posts = (await client.read(LISTING)).posts
    assert [post["name"] for post in posts] == ["t3_a", "t3_b", "t3_c"]
    assert {**posts[0], "created_utc": None} == {
        "name": "t3_a",
        "title": "T",
        "permalink": "/r/python/comments/a/t/",
        "subreddit": "python",
        "author": "ada",
        "url": "https://x.test/a",
        "is_self": False,
        "selftext": "R&D",
        "created_utc": None,
    }
    with pytest.raises(FetchError) as caught:
        await client.read(LISTING)
    assert (caught.value.failure_class, len(api.asked)) == ("rate_limited", 1)
    assert 55 < (caught.value.retry_after_s or 0) <= 60


async def test_a_users_own_feed_is_asked_for_with_his_token(api: ScriptedApi) -> None:
    url = f"{SITE}/r/python/new/.rss"
    api.put(url, atom("a"), content_type="application/atom+xml")
    await api.client(**FEED, feed_user="ada", feed_token="${secrets.feed}").read(LISTING)
    assert api.asked == [(url, {"limit": "3", "feed": "feed-value", "user": "ada"})]


async def test_a_feed_that_leads_to_the_search_for_subreddits_says_that_there_is_none(
    api: ScriptedApi,
) -> None:
    api.put(f"{SITE}/r/python/new/.rss", b"", 302, location=f"{SITE}/subreddits/search?q=python")
    api.put(f"{SITE}/subreddits/search", b"<html></html>", content_type="text/html")
    with pytest.raises(
        FetchError, match=r"r/python does not exist; correct the agent's subreddits"
    ) as caught:
        await api.client(**FEED, feed_interval_s=0.01).read(LISTING)
    assert caught.value.failure_class == "http_404"


@pytest.mark.parametrize(
    ("status", "headers", "is_told"), [(403, {}, False), (429, {"retry_after": "7"}, True)]
)
async def test_after_a_feed_that_cannot_be_read_its_host_is_left_alone_too(
    api: ScriptedApi, status: int, headers: dict[str, str], *, is_told: bool
) -> None:
    url = f"{SITE}/r/python/new/.rss"
    api.put(url, {}, status, **headers)
    with pytest.raises(FetchError):
        await api.client(**FEED).read(LISTING)
    blocked_s = (await api.budget.take(host_of(url), 0)).blocked_s
    assert 5 < blocked_s <= 7 if is_told else 55 < blocked_s <= 60


@pytest.mark.parametrize("body", [b"<html>oops</html>", b"", b"\x00\x01"])
async def test_what_is_no_feed_names_the_url(api: ScriptedApi, body: bytes) -> None:
    api.put(f"{SITE}/r/python/new/.rss", body, content_type="text/html")
    with pytest.raises(UnexpectedAnswerError, match=r"https://site\.test/r/python/new/\.rss did not answer"):
        await api.client(**FEED).read(LISTING)


def test_an_entry_that_says_next_to_nothing_is_still_a_post() -> None:
    post = post_of_entry({"id": "t3_a", "title": "T", "published": "nonsense", "tags": []})
    assert post == {"name": "t3_a", "title": "T"}


@pytest.mark.parametrize("is_bare", [True, False])
async def test_an_archive_is_read_backwards_and_each_post_once(api: ScriptedApi, *, is_bare: bool) -> None:
    pages = [
        [{"id": str(n), "created_utc": 5_000 - n // 2} for n in range(100)],
        [{"id": str(n), "created_utc": 5_000 - n // 2} for n in range(98, 130)],
    ]
    for page in pages:
        api.put(SEARCH, page if is_bare else {"data": page})
    found = await api.client(**KEPT).read(Target(what="listing", name="python", limit=1_000))
    assert [post["id"] for post in found.posts] == [str(n) for n in range(130)]
    first, second = (query for _, query in api.asked)
    assert first == {"subreddit": "python", "limit": "100", "sort": "desc"}
    # Posts of one second may be on both pages.
    assert second == {**first, "before": str(5_000 - 49 + 1)}


async def test_an_archive_that_goes_in_a_circle_is_read_to_what_is_known(api: ScriptedApi) -> None:
    api.put(SEARCH, {"data": [{"id": str(n), "created_utc": 7} for n in range(100)]})
    found = await api.client(**KEPT).read(Target(what="listing", name="python", limit=1_000))
    assert (len(found.posts), len(api.asked)) == (100, 2)


@pytest.mark.parametrize(
    ("answer", "said"),
    [({"data": None, "error": "too slow"}, "it says 'too slow'"), ({}, "it has no data"), ("x", "valid")],
)
async def test_an_archive_that_answers_nothing_says_what_it_says(
    api: ScriptedApi, answer: object, said: str
) -> None:
    api.put(SEARCH, answer)
    with pytest.raises(UnexpectedAnswerError, match=said):
        await api.client(**KEPT).read(LISTING)


async def test_a_tree_of_an_archive_may_be_things_or_bare_comments(api: ScriptedApi) -> None:
    bare = {"id": "a", "body": "x", "replies": [{"id": "b", "body": "y"}]}
    more = {"kind": "more", "data": {"parent_id": "t3_p", "count": 4, "children": ["c"]}}
    api.put(f"{ARCHIVE}/api/comments/tree", [{"kind": "t1", "data": bare}, {"id": "d"}, more])
    client = api.client(mode="archive", read="comments", ids=["p"])
    found = await client.read(Target(what="tree", name="p"))
    assert [comment["id"] for comment in found.comments] == ["a", "b", "d"]
    assert found.warnings == ("4 comments of t3_p were skipped; raise max_comments",)
    assert api.asked == [(f"{ARCHIVE}/api/comments/tree", {"link_id": "t3_p", "limit": "200"})]


async def test_an_archive_with_times_that_are_none_is_read_as_far_as_it_can_be(api: ScriptedApi) -> None:
    odd = b'[{"id": "a", "created_utc": NaN}, {"id": "b", "created_utc": "x"}, {"id": ["c"]}]'
    api.put(SEARCH, odd)
    found = await api.client(**KEPT).read(LISTING)
    assert [post["id"] for post in found.posts] == ["a", "b", ["c"]]


@pytest.mark.parametrize("link", ["http://[", "", "no address", 5])
def test_an_entry_whose_addresses_are_none_is_still_a_post(link: JSONValue) -> None:
    content = f'<a href="{link}">[link]</a>'
    post = post_of_entry({"id": "t3_a", "title": "T", "url": link, "content": content})
    assert (post["name"], post["title"]) == ("t3_a", "T")


@pytest.mark.parametrize("score", ["--5", "5-", "٣", "9" * 400, " "])
def test_a_number_of_a_page_that_is_none_is_left_out(score: str) -> None:
    html = f'<shreddit-post id="t3_a" score="{score}"></shreddit-post>'
    (post,) = posts_on(RenderedPage(url=SITE, status=200, headers={}, html=html))
    assert "score" not in post


def test_elements_of_a_page_are_read_as_posts_by_their_attributes() -> None:
    html = """<shreddit-post id="t3_a" post-title="R&amp;D" permalink="/r/python/comments/a/x/" nsfw=""
        content-href="https://x.test/" author="ada" subreddit-name="python" subreddit-id="t5_p" score="-3"
        comment-count="12" created-timestamp="2026-11-01T10:00:00.000000+0000" post-type="link"
        domain="x.test"></shreddit-post><shreddit-post id="t3_b" score="many"></shreddit-post>"""
    page = RenderedPage(url=SITE, status=200, headers={}, html=html)
    first, second = (RedditPost.model_validate(post) for post in posts_on(page))
    assert (first.fullname, first.title, first.score, first.num_comments) == ("t3_a", "R&D", -3, 12)
    assert (first.created_utc, first.is_self, first.over_18) == (1_793_527_200.0, False, True)
    assert (second.fullname, second.score, second.over_18, second.is_self) == ("t3_b", None, False, None)
