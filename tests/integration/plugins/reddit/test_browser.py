"""Mode browser: posts that only a script puts on the page, by the browser of the process."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select
from tests.databases import only_sqlite

from agentic.core.types import SaveCounts
from agentic.fakes.control import Fault
from agentic.fakes.reddit.things import HARBOR, build_archive
from agentic.fakes.server import FakeServer
from agentic.mappers import Database, ExecutionStatus
from agentic.plugins.reddit.models import RedditPostModel

if TYPE_CHECKING:
    from tests.integration.plugins.reddit.conftest import RunReddit

pytestmark = [pytest.mark.integration, only_sqlite]

POSTS = build_archive(1).subreddits[HARBOR].posts


async def test_posts_on_a_page_become_rows_and_a_second_run_doubles_nothing(
    database: Database, run_reddit: RunReddit
) -> None:
    outcome = await run_reddit(mode="browser", subreddits=[HARBOR], limit=25, times=2)
    assert (outcome.status, outcome.error) == (ExecutionStatus.SUCCEEDED, None)
    assert (outcome.counts, outcome.warnings) == (SaveCounts(unchanged=25), ())
    with database.reading() as session:
        found = {row.id: row for row in session.scalars(select(RedditPostModel))}
    assert found.keys() == {f"t3_{post.id}" for post in POSTS[:25]}
    facts = POSTS[0].facts
    row = found[f"t3_{POSTS[0].id}"]
    assert (row.title, row.author, row.score) == (facts["title"], facts["author"], facts["score"])
    assert (row.num_comments, row.subreddit, row.is_self) == (
        facts["num_comments"],
        HARBOR,
        facts["is_self"],
    )
    assert (row.created_at, row.source_mode) == (datetime.fromtimestamp(POSTS[0].created, UTC), "browser")
    assert row.selftext is None


async def test_a_page_of_a_user_is_read_and_says_that_there_may_be_more(run_reddit: RunReddit) -> None:
    outcome = await run_reddit(mode="browser", users=["ada"], limit=100)
    assert outcome.counts.inserted == 25
    assert outcome.warnings == ("the page of ada shows 25 posts at first; further ones were not read",)


async def test_a_page_that_is_refused_fails_the_run_with_the_reason(
    run_reddit: RunReddit, fakes: FakeServer
) -> None:
    fakes.control.add(Fault(path="/reddit/r/*", status=404))
    outcome = await run_reddit(mode="browser", subreddits=[HARBOR])
    assert outcome.status is ExecutionStatus.FAILED
    assert "http_404" in (outcome.error or "")


async def test_without_a_browser_the_run_says_what_to_install(
    run_reddit: RunReddit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_BROWSER_PATH", "/nowhere/chromium")
    outcome = await run_reddit(mode="browser", subreddits=[HARBOR])
    assert outcome.status is ExecutionStatus.FAILED
    assert "AGENTIC_BROWSER_PATH names '/nowhere/chromium'" in (outcome.error or "")


async def test_a_robots_txt_that_forbids_pages_is_obeyed(run_reddit: RunReddit, fakes: FakeServer) -> None:
    outcome = await run_reddit(mode="browser", subreddits=[HARBOR], html_url=f"{fakes.url}/shop/private")
    assert "robots_denied" in (outcome.error or "")
