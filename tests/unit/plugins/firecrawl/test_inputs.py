"""What steps may say, and what the service is told for it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError

from agentic.core.actors import ActorContext, ActorError
from agentic.core.http import Fetcher, HttpPolicy
from agentic.core.http.urls import with_params
from agentic.core.types import JSONValue
from agentic.plugins.firecrawl.actors.extracted import item_of
from agentic.plugins.firecrawl.actors.options import PageInput, milliseconds
from agentic.plugins.firecrawl.actors.scrape import FirecrawlScrapeInput
from agentic.plugins.firecrawl.client import open_firecrawl
from agentic.plugins.firecrawl.settings import Service, ServiceInput

URL = "http://shop.example/"


def test_an_unusable_address_is_refused_without_being_shown() -> None:
    for address in ("ftp://h/", "http://user:hush@h/", "http://h/?a=hush"):
        with pytest.raises(ValidationError) as caught:
            ServiceInput(api_url=address)
        assert "hush" not in str(caught.value)


def test_only_the_cloud_is_the_cloud() -> None:
    assert Service(url="https://api.firecrawl.dev/").is_cloud
    assert not Service(url="http://api.firecrawl.dev").is_cloud
    assert not Service(url="https://api.firecrawl.dev.evil.example").is_cloud


def test_a_key_is_not_shown() -> None:
    assert "hush" not in repr(Service(url="http://h", key="hush"))
    assert "hush" not in repr(ServiceInput(api_key="hush"))  # type: ignore[arg-type] # as a spec gives it


def test_what_is_not_said_is_not_sent() -> None:
    assert PageInput().options(30, ["markdown"]) == {
        "formats": ["markdown"],
        "only_main_content": True,
        "timeout": 30_000,
        "max_age": 0,
        "store_in_cache": False,
        "skip_tls_verification": False,
    }


def test_times_are_told_in_whole_milliseconds_and_never_shorter() -> None:
    assert [milliseconds(seconds) for seconds in (0, 1, 0.0001, 2.5)] == [0, 1_000, 1, 2_500]


def test_params_join_the_query_of_the_url() -> None:
    assert with_params(f"{URL}?a=1", {"b": (True, 2), "c": "ü"}) == f"{URL}?a=1&b=true&b=2&c=%C3%BC"


@pytest.mark.parametrize(
    "wrong", [{"wait_for": "a["}, {"schema": {"type": "nothing"}}, {"method": "POST"}, {"formats": ["pdf"]}]
)
def test_a_step_that_cannot_work_is_refused_when_it_is_read(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        FirecrawlScrapeInput.model_validate({"url": URL, **wrong})


def test_fields_that_a_page_does_not_tell_are_left_out_of_its_item() -> None:
    schema: dict[str, JSONValue] = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert item_of({"a": None, "b": 1}, schema, URL) == {"b": 1}


def test_a_schema_is_never_fetched_from_somewhere_else() -> None:
    with pytest.raises(ActorError, match=r"refers to 'http://elsewhere\.example/s', which is not in it"):
        item_of({"a": 1}, {"$ref": "http://elsewhere.example/s"}, URL)


class NoNetwork:
    """A transport for what asks nobody."""

    async def send(self, request: object, *, timeout_s: float, max_bytes: int) -> Any:
        raise AssertionError(f"{request} was asked for")


async def test_without_the_library_a_step_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "firecrawl.v2", None)
    ctx = ActorContext(http=Fetcher(HttpPolicy(), NoNetwork()))
    service = await open_firecrawl(ctx, ServiceInput(api_url="http://h.example"), 1)

    async def call(client: object) -> None:
        raise AssertionError(client)

    with pytest.raises(ActorError, match=r"pip install 'agentic-pipelines\[firecrawl\]'") as caught:
        await service.ask("scrape it", call)
    assert caught.value.failure_class == "error"


def test_the_library_is_not_loaded_before_the_service_is_asked() -> None:
    code = (
        "import sys; from agentic.plugins.firecrawl import agentic_actors; "
        "[at.load() for at in agentic_actors()];"
        "print(sorted({'firecrawl', 'httpx', 'jsonschema'} & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
