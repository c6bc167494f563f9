"""Targets, and whether a message has arrived there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from agentic.mappers.tables.notifications import Channel


class Arrival(Enum):
    """Whether a message has arrived."""

    SENT = "sent"
    RETRY = "retry"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """The result of sending a message.

    Attributes:
        arrival: ``RETRY``: certainly not, and another try makes sense. ``REFUSED``: another try would fail,
            too. ``UNKNOWN``: perhaps; another try could be the second message.
        reason: Why it has not arrived, or may not have.
        retry_after_s: Pause that the target asks for.
    """

    arrival: Arrival
    reason: str = ""
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where to send, with all secrets.

    Attributes:
        channel: How.
        address: URL, or e-mail addresses separated by commas.
        credential: Signing key of a webhook, or URL of the SMTP server.
        may_be_private: Whether a private address is allowed.
    """

    channel: Channel
    address: str
    credential: str | None = None
    may_be_private: bool = False
