"""Blocks of addresses outside the public internet, from the registries of IANA.

The tables are here because the standard library's depend on the version of Python, and omit blocks.
"""

from __future__ import annotations

from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

# IANA IPv4 Special-Purpose Address Registry, RFC 6890 and later additions. A block inside another one has
# its own sign: `+` is globally reachable.
IPV4 = """
- 0.0.0.0/8         this network
- 10.0.0.0/8        private use
- 100.64.0.0/10     shared address space of providers
- 127.0.0.0/8       loopback
- 168.63.129.16/32  the platform of Azure, from each of its machines; not in the registry
- 169.254.0.0/16    link-local, metadata services of clouds
- 172.16.0.0/12     private use
- 192.0.0.0/24      IETF protocol assignments; 192.0.0.192 is a metadata service
+ 192.0.0.9/32      Port Control Protocol anycast
+ 192.0.0.10/32     TURN anycast
- 192.0.2.0/24      documentation
- 192.88.99.0/24    6to4 relay anycast, deprecated
- 192.168.0.0/16    private use
- 198.18.0.0/15     benchmarking
- 198.51.100.0/24   documentation
- 203.0.113.0/24    documentation
- 224.0.0.0/4       multicast
- 240.0.0.0/4       reserved; 255.255.255.255 is broadcast
"""

# Nothing outside 2000::/3 is assigned, except the prefix of NAT64. After that as above.
IPV6 = """
- ::/0              loopback, mapped, translated, unique local, link-local, site-local, multicast, unassigned
+ 64:ff9b::/96      NAT64, judged by the IPv4 address it carries
+ 2000::/3          global unicast
- 2001::/23         IETF protocol assignments, Teredo, benchmarking, ORCHID
+ 2001:1::1/128     Port Control Protocol anycast
+ 2001:1::2/128     TURN anycast
+ 2001:1::3/128     DNS-SD Service Registration Protocol anycast
+ 2001:3::/32       AMT
+ 2001:4:112::/48   AS112-v6
+ 2001:20::/28      ORCHIDv2
+ 2001:30::/28      drone remote ID
- 2001:db8::/32     documentation
- 2002::/16         6to4
- 3fff::/20         documentation
"""

NAT64 = IPv6Network("64:ff9b::/96")
ISATAP = frozenset({0x0000_5EFE, 0x0200_5EFE})  # of the third quarter of an address (RFC 5214)


def is_special(address: IPv4Address | IPv6Address) -> bool:
    """Whether ``address``, or the IPv4 address in it, is outside the public internet."""
    blocks = _ipv4() if isinstance(address, IPv4Address) else _ipv6()
    closest = next((is_public for block, is_public in blocks if address in block), True)
    carried = None if isinstance(address, IPv4Address) else _carried(address)
    return not closest or (carried is not None and is_special(carried))


def _carried(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address in an otherwise public one; other prefixes with one are never public."""
    number = int(address)
    is_carrier = address in NAT64 or (number >> 32) & 0xFFFF_FFFF in ISATAP
    return IPv4Address(number & 0xFFFF_FFFF) if is_carrier else None


@cache
def _ipv4() -> list[tuple[IPv4Network, bool]]:
    """Return the blocks, the smallest first."""
    found = [(IPv4Network(block), sign == "+") for sign, block in _rows(IPV4)]
    return sorted(found, key=lambda entry: -entry[0].prefixlen)


@cache
def _ipv6() -> list[tuple[IPv6Network, bool]]:
    found = [(IPv6Network(block), sign == "+") for sign, block in _rows(IPV6)]
    return sorted(found, key=lambda entry: -entry[0].prefixlen)


def _rows(table: str) -> list[list[str]]:
    return [line.split(maxsplit=2)[:2] for line in table.split("\n") if line]
