"""The platform against an instance of the tests' own, held to the contract of all platforms."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from agentic.core.types import JSONValue
from agentic.executors.testing import MapperContract, MapperSamples, PlatformContract, RunAgent, Secrets, Site
from pydantic import ValidationError

from agentic_plugin_mastodon.client import next_max_id
from agentic_plugin_mastodon.models import MastodonStatusModel, MastodonTimelineModel
from agentic_plugin_mastodon.settings import MastodonSettings

TAG = "/api/v1/timelines/tag/python"
PUBLIC = "/api/v1/timelines/public"
Config = dict[str, JSONValue]


def status(number: int, **more: JSONValue) -> dict[str, JSONValue]:
    """Return a status as an instance gives it; a greater number is newer."""
    uri = f"https://social.example/users/ada/statuses/{number}"
    return {
        "id": str(number),
        "uri": uri,
        "url": f"https://social.example/@ada/{number}",
        "created_at": f"2026-03-01T10:{number % 60:02}:00.000Z",
        "edited_at": None,
        "account": {"id": "7", "username": "ada", "acct": "ada", "bot": False},
        "content": f"<p>Status {number}</p>",
        "spoiler_text": "",
        "sensitive": False,
        "language": "en",
        "visibility": "public",
        "in_reply_to_id": None,
        "replies_count": 0,
        "reblogs_count": 1,
        "favourites_count": 2,
        "tags": [{"name": "python", "url": "https://social.example/tags/python"}],
        "reblog": None,
        **more,
    }


def pages(site: Site, path: str, *content: list[JSONValue]) -> None:
    """Serve pages, each with a link to the next one, as Mastodon writes them: without since_id."""
    older = ""
    for number, page in enumerate(content):
        links = [f'<{site.url}{path}?min_id=9>; rel="prev"']
        following = f"{path}?max_id={min(ids(page))}" if number < len(content) - 1 else ""
        if following:
            links.insert(0, f'<{site.url}{following}>; rel="next"')
        site.serve(older or path, page, headers={"Link": ", ".join(links)})
        older = following


def ids(page: list[JSONValue]) -> list[int]:
    return [int(str(one["id"])) for one in page if isinstance(one, dict)]


def asked(site: Site) -> list[tuple[str, dict[str, list[str]]]]:
    """Return path and query of each request."""
    return [(parts.path, parse_qs(parts.query)) for parts in map(urlsplit, site.requests)]


@pytest.fixture
def config(agentic_site: Site) -> Config:
    """The config of an agent that watches a tag of this test's instance."""
    pages(agentic_site, TAG, [status(5), status(4)], [status(3)])
    return {"base_url": agentic_site.url, "tag": "Python", "allow_private_hosts": [agentic_site.host]}


class TestPlatform(PlatformContract):
    """Mastodon is a platform."""

    platform = "mastodon"
    model = MastodonStatusModel
    row_count = 3


def found(*statuses: JSONValue) -> dict[str, object]:
    """Return what the executor gives that read these statuses."""
    known = {"timeline": "social.example/timelines/tag/python", "instance": "social.example"}
    return {**known, "newest_id": "5", "statuses": statuses, "warnings": []}


class TestMapper(MapperContract):
    """Its mapper stores statuses."""

    platform = "mastodon"
    samples = MapperSamples(
        results=found(status(5, tags=[{"name": "python"}]), status(4)),
        row_count=2,
        shorter=found(
            *({name: status(n)[name] for name in ("id", "uri", "account", "created_at")} for n in (5, 4))
        ),
        with_a_bad_one=found(status(5), {"id": "7"}, status(4)),
        with_no_json=found(status(5, odd=float("nan")), status(4)),
    )


def test_a_status_becomes_a_row_with_all_that_is_said_of_it(
    config: Config, agentic_site: Site, run_agent: RunAgent
) -> None:
    author: JSONValue = {"acct": "bob@other.example"}
    edited = status(
        1, edited_at="2026-03-01T11:00:00.000Z", account=author, sensitive=True, spoiler_text="cw"
    )
    agentic_site.serve(TAG, [edited])

    (row,) = run_agent("mastodon", config).rows(MastodonStatusModel)

    assert (row.uri, row.instance, row.id) == (edited["uri"], agentic_site.host, "1")
    assert (row.account, row.content, row.language) == ("bob@other.example", "<p>Status 1</p>", "en")
    assert row.created_at == datetime(2026, 3, 1, 10, 1, tzinfo=UTC)
    assert row.edited_at == datetime(2026, 3, 1, 11, 0, tzinfo=UTC)
    assert (row.sensitive, row.spoiler_text, row.visibility) == (True, "cw", "public")
    assert (row.replies, row.reblogs, row.favourites, row.tags) == (0, 1, 2, ["python"])
    assert isinstance(row.raw, dict)
    assert row.raw["account"] == author


def test_pages_are_followed_up_to_the_limit(config: Config, agentic_site: Site, run_agent: RunAgent) -> None:
    ran = run_agent("mastodon", {**config, "limit": 2})

    assert [row.id for row in ran.rows(MastodonStatusModel)] == ["4", "5"]
    assert (len(agentic_site.requests), ran.outcome.warnings) == (1, ())


def test_no_more_than_forty_are_asked_for_at_a_time(
    config: Config, agentic_site: Site, run_agent: RunAgent
) -> None:
    run_agent("mastodon", {**config, "limit": 1000})

    assert [query["limit"] for _, query in asked(agentic_site)] == [["40"], ["40"]]


def test_a_second_run_reads_only_what_is_new(config: Config, agentic_site: Site, run_agent: RunAgent) -> None:
    run_agent("mastodon", config)
    agentic_site.requests.clear()
    pages(agentic_site, TAG, [status(12), status(10)], [status(5), status(4)], [status(3)])

    ran = run_agent("mastodon", config)

    assert ran.outcome.counts.inserted == 2
    assert [query.get("max_id") for _, query in asked(agentic_site)] == [None, ["10"]]
    assert {query["since_id"][0] for _, query in asked(agentic_site)} == {"5"}
    (timeline,) = ran.rows(MastodonTimelineModel)
    assert (timeline.timeline, timeline.newest_id) == (f"{agentic_site.host}/timelines/tag/python", "12")


def test_more_than_the_limit_since_the_last_run_is_a_warning(
    config: Config, agentic_site: Site, run_agent: RunAgent
) -> None:
    run_agent("mastodon", config)
    pages(agentic_site, TAG, [status(12), status(11)], [status(10), status(5)])

    ran = run_agent("mastodon", {**config, "limit": 2})

    assert "raise limit, or run the agent more often" in "".join(ran.outcome.warnings)


def test_another_timeline_is_read_from_its_own_start(
    config: Config, agentic_site: Site, run_agent: RunAgent
) -> None:
    run_agent("mastodon", config)
    agentic_site.serve(PUBLIC, [status(2)])

    ran = run_agent("mastodon", {**config, "tag": None, "local": True})

    path, query = asked(agentic_site)[-1]
    assert (path, query) == (PUBLIC, {"local": ["true"], "limit": ["40"]})
    assert ran.outcome.counts.inserted == 1


def test_what_is_known_is_read_again_if_wanted_and_a_count_alone_is_no_update(
    config: Config, agentic_site: Site, run_agent: RunAgent
) -> None:
    run_agent("mastodon", config)
    pages(agentic_site, TAG, [status(5, favourites_count=9), status(4, content="<p>better</p>"), status(3)])

    ran = run_agent("mastodon", {**config, "only_new": False})

    rows = {row.id: row for row in ran.rows(MastodonStatusModel)}
    assert (ran.outcome.counts.updated, ran.outcome.counts.unchanged) == (1, 2)
    assert (rows["5"].favourites, rows["4"].content) == (9, "<p>better</p>")


def test_what_an_instance_says_is_not_there_any_more_is_gone(
    config: Config, agentic_site: Site, run_agent: RunAgent
) -> None:
    again = {**config, "only_new": False}
    agentic_site.serve(TAG, [status(1, language="en", edited_at="2026-03-01T11:00:00.000Z")])
    run_agent("mastodon", again)
    agentic_site.serve(TAG, [status(1, language=None, edited_at="2026-03-01T12:00:00.000Z")])

    ran = run_agent("mastodon", again)

    assert (ran.outcome.counts.updated, ran.rows(MastodonStatusModel)[0].language) == (1, None)


def test_an_account_is_looked_up_and_a_boost_brings_what_it_boosts(
    config: Config, agentic_site: Site, run_agent: RunAgent
) -> None:
    boosted = status(2, uri="https://other.example/notes/2", account={"acct": "bob@other.example"})
    boost = status(9, uri="https://social.example/users/ada/statuses/9/activity", reblog=boosted, content="")
    agentic_site.serve("/api/v1/accounts/lookup?acct=ada", {"id": "7", "acct": "ada"})
    agentic_site.serve("/api/v1/accounts/7/statuses?exclude_replies=true", [boost])

    ran = run_agent("mastodon", {**config, "tag": None, "account": "ada", "replies": False})

    rows = {row.uri: row for row in ran.rows(MastodonStatusModel)}
    assert set(rows) == {boost["uri"], boosted["uri"]}
    assert rows[str(boost["uri"])].reblog_of_uri == boosted["uri"]
    assert rows[str(boosted["uri"])].account == "bob@other.example"


def test_a_status_that_is_none_is_a_warning_and_the_others_are_kept(
    config: Config, agentic_site: Site, run_agent: RunAgent
) -> None:
    run_agent("mastodon", config)
    agentic_site.serve(TAG, [{**status(9), "id": None}, status(8, uri=""), status(7)])

    ran = run_agent("mastodon", config)

    assert [row.id for row in ran.rows(MastodonStatusModel)] == ["3", "4", "5", "7"]
    assert [sentence[:27] for sentence in ran.outcome.warnings] == [
        "status 0 was rejected: id: ",
        "status 1 was rejected: uri:",
    ]


@pytest.mark.parametrize("refusal", [401, 422])
def test_an_instance_that_wants_a_login_says_so_and_what_to_do(
    config: Config, agentic_site: Site, run_agent: RunAgent, refusal: int
) -> None:
    agentic_site.serve(TAG, {"error": "This method requires an authenticated user"}, status=refusal)

    ran = run_agent("mastodon", config)

    assert "give the agent token=${secrets.mastodon}" in str(ran.outcome.error)
    assert len(agentic_site.requests) == 1


def test_an_account_that_is_not_there_is_named_as_such(
    config: Config, agentic_site: Site, run_agent: RunAgent
) -> None:
    agentic_site.serve("/api/v1/accounts/lookup", {"error": "Record not found"}, status=404)

    ran = run_agent("mastodon", {**config, "tag": None, "account": "nobody"})

    assert "there is no such account or timeline" in str(ran.outcome.error)


def test_a_token_is_sent_and_one_that_is_refused_is_to_be_replaced(
    config: Config, agentic_site: Site, run_agent: RunAgent, agentic_secrets: Secrets
) -> None:
    agentic_secrets.set("social", "a-token\n")
    with_token: Config = {**config, "token": "${secrets.social}"}

    assert run_agent("mastodon", with_token).outcome.counts.inserted == 3
    agentic_site.serve(TAG, {"error": "The access token is invalid"}, status=401)
    ran = run_agent("mastodon", with_token)

    assert {headers["authorization"] for headers in agentic_site.headers} == {"Bearer a-token"}
    assert "`agentic secrets set social`" in str(ran.outcome.error)
    assert "a-token" not in str(ran.outcome.error)


def test_a_limit_that_is_reached_is_waited_for_until_the_moment_it_ends(
    config: Config, agentic_site: Site, run_agent: RunAgent
) -> None:
    ends_at = datetime.now(UTC) + timedelta(seconds=1)
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": ends_at.isoformat().replace("+00:00", "Z")}
    agentic_site.fail(TAG, status=429, headers=headers)

    ran = run_agent("mastodon", config)

    assert ran.outcome.counts.inserted == 3
    assert datetime.now(UTC) >= ends_at


def test_a_server_that_is_out_of_order_once_is_asked_again(
    config: Config, agentic_site: Site, run_agent: RunAgent
) -> None:
    agentic_site.fail(TAG, status=503)

    assert run_agent("mastodon", config).outcome.counts.inserted == 3


def test_an_answer_that_is_no_timeline_fails_the_run_and_says_so(
    config: Config, agentic_site: Site, run_agent: RunAgent
) -> None:
    agentic_site.serve(TAG, {"statuses": []})

    ran = run_agent("mastodon", config)

    assert "did not answer as Mastodon does" in str(ran.outcome.error)


@pytest.mark.parametrize(
    "wrong",
    [
        {"tag": "a", "account": "b"},
        {"account": "b", "local": True},
        {"tag": "a", "replies": False},
        {"tag": "#a"},
        {"account": "@b@c"},
        {"token": "the token itself"},
        {"base_url": "https://social.example/api/v1"},
        {"limit": 0},
    ],
)
def test_a_config_that_makes_no_sense_is_refused(wrong: Config) -> None:
    with pytest.raises(ValidationError):
        MastodonSettings.model_validate({"base_url": "https://social.example", **wrong})


@pytest.mark.parametrize(
    ("link", "max_id"),
    [
        ('<https://a.example/x?max_id=5>; rel="next", <https://a.example/x?min_id=9>; rel="prev"', "5"),
        (
            '<https://a.example/x?min_id=9>; rel="prev", <https://a.example/x?limit=40&max_id=5>; rel=next',
            "5",
        ),
        ('<https://a.example/x?min_id=9>; rel="prev"', None),
        ('<https://a.example/x?page=2>; rel="next"', None),
        ("", None),
    ],
)
def test_the_next_page_is_found_in_the_link(link: str, max_id: str | None) -> None:
    assert next_max_id({"link": link}) == max_id
