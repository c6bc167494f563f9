"""What a webhook sends, and that it can be trusted."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from agentic.core.http.webhooks import sign
from agentic.plugins.web.actors.webhook import WebhookInput, request_of


def test_a_signature_is_that_of_standard_webhooks() -> None:
    # The example of the specification, version 1.0.
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    content = b'msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}'
    assert sign(secret, content) == "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("secret", ["plain", "whsec_not base64"])
def test_any_text_may_be_a_secret(secret: str) -> None:
    assert sign(secret, b"a") != sign(f"{secret}!", b"a")


def test_a_request_names_its_delivery_and_cannot_be_dressed_as_another() -> None:
    given = WebhookInput(
        url="http://a.example/",
        payload={"é": 1},
        secret=SecretStr("s"),
        headers={"Webhook-Id": "x", "X-A": "b"},
    )
    request = request_of(given, "run/step", 17)
    assert request.body == '{"é":1}'.encode()
    assert dict(request.headers) == {
        "x-a": "b",
        "content-type": "application/json",
        "idempotency-key": "run/step",
        "webhook-id": "run/step",
        "webhook-timestamp": "17",
        "webhook-signature": "v1," + sign("s", 'run/step.17.{"é":1}'.encode()),
    }


def test_a_webhook_goes_to_an_endpoint_of_the_user_and_needs_no_leave_of_robots_txt() -> None:
    assert not request_of(WebhookInput(url="http://a.example/", payload=[]), "d", 1).obey_robots


def test_a_webhook_goes_to_no_other_origin() -> None:
    assert request_of(WebhookInput(url="http://a.example/", payload=[]), "d", 1).stays_at_origin


def test_without_a_secret_nothing_is_signed() -> None:
    request = request_of(WebhookInput(url="http://a.example/", payload=[]), "d", 1)
    assert "webhook-signature" not in request.headers
