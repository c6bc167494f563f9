"""What is asked of the API, as whom, and what we make of the answers."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING

import pytest
from tests.unit.plugins.reddit.conftest import API, NOW, SITE, TOKEN, listing

from agentic.core.http import FetchError, UnexpectedAnswerError
from agentic.core.types import JSONValue
from agentic.plugins.reddit.errors import CredentialsError
from agentic.plugins.reddit.reading.items import Target

if TYPE_CHECKING:
    from tests.unit.plugins.reddit.conftest import ScriptedApi

OAUTH: dict[str, JSONValue] = {"mode": "oauth", "subreddits": ["python"]}
NEW = f"{API}/r/python/new"
LISTING = Target(what="listing", name="python", limit=150)


async def test_a_token_is_asked_for_once_as_the_app_and_sent_with_every_request(api: ScriptedApi) -> None:
    api.put(NEW, listing({"name": "t3_a"}, after="t3_a"))
    api.put(NEW, listing({"name": "t3_b"}))
    found = await api.client(**OAUTH).read(LISTING)
    assert [post["name"] for post in found.posts] == ["t3_a", "t3_b"]
    assert (found.source_mode, found.read_at) == ("oauth", NOW)
    assert api.urls() == [TOKEN, NEW, NEW]
    asked, *sent = api.headers
    assert b64decode(asked["authorization"].removeprefix("Basic ")) == b"app:reddit-value"
    assert api.bodies[0] == {"grant_type": "client_credentials"}
    assert [one["authorization"] for one in sent] == ["bearer one", "bearer one"]


async def test_pages_are_asked_for_as_long_as_there_is_one_and_it_is_wanted(api: ScriptedApi) -> None:
    api.put(NEW, listing(*({"name": f"t3_{n}"} for n in range(100)), after="t3_99"))
    api.put(NEW, listing(*({"name": f"t3_{n}"} for n in range(100, 160)), after="t3_159"))
    found = await api.client(**OAUTH).read(LISTING)
    assert len(found.posts) == 150
    assert [query for _, query in api.asked[1:]] == [
        {"raw_json": "1", "limit": "100"},
        {"raw_json": "1", "limit": "50", "after": "t3_99"},
    ]


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        (Target(what="listing", name="a+b", sort="top", t="week"), "r/a+b/top", {"t": "week"}),
        (
            Target(what="search", name="python", query="x y", sort="relevance", t="all"),
            "r/python/search",
            {"q": "x y", "restrict_sr": "1", "sort": "relevance", "t": "all", "type": "link"},
        ),
        (Target(what="search", query="x"), "search", {"q": "x", "sort": "new", "type": "link"}),
        (Target(what="user", name="ada", sort="hot"), "user/ada/submitted", {"sort": "hot"}),
    ],
)
async def test_each_target_has_its_address(
    api: ScriptedApi, target: Target, path: str, query: dict[str, str]
) -> None:
    api.put(f"{API}/{path}", listing())
    assert (await api.client(**OAUTH).read(target)).posts == ()
    assert api.asked[-1] == (f"{API}/{path}", {"raw_json": "1", "limit": "25", **query})


async def test_a_token_that_has_ended_is_replaced_once(api: ScriptedApi) -> None:
    api.put(NEW, b"<html>no</html>", 401, content_type="text/html")
    api.put(NEW, listing({"name": "t3_a"}))
    found = await api.client(**OAUTH).read(LISTING)
    assert len(found.posts) == 1
    assert api.urls() == [TOKEN, NEW, TOKEN, NEW]
    assert api.headers[-1]["authorization"] == "bearer two"


async def test_a_token_that_is_refused_twice_is_told_of_and_not_shown(api: ScriptedApi) -> None:
    api.put(NEW, b"", 401)
    with pytest.raises(
        FetchError, match="Reddit answered 401 for r/python; the token is no longer"
    ) as caught:
        await api.client(**OAUTH).read(LISTING)
    assert caught.value.failure_class == "auth_expired"
    assert api.urls() == [TOKEN, NEW, TOKEN, NEW]
    assert "one" not in str(caught.value).split()


async def test_the_token_goes_to_the_api_alone(api: ScriptedApi) -> None:
    api.put(NEW, {}, 302, location="https://elsewhere.test/r/python")
    api.put("https://elsewhere.test/r/python", listing())
    await api.client(**OAUTH).read(LISTING)
    assert "authorization" not in api.headers[-1]


@pytest.mark.parametrize(
    ("config", "form"),
    [
        (
            {"grant": "password", "username": "ada", "password": "${secrets.pw}"},
            {"grant_type": "password", "username": "ada", "password": "pw-value"},
        ),
        (
            {"grant": "refresh_token", "refresh_token": "${secrets.rt}"},
            {"grant_type": "refresh_token", "refresh_token": "rt-value"},
        ),
        (
            {"grant": "installed_client", "client_secret": None, "device_id": "d" * 20},
            {"grant_type": "https://oauth.reddit.com/grants/installed_client", "device_id": "d" * 20},
        ),
    ],
)
async def test_each_grant_has_its_form(
    api: ScriptedApi, config: dict[str, JSONValue], form: dict[str, str]
) -> None:
    api.put(NEW, listing())
    await api.client(**OAUTH, **config).read(LISTING)
    assert api.bodies[0] == form


@pytest.mark.parametrize(
    ("status", "content", "said"),
    [
        (200, {"error": "invalid_grant"}, "grant client_credentials: it says 'invalid_grant'"),
        (401, {"message": "Unauthorized", "error": 401}, "it refuses client_id and client_secret"),
        (200, {"token": "x"}, "its answer has no token; check api_url"),
        (200, ["x"], "its answer has no token"),
        (200, {"access_token": "two\nlines"}, "its answer has no token"),
    ],
)
async def test_no_token_is_an_error_that_names_the_grant(
    api: ScriptedApi, status: int, content: object, said: str
) -> None:
    api.answers.clear()
    api.put(TOKEN, content, status)
    with pytest.raises(CredentialsError, match=said) as caught:
        await api.client(**OAUTH).read(LISTING)
    assert "reddit-value" not in str(caught.value)


async def test_when_nothing_is_left_nobody_asks_until_the_window_ends(api: ScriptedApi) -> None:
    api.put(NEW, listing({"name": "t3_a"}), x_ratelimit_remaining="0.0", x_ratelimit_reset="57")
    client = api.client(**OAUTH)
    assert len((await client.read(LISTING)).posts) == 1
    with pytest.raises(FetchError, match="asked for a pause of") as caught:
        await client.read(LISTING)
    assert caught.value.failure_class == "rate_limited"
    assert 50 < (caught.value.retry_after_s or 0) <= 57
    assert api.urls() == [TOKEN, NEW]


async def test_a_redirect_to_the_search_for_subreddits_says_that_there_is_none(api: ScriptedApi) -> None:
    api.put(NEW, {}, 302, location=f"{API}/subreddits/search?q=python")
    api.put(f"{API}/subreddits/search", listing({"name": "t5_x"}, kind="t5"))
    with pytest.raises(FetchError, match="r/python does not exist; correct the agent's subreddits") as caught:
        await api.client(**OAUTH).read(LISTING)
    assert caught.value.status == 404


async def test_a_listing_in_a_circle_is_refused(api: ScriptedApi) -> None:
    api.put(NEW, listing({"name": "t3_a"}, after="t3_a"))
    with pytest.raises(UnexpectedAnswerError, match="its listing repeats itself"):
        await api.client(**OAUTH).read(LISTING)


@pytest.mark.parametrize("answer", [[], {"kind": "t3"}, "x", {"kind": "Listing", "data": {}}])
async def test_an_answer_of_another_shape_names_the_url(api: ScriptedApi, answer: object) -> None:
    api.put(NEW, answer)
    with pytest.raises(UnexpectedAnswerError, match=r"https://api\.test/r/python/new .*check base_url"):
        await api.client(**OAUTH).read(LISTING)


async def test_a_child_that_is_no_thing_costs_no_other(api: ScriptedApi) -> None:
    page = listing({"name": "t3_a"})
    children = page["data"]["children"]  # type: ignore[index]
    children += [{"name": "x"}, "y", {"kind": "t3", "data": "z"}]
    api.put(NEW, page)
    assert [post["name"] for post in (await api.client(**OAUTH).read(LISTING)).posts] == ["t3_a"]


@pytest.mark.parametrize("answer", [[listing()], {"json": {"errors": ["x"]}}])
async def test_a_tree_that_is_none_is_refused(api: ScriptedApi, answer: object) -> None:
    post, more = f"{API}/comments/abc", {"parent_id": "t3_abc", "count": 1, "children": ["x"]}
    is_more = isinstance(answer, dict)
    api.put(post, [listing({"name": "t3_abc"}), listing(more, kind="more")] if is_more else answer)
    api.put(f"{API}/api/morechildren", answer)
    with pytest.raises(UnexpectedAnswerError, match=r"two listings|no things"):
        await api.client(mode="oauth", read="comments", ids=["abc"]).read(Target(what="tree", name="t3_abc"))


async def test_the_site_is_not_asked_for_json(api: ScriptedApi) -> None:
    api.put(NEW, b"<html>blocked</html>", 403, content_type="text/html")
    with pytest.raises(FetchError, match="mode oauth needs credentials") as caught:
        await api.client(**OAUTH).read(LISTING)
    assert caught.value.failure_class == "blocked"
    assert SITE not in str(caught.value)
