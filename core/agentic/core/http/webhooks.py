"""Headers of a webhook, signed as in Standard Webhooks 1.0 (https://www.standardwebhooks.com)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

SECRET_PREFIX = "whsec_"  # noqa: S105 - what secrets of that kind begin with


def webhook_headers(delivery: str, now_s: int, body: bytes, secret: str | None) -> dict[str, str]:
    """Return the headers of a delivery.

    ``webhook-id`` and ``idempotency-key`` name it, ``webhook-timestamp`` is Unix time, and with a secret
    ``webhook-signature`` is ``v1,`` and the base64 of the HMAC-SHA256 over ``id.timestamp.body``.

    Args:
        delivery: Name of the delivery; the same if it is sent again.
        now_s: Unix time.
        body: JSON.
        secret: Signing key.
    """
    headers = {
        "content-type": "application/json",
        "idempotency-key": delivery,
        "webhook-id": delivery,
        "webhook-timestamp": str(now_s),
    }
    if secret is not None:
        headers["webhook-signature"] = f"v1,{sign(secret, f'{delivery}.{now_s}.'.encode() + body)}"
    return headers


def sign(secret: str, content: bytes) -> str:
    """Return the base64 of the HMAC-SHA256; a secret that begins with ``whsec_`` is base64 itself."""
    return base64.b64encode(hmac.digest(_key(secret), content, hashlib.sha256)).decode()


def _key(secret: str) -> bytes:
    if secret.startswith(SECRET_PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
        except binascii.Error:
            pass
    return secret.encode()
