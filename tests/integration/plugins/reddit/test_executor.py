"""Reddit agents on the fakes, by each way there is to read it: rows, counts and warnings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

import pytest
from sqlalchemy import select
from tests.databases import only_sqlite

from agentic.core.types import SaveCounts
from agentic.fakes.reddit.account import RedditOrder
from agentic.fakes.reddit.credentials import (
    CLIENT_SECRET,
    FEED_TOKEN,
    INSTALLED_ID,
    PASSWORD,
    REFRESH_TOKEN,
    USERNAME,
)
from agentic.fakes.reddit.things import (
    ATTIC,
    BANNED,
    CHAIN,
    HARBOR,
    ODDITIES,
    PRIVATE,
    QUARANTINED,
    build_archive,
)
from agentic.fakes.server import FakeServer
from agentic.mappers import Database, ExecutionStatus
from agentic.plugins.reddit.models import RedditCommentModel, RedditPostModel, RedditSubredditModel

if TYPE_CHECKING:
    from tests.integration.plugins.reddit.conftest import RunReddit

pytestmark = [pytest.mark.integration, pytest.mark.requirement("PL11", "PL45", "PL46")]

ModelT = TypeVar("ModelT", RedditPostModel, RedditCommentModel, RedditSubredditModel)
ARCHIVE = build_archive(1)
POSTS = ARCHIVE.subreddits[HARBOR].posts
TREE = POSTS[ODDITIES["tree"]]


def rows(database: Database, model: type[ModelT]) -> Sequence[ModelT]:
    with database.reading() as session:
        return session.scalars(select(model).order_by(model.id)).all()


def post(database: Database, oddity: str) -> RedditPostModel:
    with database.reading() as session:
        wanted = f"t3_{POSTS[ODDITIES[oddity]].id}"
        return session.scalars(select(RedditPostModel).where(RedditPostModel.id == wanted)).one()


def stored(counts: SaveCounts) -> int:
    return counts.inserted + counts.updated + counts.unchanged


def paths(fakes: FakeServer) -> list[str]:
    requests = fakes.control.stats()["requests"]
    assert isinstance(requests, dict)
    return [path.removeprefix("/reddit/") for path in requests]


async def test_a_listing_becomes_rows_and_a_second_run_doubles_nothing(
    database: Database, run_reddit: RunReddit
) -> None:
    outcome = await run_reddit(subreddits=[HARBOR], limit=1_000, times=2)
    assert (outcome.status, outcome.counts) == (ExecutionStatus.SUCCEEDED, SaveCounts(unchanged=130))
    found = {row.id: row for row in rows(database, RedditPostModel)}
    assert found.keys() == {f"t3_{post.id}" for post in POSTS}
    row, facts = found[f"t3_{POSTS[0].id}"], POSTS[0].facts
    assert (row.title, row.author, row.score) == (facts["title"], facts["author"], facts["score"])
    assert (row.subreddit, row.source_mode, row.num_comments) == (HARBOR, "oauth", facts["num_comments"])
    assert row.created_at == datetime.fromtimestamp(POSTS[0].created, UTC)
    assert row.raw is not None


async def test_oddities_are_stored_as_they_are_meant(database: Database, run_reddit: RunReddit) -> None:
    await run_reddit(subreddits=[HARBOR], limit=25)
    for oddity in ("deleted", "removed"):
        row = post(database, oddity)
        assert row.selftext is None
        assert row.deleted_at is not None
    assert (post(database, "deleted").author, post(database, "removed").removed_by) == (None, "moderator")
    assert (post(database, "ghost").author, post(database, "ghost").deleted_at) == (None, None)
    assert post(database, "ghost").selftext
    edited = post(database, "edited")
    assert edited.created_at is not None
    assert edited.edited_at == edited.created_at + timedelta(minutes=10)
    assert post(database, "markup").title == "Ships & <Sails>"
    assert post(database, "markup").selftext == "5 > 3 & 2 < 4"
    assert (post(database, "crosspost").crosspost_parent or "").startswith("t3_")
    assert (post(database, "sticky").stickied, post(database, "sticky").distinguished) == (True, "moderator")


@only_sqlite
async def test_a_listing_is_read_up_to_its_end_at_the_thousandth_post(
    database: Database, run_reddit: RunReddit, fakes: FakeServer
) -> None:
    assert (await run_reddit(subreddits=[ATTIC], limit=1_000)).counts == SaveCounts(inserted=1_000)
    assert len(paths(fakes)) == 1 + 10


@only_sqlite
async def test_searches_users_and_orders_are_read(database: Database, run_reddit: RunReddit) -> None:
    await run_reddit(name="one", query="author:ada", subreddits=[HARBOR, ATTIC], limit=100)
    assert {(row.author, row.subreddit) for row in rows(database, RedditPostModel)} == {
        ("ada", HARBOR),
        ("ada", ATTIC),
    }
    everywhere = await run_reddit(name="two", query="author:ada", limit=1_000)
    users = await run_reddit(name="three", users=["ada"], limit=1_000)
    assert (users.counts.inserted, users.counts.unchanged) == (0, stored(everywhere.counts))
    top = await run_reddit(name="four", subreddits=[f"{HARBOR}+{ATTIC}"], sort="top", t="all", limit=5)
    assert stored(top.counts) == 5


async def test_trees_are_whole_with_what_the_first_answer_leaves_out(
    database: Database, run_reddit: RunReddit
) -> None:
    outcome = await run_reddit(read="comments", ids=[TREE.id], max_comments=1_000)
    assert (outcome.counts, outcome.warnings) == (SaveCounts(inserted=1 + 235), ())
    found = {row.id: row for row in rows(database, RedditCommentModel)}
    assert found.keys() == {
        f"t1_{name}" for name, (post, _) in ARCHIVE.comments.items() if post.id == TREE.id
    }
    assert max(row.depth or 0 for row in found.values()) == CHAIN - 1
    ghost, removed, edited, hidden = (found[f"t1_{TREE.comments[place].id}"] for place in (1, 2, 3, 4))
    assert (ghost.author, ghost.body, ghost.deleted_at is None) == (None, None, False)
    assert (removed.author, removed.body) == (TREE.comments[2].facts["author"], None)
    assert edited.edited_at is not None
    assert (hidden.score, hidden.score_hidden) == (None, True)
    assert {row.post_id for row in found.values()} == {f"t3_{TREE.id}"}


@only_sqlite
async def test_more_comments_than_one_answer_has_are_asked_for_a_hundred_at_a_time(
    database: Database, run_reddit: RunReddit, fakes: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentic.plugins.reddit.reading.oauth.TREE_SIZE", 30)
    outcome = await run_reddit(read="comments", ids=[f"t3_{TREE.id}"], max_comments=1_000, more_requests=20)
    assert (outcome.counts, outcome.warnings) == (SaveCounts(inserted=1 + 235), ())
    asked = [path for path in paths(fakes) if path.startswith("oauth/api/morechildren")]
    assert len(asked) >= 2
    assert max(unquote(path).count(",") for path in asked) == 99


@only_sqlite
async def test_what_is_left_out_of_a_tree_is_told_with_its_count(
    database: Database, run_reddit: RunReddit
) -> None:
    few = await run_reddit(name="few", read="comments", ids=[TREE.id], max_comments=40, more_requests=0)
    assert few.counts == SaveCounts(inserted=1 + 40)
    first, second = few.warnings
    # 24 comments are one thread, of which the first ten are shown; the other 14 are not counted by Reddit.
    assert f"{235 - 14 - 40} comments of t3_{TREE.id} were skipped; raise max_comments" in first
    assert f"1 thread goes on below the comments read of t3_{TREE.id}" in second


@only_sqlite
async def test_comments_of_a_listing_are_those_of_its_posts(
    database: Database, run_reddit: RunReddit
) -> None:
    outcome = await run_reddit(read="comments", subreddits=[HARBOR], limit=10, max_comments=500)
    assert outcome.status is ExecutionStatus.SUCCEEDED
    newest = POSTS[:10]
    assert {row.id for row in rows(database, RedditPostModel)} == {f"t3_{post.id}" for post in newest}
    wanted = sum(int(str(post.facts["num_comments"])) for post in newest)
    assert len(rows(database, RedditCommentModel)) == wanted > 0


async def test_scores_of_what_is_stored_are_read_a_hundred_at_a_time(
    database: Database, run_reddit: RunReddit, fakes: FakeServer, today: datetime
) -> None:
    await run_reddit(name="read", subreddits=[HARBOR], limit=1_000)
    fakes.control.reset()
    fakes.control.reddit.change(RedditOrder(votes=7))
    outcome = await run_reddit(name="refresh", read="scores", days=365)
    # What is gone is not asked for again.
    assert outcome.counts == SaveCounts(updated=128)
    asked = [path for path in paths(fakes) if path.startswith("oauth/api/info")]
    assert [unquote(path).count(",") for path in sorted(asked, key=len, reverse=True)] == [99, 27]
    assert post(database, "tree").score == TREE.score + 7


@only_sqlite
async def test_that_older_posts_are_left_out_is_told(
    run_reddit: RunReddit, today: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run_reddit(subreddits=[HARBOR], limit=10)
    monkeypatch.setattr("agentic.plugins.reddit.executor.MAX_ROWS", 4)
    outcome = await run_reddit(name="refresh", read="scores", days=365)
    assert stored(outcome.counts) == 4
    assert any("only the newest 4 stored posts are read" in warning for warning in outcome.warnings)


@only_sqlite
async def test_scores_of_named_posts_and_comments_are_read(database: Database, run_reddit: RunReddit) -> None:
    ids = [TREE.id, f"t1_{TREE.comments[0].id}", "t3_zz"]
    outcome = await run_reddit(read="scores", ids=ids)
    assert outcome.counts == SaveCounts(inserted=2)
    assert outcome.warnings == ("Reddit no longer has 1 of the ids",)


async def test_subreddits_say_what_they_are(database: Database, run_reddit: RunReddit) -> None:
    outcome = await run_reddit(read="subreddits", subreddits=[HARBOR, PRIVATE, "nobody_has_this"])
    (row,) = rows(database, RedditSubredditModel)
    assert (row.name, row.type, row.over_18, row.language) == (HARBOR, "public", False, "en")
    assert (row.subscribers or 0) >= 100
    closed, missing = outcome.warnings
    assert "Reddit answered 403 for r/vault: private; only its members may read it" in closed
    assert "r/nobody_has_this does not exist; correct the agent's subreddits" in missing


@only_sqlite
async def test_what_is_closed_is_a_warning_with_name_and_reason_and_costs_no_other(
    database: Database, run_reddit: RunReddit
) -> None:
    outcome = await run_reddit(subreddits=[PRIVATE, QUARANTINED, BANNED, "nobody_has_this", HARBOR])
    assert (outcome.status, outcome.counts) == (ExecutionStatus.SUCCEEDED, SaveCounts(inserted=25))
    for said, warning in zip(
        (
            "http_403): Reddit answered 403 for r/vault: private; only its members may read it",
            "http_403): Reddit answered 403 for r/quarry: quarantined; the account must opt in",
            "http_404): Reddit answered 404 for r/banned: banned; it is gone",
            "http_404): r/nobody_has_this does not exist",
        ),
        outcome.warnings,
        strict=True,
    ):
        assert said in warning


@pytest.mark.parametrize(
    "login",
    [
        {"grant": "password", "username": USERNAME, "password": "${secrets.password}"},
        {"grant": "refresh_token", "refresh_token": "${secrets.refresh}"},
        {"grant": "installed_client", "client_id": INSTALLED_ID, "client_secret": None},
    ],
    ids=["password", "refresh token", "installed"],
)
@only_sqlite
async def test_there_are_four_ways_to_a_token(
    run_reddit: RunReddit, monkeypatch: pytest.MonkeyPatch, login: dict[str, str]
) -> None:
    monkeypatch.setenv("AGENTIC_SECRET_PASSWORD", f"{PASSWORD}\n")
    monkeypatch.setenv("AGENTIC_SECRET_REFRESH", REFRESH_TOKEN)
    assert (await run_reddit(subreddits=[HARBOR], **login)).counts == SaveCounts(inserted=25)


@pytest.mark.parametrize(
    ("secret", "config", "said"),
    [
        ("wrong", {}, "grant client_credentials: it refuses client_id and client_secret"),
        (
            CLIENT_SECRET,
            {"grant": "password", "username": "ada", "password": "${secrets.reddit}"},
            "grant password: it says 'invalid_grant'",
        ),
        (None, {}, "secret 'reddit' does not exist"),
    ],
)
@only_sqlite
async def test_without_a_token_a_run_fails_and_shows_no_secret(
    run_reddit: RunReddit,
    monkeypatch: pytest.MonkeyPatch,
    secret: str | None,
    config: dict[str, str],
    said: str,
) -> None:
    if secret is None:
        monkeypatch.delenv("AGENTIC_SECRET_REDDIT")
    else:
        monkeypatch.setenv("AGENTIC_SECRET_REDDIT", secret)
    outcome = await run_reddit(subreddits=[HARBOR], **config)
    assert outcome.status is ExecutionStatus.FAILED
    assert said in (outcome.error or "")
    assert CLIENT_SECRET not in (outcome.error or "")


@only_sqlite
async def test_a_token_that_ends_between_two_pages_is_replaced_once(
    run_reddit: RunReddit, fakes: FakeServer
) -> None:
    account = fakes.control.reddit
    count = account.count

    def expiring(client: str) -> object:
        if account.client_of("fake-token-1"):
            account.change(RedditOrder(expire_tokens=True))
        return count(client)

    account.count = expiring  # type: ignore[assignment,method-assign] # the token ends after the first page
    try:
        outcome = await run_reddit(subreddits=[HARBOR], limit=200)
    finally:
        del account.count
    assert outcome.counts == SaveCounts(inserted=130)
    assert fakes.control.stats()["requests"]["/reddit/api/v1/access_token"] == 2  # type: ignore[call-overload,index]


async def test_a_feed_becomes_rows_without_scores(
    database: Database, run_reddit: RunReddit, fakes: FakeServer
) -> None:
    outcome = await run_reddit(mode="feed", subreddits=[HARBOR], limit=100, times=2)
    assert (outcome.status, outcome.counts) == (ExecutionStatus.SUCCEEDED, SaveCounts(unchanged=100))
    row = post(database, "tree")
    assert (row.title, row.author, row.subreddit) == (TREE.facts["title"], TREE.facts["author"], HARBOR)
    assert (row.is_self, row.source_mode) == (True, "feed")
    assert row.selftext == re.sub(r"\*\*|\[|\]\(.*?\)", "", str(TREE.facts["selftext"]))
    assert (row.score, row.num_comments, row.upvote_ratio, row.over_18) == (None, None, None, None)
    assert row.created_at == datetime.fromtimestamp(TREE.created, UTC)
    link = next(one for one in POSTS[:100] if not one.facts["is_self"])
    stored = next(row for row in rows(database, RedditPostModel) if row.id == f"t3_{link.id}")
    assert (stored.url, stored.is_self, stored.selftext) == (f"https://example.org/{link.id}", False, None)


@only_sqlite
async def test_a_feed_leaves_alone_what_another_way_has_told(
    database: Database, run_reddit: RunReddit
) -> None:
    await run_reddit(name="api", subreddits=[HARBOR], limit=100)
    before = post(database, "tree")
    outcome = await run_reddit(name="feed", mode="feed", subreddits=[HARBOR], limit=100)
    after = post(database, "tree")
    assert (outcome.counts, after.source_mode) == (SaveCounts(unchanged=100), "oauth")
    assert after.selftext == before.selftext == TREE.facts["selftext"]
    assert "**" in (after.selftext or "")
    assert (after.score, after.num_comments, after.upvote_ratio) == (
        before.score,
        before.num_comments,
        before.upvote_ratio,
    )
    assert after.score is not None


@only_sqlite
async def test_feeds_of_searches_users_and_with_a_token_are_read(
    database: Database, run_reddit: RunReddit, fakes: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_SECRET_FEED", FEED_TOKEN)
    config = {"mode": "feed", "feed_user": USERNAME, "feed_token": "${secrets.feed}", "limit": 100}
    users = await run_reddit(name="user", users=["ada"], **config)
    search = await run_reddit(name="search", query="author:ada", **config)
    within = await run_reddit(name="within", query="author:ada", subreddits=[HARBOR], **config)
    assert users.counts.inserted > 10
    assert search.counts.unchanged == users.counts.inserted
    assert 0 < within.counts.unchanged < users.counts.inserted
    monkeypatch.setenv("AGENTIC_SECRET_FEED", "wrong-token")
    refused = await run_reddit(name="refused", users=["ada"], **config)
    assert "Reddit answered 403 for u/ada" in (refused.error or "")
    assert "wrong-token" not in (refused.error or "")


@pytest.mark.parametrize("is_bare", [False, True])
async def test_the_archive_becomes_rows_and_young_scores_are_none(
    database: Database, run_reddit: RunReddit, fakes: FakeServer, today: datetime, is_bare: bool
) -> None:
    fakes.control.reddit.change(RedditOrder(archive_is_bare=is_bare))
    outcome = await run_reddit(mode="archive", subreddits=[HARBOR], limit=1_000, times=2)
    assert (outcome.status, outcome.counts) == (ExecutionStatus.SUCCEEDED, SaveCounts(unchanged=130))
    for row in rows(database, RedditPostModel):
        assert row.created_at is not None
        is_young = today - row.created_at < timedelta(hours=36)
        assert (row.score is None, row.num_comments is None) == (is_young, is_young)
    assert rows(database, RedditPostModel)[0].source_mode == "archive"


@only_sqlite
async def test_an_archive_overwrites_no_score_with_one_that_is_none(
    database: Database, run_reddit: RunReddit, today: datetime
) -> None:
    await run_reddit(name="api", subreddits=[HARBOR], limit=200)
    before = {row.id: (row.score, row.num_comments) for row in rows(database, RedditPostModel)}
    outcome = await run_reddit(name="archive", mode="archive", subreddits=[HARBOR], limit=200)
    assert outcome.counts.inserted == 0
    assert {row.id: (row.score, row.num_comments) for row in rows(database, RedditPostModel)} == before


@only_sqlite
async def test_searches_users_trees_and_scores_of_the_archive_are_read(
    database: Database, run_reddit: RunReddit, today: datetime
) -> None:
    word = str(POSTS[0].facts["title"]).split()[-1]
    found = await run_reddit(name="a", mode="archive", subreddits=[HARBOR], query=word, limit=200)
    assert found.counts.inserted >= 1
    users = await run_reddit(name="b", mode="archive", users=["ada"], limit=200)
    assert stored(users.counts) > 10
    tree = await run_reddit(name="c", mode="archive", read="comments", ids=[TREE.id], max_comments=1_000)
    assert (tree.counts, tree.warnings) == (SaveCounts(inserted=235), ())
    ids = [f"t3_{POSTS[-1].id}", f"t1_{TREE.comments[0].id}"]
    scores = await run_reddit(name="d", mode="archive", read="scores", ids=ids)
    assert stored(scores.counts) == 2
    cut = await run_reddit(name="e", mode="archive", read="comments", ids=[TREE.id], max_comments=20)
    assert "comments of" in cut.warnings[0]


@only_sqlite
async def test_an_agent_that_asks_another_server_than_reddit_fails_with_its_url(
    run_reddit: RunReddit, fakes: FakeServer
) -> None:
    outcome = await run_reddit(subreddits=[HARBOR], base_url=f"{fakes.url}/hackernews/v0")
    assert outcome.status is ExecutionStatus.FAILED
    assert "hackernews/v0" in (outcome.error or "")
