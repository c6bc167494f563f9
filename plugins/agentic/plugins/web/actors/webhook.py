"""The actor that tells another service what was found."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, SecretStr

from agentic.core.actors import Actor, ActorContext
from agentic.core.http import HttpRequest
from agentic.core.http.webhooks import webhook_headers
from agentic.core.types import JSONValue


class WebhookInput(BaseModel):
    """What to tell, and whom."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    payload: JSONValue = Field(description="Sent as JSON.")
    secret: SecretStr | None = Field(default=None, description="Signing key; write ${secrets.NAME}.")
    method: Literal["POST", "PUT", "PATCH"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict)
    timeout_s: PositiveFloat | None = Field(default=None, description="Timeout, instead of the policy's.")


class WebhookOutput(BaseModel):
    """That it was taken.

    Attributes:
        status: Of the answer, below 400.
        delivery: What the request was named; the same if it had to be sent again.
    """

    model_config = ConfigDict(frozen=True)

    status: int
    delivery: str


class WebhookActor(Actor[WebhookInput, WebhookOutput]):
    """Sends JSON to a URL, signed as in Standard Webhooks 1.0.

    Headers: ``webhook-id`` and ``idempotency-key`` name the delivery, ``webhook-timestamp`` is Unix time, and
    ``webhook-signature`` is ``v1,`` and the base64 of the HMAC-SHA256 over ``id.timestamp.body``. A run that
    is begun again does not send what was answered before. A redirect to another origin is a failure: what is
    sent is for the URL that was given.
    """

    name = "webhook"
    version = "1"
    has_effect = True
    Input = WebhookInput
    Output = WebhookOutput
    capabilities = frozenset({"network"})

    @classmethod
    def repeatable_after(cls, config: Mapping[str, JSONValue]) -> frozenset[str]:  # noqa: ARG003 - as declared
        """Return what leaves little doubt: the receiver may not look at the name of a delivery."""
        return frozenset({"connect", "rate_limited"})

    async def run(self, ctx: ActorContext, given: WebhookInput, /) -> WebhookOutput:
        """Send it, unless this call has done so already."""
        delivery = ctx.call or uuid.uuid4().hex

        async def send() -> JSONValue:
            response = await ctx.http.fetch(request_of(given, delivery, int(time.time())))
            return response.status

        status = await ctx.once(f"webhook:{delivery}", send)
        return WebhookOutput(status=int(str(status)), delivery=delivery)


def request_of(given: WebhookInput, delivery: str, now_s: int) -> HttpRequest:
    """Return the request for a delivery of that name at that Unix time."""
    body = json.dumps(given.payload, ensure_ascii=False, separators=(",", ":")).encode()
    own = {name.lower(): value for name, value in given.headers.items()}
    secret = None if given.secret is None else given.secret.get_secret_value()
    return HttpRequest(
        url=given.url,
        method=given.method,
        headers={**own, **webhook_headers(delivery, now_s, body, secret)},
        body=body,
        timeout_s=given.timeout_s,
        obey_robots=False,
        stays_at_origin=True,
    )
