"""Feed agents as executions: fake feeds, real HTTP, real database, a clock turned by hand."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from agentic.core.http import url_key
from agentic.core.types import SaveCounts
from agentic.fakes.control import Fault
from agentic.fakes.feeds.entries import ENTRIES, build_entries
from agentic.fakes.feeds.orders import FeedOrder
from agentic.mappers import AgentResultModel, ExecutionStatus

if TYPE_CHECKING:
    from tests.integration.plugins.feed.conftest import Watcher

    from agentic.fakes.server import FakeServer

pytestmark = pytest.mark.integration

FLOOR = timedelta(minutes=15)
ALL = ("rss.xml", "rdf.xml", "atom.xml", "feed.json", "podcast.xml", "youtube.xml", "malformed.xml")


def summary(watcher: Watcher, execution_id: str) -> dict[str, object]:
    query = select(AgentResultModel.summary).where(AgentResultModel.execution_id == execution_id)
    with watcher.database.reading() as session:
        return dict(session.scalars(query).one())


@pytest.mark.requirement("PL45")
async def test_the_entries_of_a_feed_become_rows(watcher: Watcher) -> None:
    outcome = await watcher.run(watcher.agent("rss.xml"))
    assert (outcome.status, outcome.counts) == (ExecutionStatus.SUCCEEDED, SaveCounts(inserted=ENTRIES))
    newest, wanted = watcher.entries()[0], build_entries(1)[0]
    assert (newest.title, newest.author, newest.published_at) == (
        wanted.title,
        wanted.author,
        wanted.published,
    )
    assert (newest.summary, newest.content, newest.categories) == (
        wanted.summary,
        wanted.content,
        [wanted.topic],
    )
    assert newest.link == watcher.url(f"entry/{wanted.number}")
    assert newest.entry_key == f"workshop-{wanted.number}"


async def test_every_kind_of_feed_is_read(watcher: Watcher) -> None:
    outcome = await watcher.run(watcher.agent(*ALL))
    assert (outcome.status, outcome.warnings) == (ExecutionStatus.SUCCEEDED, ())
    by_feed = {feed.id: feed.url.rpartition("/")[2] for feed in watcher.feeds()}
    counts = Counter(by_feed[entry.feed_id] for entry in watcher.entries())
    assert counts == {**dict.fromkeys(ALL, ENTRIES), "atom.xml": ENTRIES % 20, "youtube.xml": 15}


async def test_a_podcast_has_its_audio_and_a_video_its_views(watcher: Watcher) -> None:
    await watcher.run(watcher.agent("podcast.xml", "youtube.xml"))
    audio = next(entry for entry in watcher.entries() if entry.entry_key == "workshop-50")
    wanted = build_entries(1)[0]
    assert audio.enclosures == [
        {"url": watcher.url("audio/50.mp3"), "type": "audio/mpeg", "length": wanted.audio_bytes}
    ]
    video = next(entry for entry in watcher.entries() if entry.video_id == "video-0050")
    assert video.views == wanted.audio_bytes // 1_000


async def test_a_poll_is_part_of_what_a_run_leaves_behind(watcher: Watcher) -> None:
    outcome = await watcher.run(watcher.agent("rss.xml", "nowhere.xml", max_entries=10))
    told = summary(watcher, outcome.execution_id)
    assert {name: told[name] for name in ("polls_count", "read", "failed", "skipped", "left_out")} == {
        "polls_count": 2,
        "read": 1,
        "failed": 1,
        "skipped": 0,
        "left_out": ENTRIES - 10,
    }


async def test_a_feed_is_left_alone_until_it_is_due(watcher: Watcher) -> None:
    agent = watcher.agent("rss.xml")
    await watcher.run(agent)
    assert watcher.feeds()[0].next_poll_at == watcher.clock.now + FLOOR
    watcher.clock.turn(minutes=14)
    early = await watcher.run(agent)
    assert (watcher.asked("rss.xml"), early.counts) == (1, SaveCounts())
    assert summary(watcher, early.execution_id)["skipped"] == 1
    watcher.clock.turn(minutes=1)
    await watcher.run(agent)
    assert watcher.asked("rss.xml") == 2


async def test_an_impatient_agent_asks_all_the_same(watcher: Watcher) -> None:
    await watcher.run(watcher.agent("rss.xml"))
    await watcher.run(watcher.agent("rss.xml", ignore_schedule=True))
    assert watcher.asked("rss.xml") == 2


@pytest.mark.parametrize(
    ("order", "wait"),
    [
        (FeedOrder(ttl_minutes=90), timedelta(minutes=90)),
        (FeedOrder(ttl_minutes=5), FLOOR),
        (FeedOrder(update_period="daily", update_frequency=4), timedelta(hours=6)),
        (FeedOrder(max_age_s=7_200), timedelta(hours=2)),
        (FeedOrder(update_period="yearly"), timedelta(days=1)),
    ],
)
async def test_a_feed_that_wants_to_be_asked_less_often_is(
    watcher: Watcher, order: FeedOrder, wait: timedelta
) -> None:
    watcher.fakes.control.feeds.change(order)
    await watcher.run(watcher.agent("rss.xml"))
    assert watcher.feeds()[0].next_poll_at == watcher.clock.now + wait


@pytest.mark.requirement("PL28")
async def test_a_feed_that_has_not_changed_sends_nothing_and_changes_no_row(watcher: Watcher) -> None:
    watcher.fakes.control.feeds.change(FeedOrder(ttl_minutes=60))
    agent = watcher.agent("rss.xml")
    await watcher.run(agent)
    before = watcher.feeds()[0]
    watcher.clock.turn(hours=1)
    outcome = await watcher.run(agent)
    assert (outcome.counts, outcome.warnings) == (SaveCounts(), ())
    assert summary(watcher, outcome.execution_id)["unchanged"] == 1
    after = watcher.feeds()[0]
    assert (after.etag, after.changed_at) == (before.etag, before.changed_at)
    assert (after.polled_at, after.next_poll_at) == (
        watcher.clock.now,
        watcher.clock.now + timedelta(hours=1),
    )


async def test_new_entries_are_inserted_and_changed_ones_updated(watcher: Watcher) -> None:
    watcher.fakes.control.feeds.change(FeedOrder(held_back=3))
    agent = watcher.agent("feed.json", ignore_schedule=True)
    assert (await watcher.run(agent)).counts == SaveCounts(inserted=ENTRIES - 3)
    watcher.fakes.control.feeds.change(FeedOrder(held_back=1, titles={7: "Corrected"}))
    assert (await watcher.run(agent)).counts == SaveCounts(inserted=2, updated=1, unchanged=ENTRIES - 4)
    titles = {entry.entry_key: entry.title for entry in watcher.entries()}
    assert (titles["workshop-7"], len(titles)) == ("Corrected", ENTRIES - 1)


async def test_entries_that_a_feed_no_longer_lists_are_kept(watcher: Watcher) -> None:
    agent = watcher.agent("rss.xml", ignore_schedule=True)
    await watcher.run(agent)
    watcher.fakes.control.feeds.change(FeedOrder(held_back=20))
    assert (await watcher.run(agent)).counts == SaveCounts(unchanged=ENTRIES - 20)
    assert len(watcher.entries()) == ENTRIES


async def test_more_views_are_stored_and_no_update(watcher: Watcher) -> None:
    agent = watcher.agent("youtube.xml", ignore_schedule=True)
    await watcher.run(agent)
    before = watcher.entries()[0].views or 0
    watcher.fakes.control.feeds.change(FeedOrder(views=5))
    assert (await watcher.run(agent)).counts == SaveCounts(unchanged=15)
    assert watcher.entries()[0].views == before + 5


@pytest.mark.parametrize("status", [301, 308])
async def test_a_feed_that_moved_for_good_is_asked_there_from_now_on(watcher: Watcher, status: int) -> None:
    watcher.fakes.control.add(Fault(path="/feeds/old.xml", status=status, location="/feeds/rss.xml"))
    agent = watcher.agent("old.xml", ignore_schedule=True)
    (warning,) = (await watcher.run(agent)).warnings
    assert warning.endswith(
        f"old.xml moved permanently to {watcher.url('rss.xml')}; it is polled there from now on, "
        "and the list may use either URL"
    )
    again = await watcher.run(agent)
    corrected = await watcher.run(watcher.agent("rss.xml", ignore_schedule=True))
    assert (again.warnings, corrected.warnings) == ((), ())
    assert (watcher.asked("old.xml"), watcher.asked("rss.xml")) == (1, 3)
    (feed,) = watcher.feeds()
    assert (feed.id, feed.url) == (url_key(watcher.url("old.xml")), watcher.url("rss.xml"))
    assert len(watcher.entries()) == ENTRIES


async def test_a_feed_that_is_elsewhere_for_now_is_asked_where_it_was(watcher: Watcher) -> None:
    watcher.fakes.control.add(Fault(path="/feeds/old.xml", status=302, location="/feeds/rss.xml", times=2))
    agent = watcher.agent("old.xml", ignore_schedule=True)
    for _ in range(2):
        assert (await watcher.run(agent)).warnings == ()
    assert watcher.asked("old.xml") == 2
    assert watcher.feeds()[0].url == watcher.url("old.xml")


async def test_a_feed_that_is_gone_is_told_once_and_not_asked_again(watcher: Watcher) -> None:
    watcher.fakes.control.add(Fault(path="/feeds/rss.xml", status=410))
    agent = watcher.agent("rss.xml", ignore_schedule=True)
    gone = await watcher.run(agent)
    (warning,) = gone.warnings
    assert "is gone (410) and no longer polled" in warning
    assert (gone.status, gone.reason) == (ExecutionStatus.FAILED, f"no polled feed could be read: {warning}")
    watcher.clock.turn(days=30)
    quiet = await watcher.run(agent)
    assert (quiet.warnings, watcher.asked("rss.xml")) == ((), 1)
    assert summary(watcher, quiet.execution_id)["disabled"] == 1


async def test_a_feed_that_is_back_is_watched_again_when_somebody_asks(watcher: Watcher) -> None:
    watcher.fakes.control.add(Fault(path="/feeds/rss.xml", status=410))
    await watcher.run(watcher.agent("rss.xml"))
    (warning,) = (await watcher.run(watcher.agent("rss.xml", ask_disabled=True))).warnings
    assert warning.endswith("is back; it is watched again")
    (feed,) = watcher.feeds()
    assert (feed.disabled_at, feed.last_error, feed.failures) == (None, None, 0)
    assert len(watcher.entries()) == ENTRIES


@pytest.mark.parametrize("status", [429, 503])
async def test_a_host_that_wants_peace_gets_it_for_all_its_feeds(
    watcher: Watcher, peaceless_fakes: FakeServer, status: int
) -> None:
    watcher.fakes = peaceless_fakes
    watcher.fakes.control.add(Fault(path="/feeds/*", status=status, retry_after_s=3_600))
    agent = watcher.agent("rss.xml")
    outcome = await watcher.run(agent)
    assert outcome.status is ExecutionStatus.SUCCEEDED
    assert summary(watcher, outcome.execution_id)["postponed"] == 1
    (feed,) = watcher.feeds()
    assert (feed.failures, feed.next_poll_at) == (0, watcher.clock.now + timedelta(hours=1))
    other = await watcher.run(watcher.agent("atom.xml"))
    assert (summary(watcher, other.execution_id)["postponed"], watcher.asked("atom.xml")) == (1, 0)


@pytest.mark.requirement("PL30", "PL46")
async def test_failures_are_counted_and_end_with_the_next_answer(watcher: Watcher) -> None:
    watcher.fakes.control.add(Fault(path="/feeds/rss.xml", status=500, times=2))
    agent = watcher.agent("rss.xml", "atom.xml")
    first = await watcher.run(agent)
    assert first.status is ExecutionStatus.SUCCEEDED
    assert "failed (1 in a row), next attempt in 30 min" in first.warnings[0]
    failing = next(feed for feed in watcher.feeds() if feed.url.endswith("rss.xml"))
    assert (failing.failures, failing.next_poll_at) == (1, watcher.clock.now + 2 * FLOOR)
    assert "http_500" in (failing.last_error or "")
    watcher.clock.turn(minutes=30)
    assert "failed (2 in a row), next attempt in 60 min" in (await watcher.run(agent)).warnings[0]
    watcher.clock.turn(minutes=60)
    assert (await watcher.run(agent)).warnings == ()
    well = next(feed for feed in watcher.feeds() if feed.url.endswith("rss.xml"))
    assert (well.failures, well.last_error, well.next_poll_at) == (0, None, watcher.clock.now + FLOOR)


async def test_a_cut_answer_and_a_page_are_failures_and_store_nothing(watcher: Watcher) -> None:
    watcher.fakes.control.add(Fault(path="/feeds/rss.xml", truncate=500))
    outcome = await watcher.run(watcher.agent("rss.xml", ""))
    assert outcome.status is ExecutionStatus.FAILED
    assert "no polled feed could be read: feed " in str(outcome.reason)
    assert summary(watcher, outcome.execution_id)["failed"] == 2
    assert [feed.failures for feed in watcher.feeds()] == [1, 1]
    assert watcher.entries() == []


async def test_feeds_of_an_opml_on_the_web_are_watched(watcher: Watcher) -> None:
    agent = watcher.agent(opml=watcher.url("subscriptions.opml"))
    assert (await watcher.run(agent)).counts == SaveCounts(inserted=2 * ENTRIES + ENTRIES % 20)


async def test_two_agents_of_a_project_share_a_feed_and_two_projects_do_not(watcher: Watcher) -> None:
    await watcher.run(watcher.agent("rss.xml"))
    await watcher.run(watcher.agent("rss.xml"))
    assert watcher.asked("rss.xml") == 1
    await watcher.run(watcher.agent("rss.xml", project="others"))
    assert (watcher.asked("rss.xml"), len(watcher.entries())) == (2, 2 * ENTRIES)


async def test_what_robots_txt_forbids_is_not_asked(watcher: Watcher) -> None:
    agent = watcher.agent(feeds=[f"{watcher.fakes.news_url}drafts/feed.xml"])
    (warning,) = (await watcher.run(agent)).warnings
    assert "robots_denied" in warning


async def test_loopback_is_refused_unless_the_agent_names_it(watcher: Watcher) -> None:
    (warning,) = (await watcher.run(watcher.agent("rss.xml", allow_private_hosts=[]))).warnings
    assert "allow_private_hosts" in warning
    assert watcher.fakes.control.stats()["total"] == 0


async def test_a_config_with_an_unknown_key_fails_before_anything_is_asked(watcher: Watcher) -> None:
    outcome = await watcher.run(watcher.agent("rss.xml", urls=[]))
    assert "unknown key 'urls' (known: " in (outcome.error or "")
    assert watcher.fakes.control.stats()["total"] == 0
