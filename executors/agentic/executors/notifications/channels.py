"""Sends a message by HTTP, SMTP or Apprise, and judges whether it has arrived."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agentic.core.errors import line_of
from agentic.core.http import FetchError, HttpPolicy, HttpRequest
from agentic.core.http.errors import PrivateAddressError, reason_in
from agentic.core.http.failures import retry_after_s
from agentic.core.http.transports.choice import open_transport
from agentic.core.http.webhooks import webhook_headers
from agentic.core.masking import mask_known, remember_secrets
from agentic.core.threads import in_spare_thread
from agentic.executors.notifications.arrival import Arrival, Sending, Target
from agentic.mappers import utc_now
from agentic.mappers.tables.notifications import Channel

if TYPE_CHECKING:
    from agentic.core.http import HttpResponse
    from agentic.core.types import JSONValue
    from agentic.executors.notifications.messages import NotificationMessage

TIMEOUT_S = 15.0
"""Time for one message, or for one answer of an SMTP server."""

MAX_ANSWER_BYTES = 64 * 1024
MAX_REASON = 300

_AGAIN = frozenset({408, 425, 429})
_GATEWAY_TIMEOUT = 504
_DISCORD_CHARS = 2_000
_CHAT_CHARS = 12_000


async def send_message(target: Target, message: NotificationMessage, timeout_s: float = TIMEOUT_S) -> Sending:
    """Send a message; errors of the target are a result."""
    if target.channel is not Channel.EMAIL:
        remember_secrets(target.address)  # who knows the URL may write there, and answers repeat it
    try:
        match target.channel:
            case Channel.EMAIL:
                from agentic.executors.notifications.email import send_email

                async with asyncio.timeout(3 * timeout_s):  # SMTP is a dialogue
                    sending = await in_spare_thread(partial(send_email, target, message, timeout_s))
            case Channel.APPRISE:
                sending = await _by_apprise(target.address, message, timeout_s)
            case _:
                sending = await _by_http(target, message, timeout_s)
    except Exception as exc:  # any error of a client library: it may have been sent
        sending = Sending(arrival=Arrival.UNKNOWN, reason=f"{type(exc).__name__}: {line_of(exc)}")
    reason = mask_known(sending.reason)[:MAX_REASON]
    return Sending(arrival=sending.arrival, reason=reason, retry_after_s=sending.retry_after_s)


def payload_of(channel: Channel, message: NotificationMessage) -> JSONValue:
    """Return the JSON that a channel over HTTP takes."""
    match channel:
        case Channel.SLACK:
            text = f"{message.title}\n{message.text}"
            for mark, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):  # <!channel> would call all
                text = text.replace(mark, escaped)
            return {"text": _cut(text, _CHAT_CHARS)}
        case Channel.DISCORD:
            text = _cut(f"{message.title}\n{message.text}", _DISCORD_CHARS)
            return {"content": text, "allowed_mentions": {"parse": []}}
        case Channel.TEAMS:
            return {"type": "message", "attachments": [_card(message)]}
        case _:
            return dict(message.data)


async def _by_http(target: Target, message: NotificationMessage, timeout_s: float) -> Sending:
    try:
        host = urlsplit(target.address).hostname or ""
    except ValueError:
        host = ""
    if not host or not target.address.lower().startswith(("http://", "https://")):
        return Sending(arrival=Arrival.REFUSED, reason="the target is not an http:// or https:// URL")
    body = json.dumps(payload_of(target.channel, message), ensure_ascii=False).encode()
    is_generic = target.channel is Channel.WEBHOOK
    headers: Mapping[str, str] = (
        webhook_headers(message.id, int(time.time()), body, target.credential)
        if is_generic
        else {"content-type": "application/json"}
    )
    request = HttpRequest(url=target.address, method="POST", headers=headers, body=body)
    policy = HttpPolicy(
        allow_private_hosts=(host,) if target.may_be_private else (),
        timeout_s=timeout_s,
        max_bytes=MAX_ANSWER_BYTES,
    )
    try:
        async with open_transport(policy) as transport:
            response = await transport.send(request, timeout_s=timeout_s, max_bytes=MAX_ANSWER_BYTES)
    except FetchError as exc:
        return judge_fault(exc)
    return judge_answer(response)


def judge_answer(response: HttpResponse) -> Sending:
    """Return whether an answer says that a message has arrived."""
    status = response.status
    said = " ".join(response.body[:MAX_REASON].decode(errors="replace").split())
    reason = f"the target answered {status}{f': {said}' if said else ''}"
    if status < 300:
        return Sending(arrival=Arrival.SENT)
    if status < 400:
        return Sending(arrival=Arrival.REFUSED, reason=f"{reason}; it redirects, so change the target")
    if status in _AGAIN or (status >= 500 and status != _GATEWAY_TIMEOUT):
        wait_s = retry_after_s(response.headers, utc_now())
        return Sending(arrival=Arrival.RETRY, reason=reason, retry_after_s=wait_s)
    arrival = Arrival.UNKNOWN if status == _GATEWAY_TIMEOUT else Arrival.REFUSED
    return Sending(arrival=arrival, reason=reason)


def judge_fault(fault: FetchError) -> Sending:
    """Return whether a message without an answer may have arrived."""
    from aiohttp import ClientConnectorError, InvalidURL

    reason = reason_in(str(fault), fault.url)
    if fault.status is not None and fault.status < 300:  # only the body could not be read
        return Sending(arrival=Arrival.SENT)
    if isinstance(fault.__cause__, PrivateAddressError):
        return Sending(
            arrival=Arrival.REFUSED,
            reason="the target has a private address; if that is right, add the notification with --private",
        )
    if isinstance(fault, ValueError) or isinstance(fault.__cause__, InvalidURL):
        return Sending(arrival=Arrival.REFUSED, reason=reason)
    if isinstance(fault.__cause__, ClientConnectorError):  # no byte of it was sent
        return Sending(arrival=Arrival.RETRY, reason=reason)
    return Sending(arrival=Arrival.UNKNOWN, reason=reason)


async def _by_apprise(url: str, message: NotificationMessage, timeout_s: float) -> Sending:
    try:
        import apprise  # takes 0.3 s, and its channels as long again
    except ImportError:
        advice = "pip install 'agentic-pipelines[notify]'"
        return Sending(arrival=Arrival.RETRY, reason=f"Apprise is not installed; {advice}")
    sender = apprise.Apprise()
    if not await in_spare_thread(partial(sender.add, url)):
        return Sending(
            arrival=Arrival.REFUSED,
            reason="Apprise does not know this URL; see https://github.com/caronc/apprise/wiki",
        )
    notify = partial(sender.notify, title=message.title, body=message.text, body_format="text")
    async with asyncio.timeout(timeout_s):
        is_sent = await in_spare_thread(notify)
    if is_sent:
        return Sending(arrival=Arrival.SENT)
    # It does not say why, or whether the message was on its way.
    return Sending(arrival=Arrival.UNKNOWN, reason="Apprise could not send it")


def _card(message: NotificationMessage) -> JSONValue:
    blocks: list[JSONValue] = [
        {"type": "TextBlock", "text": message.title, "weight": "bolder", "wrap": True},
        {"type": "TextBlock", "text": _cut(message.text, _CHAT_CHARS).replace("\n", "\n\n"), "wrap": True},
    ]
    content: JSONValue = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": blocks,
    }
    return {"contentType": "application/vnd.microsoft.card.adaptive", "content": content}


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
