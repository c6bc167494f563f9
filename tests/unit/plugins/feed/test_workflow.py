"""The graph over feeds that live in a dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentic.core.graph.model.result import RunStatus
from agentic.core.http import FetchError, url_key
from agentic.executors import SourceRefusedError
from agentic.plugins.feed.client import FeedClient
from agentic.plugins.feed.polls import FeedState, PollOutcome, Polls, WatchList
from agentic.plugins.feed.workflow import PollingLimits, default_workflow, poll_workflow

if TYPE_CHECKING:
    from tests.unit.plugins.feed.conftest import ScriptedSites

NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)
A, B = "https://a.test/a.xml", "https://b.test/b.xml"


async def poll(client: FeedClient, *feeds: str, stored: Sequence[FeedState] = (), **wanted: object) -> Polls:
    limits = PollingLimits(min_interval_s=900, max_entries=500, clock=lambda: NOW)
    workflow = poll_workflow(client, lambda _: list(stored), limits)
    run = await workflow.run(WatchList.model_validate({"feeds": feeds, **wanted}))
    assert run.status is RunStatus.COMPLETED, run
    return run.output(Polls)


async def test_feeds_are_read_in_the_order_of_the_list(client: FeedClient) -> None:
    found = await poll(client, A, B)
    assert [(one.feed.title, len(one.entries)) for one in found.polls] == [("a.xml", 2), ("b.xml", 2)]
    assert found.outcome_counts()["read"] == 2


async def test_only_what_is_new_is_asked_for(client: FeedClient, sites: ScriptedSites) -> None:
    known = FeedState(id=url_key(A), url=A, etag='W/"1"', last_modified="Mon, 02 Nov 2026 09:00:00 GMT")
    await poll(client, A, B, stored=[known])
    by_url = {request.url: request.headers for request in sites.asked}
    assert by_url[A]["if-none-match"] == 'W/"1"'
    assert by_url[A]["if-modified-since"] == "Mon, 02 Nov 2026 09:00:00 GMT"
    assert [name for name in by_url[B] if name.startswith("if-")] == []


async def test_a_feed_that_is_not_due_is_not_asked(client: FeedClient, sites: ScriptedSites) -> None:
    later = FeedState(id=url_key(A), url=A, next_poll_at=NOW + timedelta(seconds=1))
    gone = FeedState(id=url_key(B), url=B, disabled_at=NOW)
    found = await poll(client, A, B, stored=[later, gone])
    assert (found.polls, found.skipped, found.disabled, sites.asked) == ((), 1, 1, [])


async def test_one_that_cannot_be_read_says_so_and_the_others_are_read(
    client: FeedClient, sites: ScriptedSites
) -> None:
    from tests.unit.plugins.feed.conftest import Answer

    sites.answers[A] = Answer(b"<html><body>Moved!</body></html>")
    broken, fine = (await poll(client, A, B)).polls
    assert (broken.outcome, fine.outcome) == (PollOutcome.FAILED, PollOutcome.READ)
    assert "a.xml is not a feed: it is neither RSS" in broken.warnings[0]


async def test_a_feed_that_was_never_read_cannot_be_unchanged(
    client: FeedClient, sites: ScriptedSites
) -> None:
    from tests.unit.plugins.feed.conftest import Answer

    sites.answers[A] = Answer(status=304)
    (only,) = (await poll(client, A)).polls
    assert only.outcome is PollOutcome.FAILED
    assert "304 answers a request that named no earlier version" in only.warnings[0]


async def test_a_page_in_place_of_the_feed_moves_nothing(client: FeedClient, sites: ScriptedSites) -> None:
    from tests.unit.plugins.feed.conftest import Answer

    sites.answers[A] = Answer(status=301, headers={"location": "https://parked.test/"})
    sites.answers["https://parked.test/"] = Answer(b"<html>for sale</html>")
    (only,) = (await poll(client, A)).polls
    assert (only.outcome, only.feed.url) == (PollOutcome.FAILED, A)


async def test_feeds_of_an_opml_are_watched_too(
    client: FeedClient, sites: ScriptedSites, tmp_path: Path
) -> None:
    from tests.unit.plugins.feed.conftest import Answer

    listed = f'<opml><body><outline xmlUrl="{A}"/><outline xmlUrl="feed:b"/></body></opml>'.encode()
    sites.answers["https://lists.test/"] = Answer(listed)
    (tmp_path / "mine.opml").write_bytes(listed)
    for place in ("https://lists.test/", str(tmp_path / "mine.opml")):
        found = await poll(client, B, opml=place)
        assert [one.feed.url for one in found.polls] == [B, A]
        assert "a feed of the OPML" in found.warnings[0]


async def test_an_opml_whose_server_fails_is_asked_for_again(
    client: FeedClient, sites: ScriptedSites, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.unit.plugins.feed.conftest import Answer

    left = [FetchError("https://lists.test/", word, "no") for word in ("http_503", "decode")]

    class Flaky(FeedClient):
        async def opml(self, url: str) -> bytes:
            if left:
                raise left.pop()
            return await super().opml(url)

    monkeypatch.setattr("agentic.executors.retrying.FIRST_DELAY_S", 0.001)
    sites.answers["https://lists.test/"] = Answer(
        f'<opml><body><outline xmlUrl="{A}"/></body></opml>'.encode()
    )
    found = await poll(Flaky(sites.connect), opml="https://lists.test/")
    assert [one.feed.url for one in found.polls] == [A]


async def test_an_opml_that_is_refused_is_asked_for_once(client: FeedClient, sites: ScriptedSites) -> None:
    from tests.unit.plugins.feed.conftest import Answer

    sites.answers["https://lists.test/"] = Answer(b"", status=404)
    with pytest.raises(SourceRefusedError, match="http_404"):
        await poll(client, opml="https://lists.test/")
    assert len(sites.asked) == 1


async def test_an_opml_that_is_not_there_fails_the_run(client: FeedClient) -> None:
    limits = PollingLimits(min_interval_s=900, max_entries=500)
    with pytest.raises(Exception, match=r"the OPML nowhere\.opml cannot be read: No such file"):
        await poll_workflow(client, lambda _: [], limits).run(WatchList(opml="nowhere.opml"))


def test_the_graph_can_be_drawn() -> None:
    drawing = default_workflow().to_mermaid()
    for node in ("list_feeds", "poll_feed", "collect"):
        assert node in drawing
