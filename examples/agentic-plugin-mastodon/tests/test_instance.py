"""Mastodon.py, unchanged, against the instance of these tests; and what the platform reads beside it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import mastodon
import pytest
from agentic.core.graph import RetryPolicy
from agentic.core.types import JSONValue
from agentic.executors.testing import RunAgent
from agentic.fakes.control import Fault
from instance import ADA, BOB, TOKEN, VERSION, Instance, id_of

from agentic_plugin_mastodon.models import MastodonStatusModel

Connect = Callable[..., mastodon.Mastodon]


@pytest.fixture
def connect(instance: Instance) -> Connect:
    """Give what connects Mastodon.py to the instance."""

    def connect(**options: object) -> mastodon.Mastodon:
        return mastodon.Mastodon(api_base_url=instance.url, **options)

    return connect


@pytest.fixture
def client(connect: Connect) -> mastodon.Mastodon:
    """Give Mastodon.py without a token."""
    return connect()


@pytest.fixture
def config(instance: Instance) -> dict[str, JSONValue]:
    """Give the config of an agent that watches the public timeline of the instance."""
    return {"base_url": instance.url, "allow_private_hosts": [instance.host], "limit": 1000}


def numbers(instance: Instance, statuses: list[mastodon.Status]) -> list[int]:
    """Return the numbers of statuses."""
    known = {id_of(number): number for number in range(1, instance.count + 1)}
    return [known[str(status.id)] for status in statuses]


def public(instance: Instance) -> list[int]:
    """Return the numbers of what the public timeline holds."""
    return [n for n in range(instance.count, 0, -1) if n % 5 and n % 7 and n % 11]


def test_an_instance_says_which_version_it_is(client: mastodon.Mastodon) -> None:
    assert client.retrieve_mastodon_version() == VERSION
    assert client.verify_minimum_version("4.5.0")
    assert client.instance().version == VERSION


def test_the_public_timeline_is_read_page_by_page(client: mastodon.Mastodon, instance: Instance) -> None:
    first = client.timeline_public(limit=7)
    wanted = public(instance)
    assert numbers(instance, first) == wanted[:7]
    assert numbers(instance, client.fetch_next(first)) == wanted[7:14]
    assert numbers(instance, client.fetch_remaining(first)) == wanted
    assert first[0].created_at == datetime(2026, 3, 1, 10, tzinfo=UTC) + timedelta(minutes=2 * wanted[0])


def test_a_page_is_of_forty_at_most_and_of_twenty_unless_told(client: mastodon.Mastodon) -> None:
    assert (len(client.timeline_public()), len(client.timeline_public(limit=1000))) == (20, 40)


def test_pages_are_read_upwards_too(client: mastodon.Mastodon, instance: Instance) -> None:
    wanted = public(instance)
    oldest = client.timeline_public(min_id=id_of(wanted[-1]), limit=3)
    assert numbers(instance, oldest) == wanted[-4:-1]
    assert numbers(instance, client.fetch_previous(oldest)) == wanted[-7:-4]
    newest = client.timeline_public(since_id=id_of(wanted[-1]), limit=3)
    assert numbers(instance, newest) == wanted[:3]
    between = client.timeline_public(max_id=id_of(wanted[5]), since_id=id_of(wanted[8]))
    assert numbers(instance, between) == wanted[6:8]


def test_statuses_of_the_instance_itself_and_of_others(client: mastodon.Mastodon, instance: Instance) -> None:
    assert {status.account.acct for status in client.timeline_local()} == {ADA}
    assert {status.account.acct for status in client.timeline_public(remote=True)} == {BOB}


def test_a_tag_has_what_bears_it(client: mastodon.Mastodon, instance: Instance) -> None:
    first = client.timeline_hashtag("Python", limit=40)
    assert all("python" in [tag.name for tag in status.tags] for status in first)
    found = list(client.pagination_iterator(first))
    assert numbers(instance, found) == [n for n in range(100, 0, -1) if n % 2 == 0 and n % 7 and n % 11]
    assert client.timeline_hashtag("nothing") == []


def test_an_account_is_found_by_its_name(client: mastodon.Mastodon) -> None:
    found = client.account_lookup(BOB)
    assert (found.username, client.account(found.id).acct) == ("bob", BOB)
    with pytest.raises(mastodon.MastodonNotFoundError):
        client.account_lookup("nobody")


def test_what_an_account_says_is_read_with_boosts_and_answers_or_without(
    client: mastodon.Mastodon, instance: Instance
) -> None:
    ada = client.account_lookup(ADA)
    everything = client.fetch_remaining(client.account_statuses(ada))
    own = [n for n in range(100, 0, -1) if n % 3 and n % 11]
    assert numbers(instance, everything) == own
    assert {status.reblog is None for status in everything} == {True, False}
    bare = client.account_statuses(ada, exclude_replies=True, exclude_reblogs=True, limit=40)
    assert numbers(instance, bare) == [n for n in own if n % 5 and n % 7][:40]


def test_a_thread_is_read(client: mastodon.Mastodon) -> None:
    answer = client.status(id_of(25))
    thread = client.status_context(answer.id)
    assert [str(status.id) for status in thread.ancestors] == [id_of(24)]
    assert [str(one.id) for one in client.status_context(id_of(24)).descendants] == [id_of(25)]
    with pytest.raises(mastodon.MastodonNotFoundError):
        client.status("1")


def test_a_search_finds_accounts_tags_and_with_a_token_statuses(connect: Connect) -> None:
    found = connect().search_v2("python", resolve=False)
    assert ([tag.name for tag in found.hashtags], found.statuses) == (["python"], [])
    known = connect(access_token=TOKEN)
    assert len(known.search_v2("python", result_type="statuses").statuses) == 20
    assert [account.acct for account in known.search_v2("@bob").accounts] == [BOB]
    with pytest.raises(mastodon.MastodonUnauthorizedError):
        connect().search_v2("python", resolve=True)


def test_a_token_opens_what_is_not_for_everybody(connect: Connect) -> None:
    known = connect(access_token=TOKEN)
    assert known.account_verify_credentials().acct == ADA
    assert len(known.timeline_home(limit=3)) == 3
    assert known.status(id_of(11)).visibility == "private"
    with pytest.raises(mastodon.MastodonNotFoundError):
        connect().status(id_of(11))
    for client in (connect(), connect(access_token="another")):
        with pytest.raises(mastodon.MastodonUnauthorizedError):
            client.timeline_home()


def test_a_private_instance_wants_a_token_for_its_timelines(connect: Connect, instance: Instance) -> None:
    instance.is_private = True
    assert connect(access_token=TOKEN).timeline_public()
    with pytest.raises(mastodon.MastodonUnauthorizedError):
        connect().timeline_public()


def test_limits_are_told_and_kept(connect: Connect, instance: Instance) -> None:
    client = connect(ratelimit_method="throw")
    client.retrieve_mastodon_version()
    instance.limit(2)
    client.timeline_public()
    assert (client.ratelimit_limit, client.ratelimit_remaining) == (300, 1)
    assert client.ratelimit_reset == pytest.approx(instance.resets_at.timestamp(), abs=2)
    client.timeline_public()
    with pytest.raises(mastodon.MastodonRatelimitError):
        client.timeline_public()


@pytest.mark.parametrize(
    ("watched", "asked"),
    [
        ({}, lambda client: client.timeline_public(limit=40)),
        ({"local": True}, lambda client: client.timeline_local(limit=40)),
        ({"tag": "python"}, lambda client: client.timeline_hashtag("python", limit=40)),
        ({"account": ADA, "replies": False}, lambda client: client.account_statuses(1, exclude_replies=True)),
        ({"account": BOB, "reblogs": False}, lambda client: client.account_statuses(2, exclude_reblogs=True)),
    ],
    ids=["public", "local", "tag", "account", "account-without-boosts"],
)
def test_the_platform_reads_what_mastodon_py_reads(
    client: mastodon.Mastodon,
    config: dict[str, JSONValue],
    run_agent: RunAgent,
    watched: dict[str, JSONValue],
    asked: Callable[[mastodon.Mastodon], list[mastodon.Status]],
) -> None:
    statuses = client.fetch_remaining(asked(client))
    boosted = [status.reblog for status in statuses if status.reblog]

    ran = run_agent("mastodon", {**config, **watched})

    assert (ran.outcome.error, ran.outcome.warnings) == (None, ())
    rows = {row.uri: row for row in ran.rows(MastodonStatusModel)}
    assert set(rows) == {status.uri for status in (*statuses, *boosted)}
    for status in statuses:
        row = rows[status.uri]
        assert (row.id, row.content, row.created_at) == (str(status.id), status.content, status.created_at)
        assert row.tags == [tag.name for tag in status.tags]


def test_the_platform_goes_on_from_the_newest_status_it_knows(
    instance: Instance, config: dict[str, JSONValue], run_agent: RunAgent
) -> None:
    known = public(instance)
    assert run_agent("mastodon", config).outcome.counts.inserted == len(known)
    instance.count += 80
    instance.requests.clear()

    ran = run_agent("mastodon", config)

    assert ran.outcome.counts.inserted == len(public(instance)) - len(known)
    assert {query["since_id"] for _, query in instance.requests} == {id_of(known[0])}
    assert len(instance.requests) == 3  # that nothing more is new, only an empty page says


def test_the_platform_waits_for_the_end_of_a_window(
    instance: Instance, config: dict[str, JSONValue], run_agent: RunAgent
) -> None:
    instance.limit(1, timedelta(seconds=1))

    ran = run_agent("mastodon", config)

    assert (ran.outcome.error, ran.outcome.counts.inserted) == (None, len(public(instance)))
    assert datetime.now(UTC) < instance.resets_at  # of the window that came after


def test_a_window_ends_when_the_time_is_moved_on(connect: Connect, instance: Instance) -> None:
    client = connect(ratelimit_method="throw")
    instance.limit(0)
    with pytest.raises(mastodon.MastodonRatelimitError):
        client.timeline_public()
    instance.control.clock.advance(300)
    assert client.timeline_public()


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"bad_json": "cut"}, "decode"),
        ({"bad_json": "text"}, "decode"),
        ({"html_instead_of_json": 403}, "blocked"),
        ({"close": "before"}, "connect"),
        ({"close": "within"}, "connect"),
    ],
)
def test_the_platform_says_what_went_wrong(
    instance: Instance,
    config: dict[str, JSONValue],
    run_agent: RunAgent,
    monkeypatch: pytest.MonkeyPatch,
    fault: dict[str, object],
    expected: str,
) -> None:
    monkeypatch.setattr("agentic_plugin_mastodon.executor.TRIES", RetryPolicy(max_attempts=1))
    instance.control.add(Fault.model_validate({"path": "/api/*", "times": None, **fault}))
    assert f"({expected}" in str(run_agent("mastodon", config).outcome.error)


def test_the_platform_tries_again_what_passes(
    instance: Instance, config: dict[str, JSONValue], run_agent: RunAgent
) -> None:
    instance.control.add(Fault(path="/api/*", close="within"))
    ran = run_agent("mastodon", config)
    assert (ran.outcome.error, ran.outcome.counts.inserted) == (None, len(public(instance)))
