"""Addresses of remote agents."""

from __future__ import annotations

from urllib.parse import urlsplit

from agentic.core.http import InvalidUrlError
from agentic.core.http.urls import origin_of
from agentic.core.records import record
from agentic.plugins.a2a.errors import RemoteAddressError
from agentic.plugins.a2a.nats.frames import subject_of

CARD_PATH = "/.well-known/agent-card.json"


@record
class NatsAddress:
    """An agent on a bus.

    Attributes:
        project: Its project.
        agent: Its name.
    """

    project: str
    agent: str

    @property
    def subject(self) -> str:
        """The subject of its requests."""
        return subject_of(self.project, self.agent)


@record
class HttpAddress:
    """An agent behind HTTP.

    Attributes:
        url: The URL above its card, without a slash at the end.
        origin: Scheme, host and port: the token goes nowhere else.
    """

    url: str
    origin: str


def parse_address(text: str) -> NatsAddress | HttpAddress:
    """Return an address.

    Args:
        text: ``nats:AGENT`` of the project ``default``, ``nats:PROJECT/AGENT``, or a URL of http or https:
            the agent's card is below it, at ``/.well-known/agent-card.json``.

    Raises:
        RemoteAddressError: It is not an address.
    """
    scheme, _, rest = text.partition(":")
    if scheme == "nats" and rest and not rest.startswith("//"):
        project, slash, agent = rest.partition("/")
        if not slash:
            project, agent = "default", rest
        if project and agent and "/" not in agent:
            return NatsAddress(project, agent)
    if scheme in ("http", "https"):
        return _http(text)
    raise RemoteAddressError(
        f"{text[:80]!r} is not an address of an agent: write nats:AGENT, nats:PROJECT/AGENT, or a URL of http"
    )


def _http(text: str) -> HttpAddress:
    try:
        origin = origin_of(text)
    except InvalidUrlError as exc:
        raise RemoteAddressError(f"not an address of an agent: {exc}") from None
    parts = urlsplit(text)
    if parts.username is not None or parts.password is not None:
        raise RemoteAddressError(f"the URL of {origin} has credentials: give them as the token instead")
    if parts.query or parts.fragment:
        raise RemoteAddressError(f"the URL of {origin} has a query or a fragment: leave them out")
    return HttpAddress(text.removesuffix(CARD_PATH).rstrip("/"), origin)
