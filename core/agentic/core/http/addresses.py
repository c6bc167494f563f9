"""Which addresses may be connected to: the guard against requests into the own network.

A page, a redirect or a name server of the other side can point at ``127.0.0.1``, a cloud's metadata service
or a printer. What is checked here is therefore the resolved address, and the transport connects to the very
address that was checked: a name that resolves differently the second time gains nothing.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from agentic.core.http.errors import PrivateAddressError
from agentic.core.http.hosts import HostSet

NAT64 = IPv6Network("64:ff9b::/96")


class AddressGuard:
    """Refuses addresses that are not public, except for hosts named in ``allowed``.

    Args:
        allowed: ``host`` (any port) or ``host:port`` as they stand in URLs; IPv6 as ``::1`` or ``[::1]:80``.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._allowed = HostSet(allowed)

    def check_host(self, host: str, port: int, *, is_proxied: bool = False) -> None:
        """Refuse a host that is itself an address, and not a public one; names pass.

        Args:
            host: As it stands in a URL.
            port: Written out.
            is_proxied: A proxy will look the name up, so that nobody here sees what it leads to: what it
                would take for itself is refused by name.

        Raises:
            PrivateAddressError: It is not public, or a number that only some libraries read as an address
                (``2130706433``, ``127.1``, ``0x7f.1``).
        """
        if self._allowed.names(host, port):
            return
        if (_looks_numeric(host) and not is_public(host)) or (is_proxied and _is_local_name(host)):
            raise PrivateAddressError(host, port, host)

    def admit(self, host: str, port: int, addresses: Sequence[str]) -> list[str]:
        """Return those of a name's ``addresses`` that may be connected to.

        Raises:
            PrivateAddressError: None of them may.
        """
        if self._allowed.names(host, port):
            return list(addresses)
        admitted = [address for address in addresses if is_public(address)]
        if addresses and not admitted:
            raise PrivateAddressError(host, port, addresses[0])
        return admitted


@lru_cache(maxsize=1_024)
def is_public(address: str) -> bool:
    """Tell whether ``address`` belongs to the public internet.

    IPv6 addresses that carry an IPv4 one (mapped, 6to4, Teredo, NAT64) are judged by what they carry. What
    is no address at all is not public.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return all(part.is_global and not part.is_multicast for part in (parsed, *_carried(parsed)))


def _carried(address: IPv4Address | IPv6Address) -> list[IPv4Address]:
    if isinstance(address, IPv4Address):
        return []
    found = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in NAT64:
        found.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [carried for carried in found if carried is not None]


@lru_cache(maxsize=1_024)  # asked for each request
def _looks_numeric(host: str) -> bool:
    """Tell whether an HTTP client would connect to ``host`` without asking a name server."""
    if ":" in host or host.replace(".", "").isdigit():
        return True
    try:
        socket.inet_aton(host)  # takes hexadecimal and short forms, as curl and name look-ups do
    except (OSError, UnicodeError):
        return False
    return True


def _is_local_name(host: str) -> bool:
    name = host.lower().removesuffix(".")
    return name == "localhost" or name.endswith(".localhost")
