"""Checks which addresses may be connected to: the guard against requests into private networks.

A page, a redirect or a hostile name server can point at ``127.0.0.1``, a cloud's metadata service or a
printer. So the resolved address is checked here, and the transport connects to exactly this address: a name
that resolves differently the second time gains nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import unquote

from agentic.core.http.errors import PrivateAddressError
from agentic.core.http.guard.hosts import HostSet
from agentic.core.http.guard.special_addresses import is_special

NAME = re.compile(r"[\w.-]+")
# Browsers and curl read a host whose last label is a number as an IPv4 address (WHATWG URL, 3.5), in any
# form: no top-level domain is a number.
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
# IANA's special-use domain names, and further ones of resolvers and clouds (RFC 6761, 6762, 8375, 9476).
LOCAL_ENDINGS = (".localhost", ".localdomain", ".local", ".internal", ".home.arpa", ".lan", ".intranet")


class AddressGuard:
    """Refuses addresses that are not public, except for hosts named in ``allowed``.

    Args:
        allowed: ``host`` (any port) or ``host:port`` as written in URLs; IPv6 as ``::1`` or ``[::1]:80``.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._allowed = HostSet(allowed)

    def check_host(self, host: str, port: int, *, is_proxied: bool = False) -> None:
        """Refuse a host that is itself an address, and not a public one; names pass.

        Args:
            host: As written in a URL.
            port: Its port.
            is_proxied: A proxy will resolve the name, so its address is unknown here: names of the proxy's
                own network are refused, such as ``localhost``, ``db.internal`` and names without a dot.

        Raises:
            PrivateAddressError: It is not public, it ends in a number that only some libraries read as an
                address (``2130706433``, ``127.1``, ``0x7f.1.``), or it is not a valid name.
        """
        if not self._allowed.names(host, port) and _is_refused(host, is_proxied=is_proxied):
            raise PrivateAddressError(host, port, host)

    def admit(self, host: str, port: int, addresses: Sequence[str]) -> list[str]:
        """Return the allowed ones of a name's ``addresses``.

        Raises:
            PrivateAddressError: None is allowed.
        """
        if self._allowed.names(host, port):
            return list(addresses)
        admitted = [address for address in addresses if is_public(address)]
        if addresses and not admitted:
            raise PrivateAddressError(host, port, addresses[0])
        return admitted


@lru_cache(maxsize=1_024)
def is_public(address: str) -> bool:
    """Whether ``address`` belongs to the public internet.

    An IPv6 address that contains an IPv4 address is judged by that, or is never public. An address with a
    zone (``fe80::1%eth0``) is not public, and neither is an invalid address.
    """
    try:
        return "%" not in address and not is_special(ip_address(address))
    except ValueError:
        return False


@lru_cache(maxsize=1_024)  # called for each request
def _is_refused(host: str, *, is_proxied: bool) -> bool:
    """Whether a host is known not to be public, without a name server."""
    if is_public(host):
        return False
    name = _plain(host)
    if ":" in host or name is None or NUMBER.fullmatch(name.rpartition(".")[2]):
        return True
    return is_proxied and _is_local(name)


def _plain(host: str) -> str | None:
    """Return a name as the most lenient library reads it; None if it is not a name."""
    name = unquote(host)
    if not name.isascii():
        from idna import IDNAError, uts46_remap  # only a few names need it

        try:
            name = uts46_remap(name, std3_rules=False)
        except (IDNAError, IndexError):
            return None
    name = name.lower().rstrip(".")
    return name if NAME.fullmatch(name) else None


def _is_local(name: str) -> bool:
    """Whether a name is local to a network: by its ending, or because it has no dot."""
    return "." not in name or f".{name}".endswith(LOCAL_ENDINGS)
