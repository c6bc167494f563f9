"""The address of a provider, and the key that is sent there and to no other place."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from agentic.core.llm.errors import MissingKeyError
from agentic.core.masking import passwords_in, remember_secrets
from agentic.core.records import record

_LOCAL_ENDINGS = (".localhost", ".local", ".internal", ".lan", ".home.arpa")


@record(kw_only=True)
class ProviderHome:
    """A provider's own address, and the variables that its users set.

    Attributes:
        provider: Its name.
        url: The base URL of its API.
        url_variables: Variables that name another base URL.
        key_variables: Variables that may hold the key.
        needs_key: Whether its own address needs a key.
    """

    provider: str
    url: str
    url_variables: tuple[str, ...] = ()
    key_variables: tuple[str, ...] = ()
    needs_key: bool = True


@dataclass(frozen=True, slots=True)
class Access:
    """The address for requests, and the key for it.

    Attributes:
        url: The base URL.
        key: The key, if there is one.
        is_home: Whether this is the provider's own address.
    """

    url: str
    key: str | None = field(default=None, repr=False)
    is_home: bool = True

    @property
    def host(self) -> str:
        """The host of the base URL."""
        return host_of(self.url)


def find_access(home: ProviderHome, *, api_key: str | None, base_url: str | None) -> Access:
    """Return the address for requests, and the key for it.

    A key from the environment goes to the provider's own host only, or to the host that the environment names
    beside it. Another ``base_url`` needs ``api_key``, unless its host is private.

    Raises:
        MissingKeyError: The host needs a key that was not found.
        ValueError: ``base_url`` is not a URL of http or https.
    """
    variable_url = next((value for name in home.url_variables if (value := os.environ.get(name))), None)
    url = base_url or variable_url or home.url
    host = host_of(url)
    if not host:
        raise ValueError(f"base_url {url!r} is not a URL; write it as {home.url!r}")
    is_home = host == host_of(home.url)
    key = api_key
    if key is None and (is_home or url == variable_url):
        key = next((value for name in home.key_variables if (value := os.environ.get(name))), None)
    if not key and home.needs_key and not is_private_host(host):
        variables = " or ".join(home.key_variables)
        raise MissingKeyError(home.provider, variables, host=None if is_home else host)
    remember_secrets(*([key] if key else []), *passwords_in(url))
    return Access(url, key or None, is_home)


def host_of(url: str) -> str:
    """Return the host of a URL of http or https; empty for any other text."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return (parts.hostname or "") if parts.scheme in ("http", "https") else ""


def is_private_host(host: str) -> bool:
    """Whether a host is this machine or in a private network, by its name or address. Asks no DNS."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(_LOCAL_ENDINGS)
    return address.is_private or address.is_loopback or address.is_link_local
