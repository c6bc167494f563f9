"""The address of a provider, and the key that is sent there and to no other place."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import urlsplit

from agentic.core.llm.errors import MissingKeyError
from agentic.core.masking import mask_known, passwords_in, remember_secrets
from agentic.core.records import record

OmittedT = TypeVar("OmittedT")

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
        takes_environment: Whether keys and headers of the environment may be sent there: it is the provider's
            own address, or the one that the environment names.
    """

    url: str
    key: str | None = field(default=None, repr=False)
    is_home: bool = True
    takes_environment: bool = True

    @property
    def host(self) -> str:
        """The host of the base URL."""
        return host_of(self.url)


def find_access(home: ProviderHome, *, api_key: str | None, base_url: str | None) -> Access:
    """Return the address for requests, and the key for it.

    A key from the environment goes to the provider's own host only, and over https, or to the address that
    the environment names beside it. Another ``base_url`` needs ``api_key``, unless its host is private.

    Raises:
        MissingKeyError: The host needs a key that was not found.
        ValueError: ``base_url`` is not a URL of http or https.
    """
    variable_url = next((value for name in home.url_variables if (value := os.environ.get(name))), None)
    url = base_url or variable_url or home.url
    remember_secrets(*passwords_in(url))
    host = host_of(url)
    if not host:
        raise ValueError(f"base_url {mask_known(url)!r} is not a URL; write it as {home.url!r}")
    is_home = host == host_of(home.url)
    is_safe = urlsplit(url).scheme == urlsplit(home.url).scheme
    takes_environment = url == variable_url or (is_home and is_safe)
    key = api_key
    if key is None and takes_environment:
        key = next((value for name in home.key_variables if (value := os.environ.get(name))), None)
    if not key and home.needs_key and not is_private_host(host):
        variables = " or ".join(home.key_variables)
        raise MissingKeyError(home.provider, variables, host=None if takes_environment else host)
    remember_secrets(*([key] if key else []))
    return Access(url, key or None, is_home, takes_environment)


def own_headers(access: Access, variable: str, omitted: OmittedT) -> dict[str, str | OmittedT]:
    """Return headers instead of those that an SDK reads from a variable and sends to any server.

    Args:
        access: The address for requests; one that may get the headers keeps them.
        variable: Has the headers as lines, ``Name: value``.
        omitted: The SDK's value for a header that is not sent.
    """
    if access.takes_environment:
        return {}
    lines = os.environ.get(variable, "").split("\n")
    names = [line.partition(":")[0].strip() for line in lines if ":" in line]
    bearer = f"Bearer {access.key}" if access.key else omitted
    return {name: bearer if name.lower() == "authorization" else omitted for name in names}


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
