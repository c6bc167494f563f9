"""Reads the options of a notification rule, and shows its target without secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from agentic.core.http.policy import SECRET
from agentic.core.pipeline.expressions.expressions import checked_query
from agentic.core.secret_names import secret_name_fault
from agentic.executors.errors import ExecutionError
from agentic.executors.notifications.email import addresses_in
from agentic.mappers.tables.notifications import Channel, NotificationEvent

SMTP_SECRET = "SMTP_URL"  # noqa: S105 - the name of a secret
"""Secret with the URL of the SMTP server, unless a rule names another."""

HIDDEN = "***"

_HTTP = frozenset({Channel.WEBHOOK, Channel.SLACK, Channel.DISCORD, Channel.TEAMS})
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://.+", re.DOTALL)


class NotificationRuleError(ExecutionError, ValueError):
    """A notification rule cannot be used as it is given."""


class NotSentError(ExecutionError):
    """A test message was not sent, or may not have arrived."""

    def __init__(self, name: str, reason: str, *, may_have_arrived: bool) -> None:
        doubt = " (perhaps it has arrived)" if may_have_arrived else ""
        super().__init__(f"notification {name!r} was not sent{doubt}: {reason}")
        self.name = name
        self.reason = reason
        self.may_have_arrived = may_have_arrived


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTarget:
    """Target of a rule, as stored."""

    channel: Channel
    address: str
    credential: str | None


def read_target(
    channel: Channel, address: str, *, smtp: str | None = None, signing_secret: str | None = None
) -> RuleTarget:
    """Check the target of a rule.

    Args:
        channel: How to send.
        address: E-mail addresses or a URL, perhaps with ``${secrets.NAME}``.
        smtp: Name of the secret with the SMTP server's URL.
        signing_secret: Name of the secret with the signing key of a webhook.

    Raises:
        NotificationRuleError: It cannot be used; the message has no secret.
    """
    if smtp is not None and channel is not Channel.EMAIL:
        raise NotificationRuleError(f"--smtp is for --email, and this notification uses {channel}")
    if signing_secret is not None and channel is not Channel.WEBHOOK:
        raise NotificationRuleError(
            f"--signing-secret is for --webhook, and this notification uses {channel}"
        )
    _check_references(address)
    if channel is Channel.EMAIL:
        parts = address.split(",")
        if not SECRET.search(address) and len(addresses_in(address)) < len(parts):
            raise NotificationRuleError(
                f"{address!r} is not a list of e-mail addresses; write ops@example.org,me@example.org"
            )
        return RuleTarget(
            channel=channel, address=address, credential=_reference(smtp or SMTP_SECRET, "--smtp")
        )
    if channel in _HTTP and not SECRET.match(address):
        _check_url(channel, address)
    elif not SECRET.match(address) and _SCHEME.fullmatch(address) is None:
        raise NotificationRuleError(
            f"the target of {channel} is not a URL; see https://github.com/caronc/apprise/wiki"
        )
    credential = None if signing_secret is None else _reference(signing_secret, "--signing-secret")
    return RuleTarget(channel=channel, address=address, credential=credential)


def read_events(events: Iterable[str]) -> str:
    """Return events in the form of the table, without repetitions.

    Raises:
        NotificationRuleError: One of them does not exist.
    """
    known = [str(event) for event in NotificationEvent]
    wanted = list(dict.fromkeys(events))
    if unknown := [event for event in wanted if event not in known]:
        raise NotificationRuleError(f"unknown event {unknown[0]!r}; choose from {', '.join(known)}")
    return " ".join(wanted)


def read_filter(text: str | None, events: str) -> str | None:
    """Check the filter of a rule.

    Raises:
        NotificationRuleError: It is not valid JMESPath, or no event of the rule is about rows.
    """
    if text is None:
        return None
    if not {NotificationEvent.NEW, NotificationEvent.CHANGED} & set(events.split()):
        raise NotificationRuleError("a filter chooses rows; add --on new or --on changed")
    try:
        return checked_query(text)
    except ValueError as exc:
        raise NotificationRuleError(f"--filter: {exc}") from None


def shown_target(channel: Channel, address: str) -> str:
    """Return a target for people: the path of such a URL permits to write there."""
    if channel is Channel.EMAIL or SECRET.fullmatch(address):
        return address
    if channel not in _HTTP:
        scheme = _SCHEME.fullmatch(address)
        return f"{scheme[1]}://{HIDDEN}" if scheme else HIDDEN
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return HIDDEN
    if not host:
        return HIDDEN
    place = f"{parts.scheme}://{host}{f':{port}' if port else ''}"
    return place if parts.path in ("", "/") and not parts.query else f"{place}/{HIDDEN}"


def secrets_of(*texts: str | None) -> list[str]:
    """Return the names of the secrets in texts."""
    return list(dict.fromkeys(name for text in texts if text for name in SECRET.findall(text)))


def _check_url(channel: Channel, address: str) -> None:
    try:
        parts = urlsplit(address)
        is_url = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        is_url = False
    if not is_url:
        raise NotificationRuleError(
            f"the target of {channel} is not an https:// URL; give one, or '${{secrets.NAME}}'"
        )


def _check_references(address: str) -> None:
    if address.count("${") != len(SECRET.findall(address)):
        raise NotificationRuleError("the target has a '${' that is not ${secrets.NAME}; correct it")


def _reference(name: str, option: str) -> str:
    found = SECRET.fullmatch(name)
    bare = found[1] if found else name
    if fault := secret_name_fault(bare):
        raise NotificationRuleError(f"{option} takes the name of a secret: {fault}")
    return f"${{secrets.{bare}}}"
