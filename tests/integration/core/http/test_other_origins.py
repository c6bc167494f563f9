"""What a redirect to another origin takes along, by each transport; and what a webhook does about it."""

from __future__ import annotations

import pytest

from agentic.core.actors import ActorContext
from agentic.core.http import FetchError, HttpPolicy, HttpRequest, open_fetcher
from agentic.core.testing.http_peer import listening, page
from agentic.plugins.web.actors.webhook import WebhookActor, WebhookInput

pytestmark = pytest.mark.integration

TRANSPORTS = ("aiohttp", "httpx2", "curl_cffi")
FIELDS = {"X-Api-Key": "canary", "Authorization": "canary", "Cookie": "a=canary", "PRIVATE-TOKEN": "canary"}


def leading_to(url: str, status: int) -> bytes:
    return f"HTTP/1.1 {status} Moved\r\nLocation: {url}\r\nContent-Length: 0\r\n\r\n".encode()


@pytest.mark.parametrize("status", [302, 307])
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_no_secret_and_no_body_reaches_another_origin(transport: str, status: int) -> None:
    policy = HttpPolicy.model_validate(
        {"transport": transport, "obey_robots": False, "allow_private_hosts": ["127.0.0.1"]}
    )
    async with (
        listening(page(b"there")) as there,
        listening(leading_to(there.url, status)) as here,
        open_fetcher(policy) as fetcher,
    ):
        response = await fetcher.fetch(
            HttpRequest(
                url=here.url, method="POST", headers={**FIELDS, "X-Other": "harmless"}, body=b"canary"
            )
        )
    assert response.body == b"there"
    assert here.requests[0].count(b"canary") == 5
    assert b"canary" not in there.requests[0]
    assert b"harmless" in there.requests[0]


async def test_a_webhook_that_is_led_to_another_origin_fails_and_sends_nothing_there() -> None:
    policy = HttpPolicy(obey_robots=False, allow_private_hosts=("127.0.0.1",))
    async with (
        listening(page(b"there")) as there,
        listening(leading_to(there.url, 307)) as here,
        open_fetcher(policy) as fetcher,
    ):
        given = WebhookInput(url=here.url, payload={"a": 1}, headers={"X-Api-Key": "canary"})
        with pytest.raises(FetchError, match="another origin") as caught:
            await WebhookActor().run(ActorContext(http=fetcher), given)
    assert caught.value.failure_class == "invalid_url"
    assert there.requests == []
