from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.http.registries import rows

from agentic.core.http.errors import PrivateAddressError
from agentic.core.http.guard.addresses import AddressGuard, is_public

PRIVATE = [
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "168.63.129.16",
    "::ffff:168.63.129.16",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.1.1",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1",
    "fe80::1%eth0",
    "fc00::1",
    "ff02::1",
]
CARRIERS = [
    "::ffff:10.0.0.1",
    "::10.0.0.1",
    "::ffff:0:10.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::192.0.0.192",
    "64:ff9b:1::a00:1",
    "64:ff9b:1:a00:0:1::",
    "2002:0a00:0001::1",
    "2001:0:4136:e378:8000:63bf:f5ff:fffe",
    "2606:4700::5efe:10.0.0.1",
    "2606:4700::200:5efe:127.0.0.1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_of_the_own_network_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", CARRIERS)
def test_an_ipv6_address_that_carries_a_private_one_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(("block", "is_reachable"), rows(), ids=str)
def test_a_block_of_the_registries_is_public_if_it_is_globally_reachable(
    block: IPv4Network | IPv6Network, is_reachable: bool
) -> None:
    inner = [other for other, _ in rows() if other.version == block.version and other != block]
    ends = [block[0], block[block.num_addresses // 2], block[-1]]
    own = [
        one for one in ends if not any(one in other and other.prefixlen > block.prefixlen for other in inner)
    ]
    if block == ip_network("64:ff9b::/96"):  # the addresses these carry are special themselves
        own = [block[int(IPv4Address("1.1.1.1"))]]
    assert [is_public(str(one)) for one in own] == [is_reachable] * len(own)
    assert own or any(other.subnet_of(block) for other in inner)  # type: ignore[arg-type] # of one version


@given(st.ip_addresses(v=6))
def test_an_ipv6_address_outside_of_global_unicast_is_not_public(address: IPv6Address) -> None:
    if address not in ip_network("2000::/3") and address not in ip_network("64:ff9b::/96"):
        assert not is_public(str(address))


@given(st.ip_addresses(v=4))
def test_translation_changes_nothing_about_an_ipv4_address(address: IPv4Address) -> None:
    translated = IPv6Address(int(IPv6Address("64:ff9b::")) + int(address))
    assert is_public(str(translated)) == is_public(str(address))


@pytest.mark.parametrize(
    "address", ["1.1.1.1%eth0", "2606:4700::1%eth0", "2606:4700::1%25eth0", "", "x", "1.1"]
)
def test_what_is_not_an_address_or_has_a_zone_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "64:ff9b::1.1.1.1"])
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@given(st.ip_addresses(v=4, network="10.0.0.0/8") | st.ip_addresses(network="fc00::/7"))
def test_a_literal_private_address_is_refused(address: object) -> None:
    with pytest.raises(PrivateAddressError, match="allow_private_hosts"):
        AddressGuard().check_host(str(address), 80)


ODD_NUMBERS = [
    "2130706433",
    "127.1",
    "0177.0.0.1",
    "0",
    "127.0.0.1.",
    "127.0.0.1..",
    "0x7f.0.0.1",
    "0x7f000001",
    "0x7f000001.",
    "0X7F000001",
    "0x",
    "127.0.0.01",
    "127.0.0.0x1",
    "99999999999999999999",
    "1.2.3.4.5",
    "a.b.1",
    "%31%32%37.0.0.1",
    "127.0.0.%31",
    "127%2e0%2e0%2e1",
    "１２７.０.０.１",
    "127。0。0。1",
    "127．0｡0．1",
    "①②⑦.0.0.1",
    "127.0.0.1%00.example.org",
    "fe80::1%25eth0",
    "::ffff:7f00:1",
    ".",
    "",
    "a b",
]


@pytest.mark.parametrize("is_proxied", [False, True])
@pytest.mark.parametrize("host", ODD_NUMBERS)
def test_a_number_that_some_libraries_read_as_an_address_is_refused(host: str, is_proxied: bool) -> None:
    with pytest.raises(PrivateAddressError):
        AddressGuard().check_host(host, 80, is_proxied=is_proxied)


def test_a_name_passes_until_its_addresses_are_known() -> None:
    AddressGuard().check_host("localhost", 80)


LOCAL_NAMES = [
    "localhost",
    "LocalHost.",
    "localhost..",
    "db.localhost",
    "loc%61lhost",
    "%6c%6f%63%61%6c%68%6f%73%74",
    "ｌｏｃａｌｈｏｓｔ",
    "ⓛocalhost",
    "localho\u017ft",
    "lo\u00adcalhost",
    "localhost。",
    "db。localhost",
    "localhost.localdomain",
    "ip6-localhost",
    "metadata",
    "metadata.google.internal",
    "printer.local",
    "nas.home.arpa",
    "router.lan",
]


@pytest.mark.parametrize("host", [*LOCAL_NAMES, "10.0.0.1", "0x7f.1"])
def test_what_a_proxy_would_take_for_itself_is_refused_by_name(host: str) -> None:
    with pytest.raises(PrivateAddressError):
        AddressGuard().check_host(host, 80, is_proxied=True)
    AddressGuard([host]).check_host(host, 80, is_proxied=True)


@pytest.mark.parametrize(
    "host", ["example.org", "add.me", "0xcafe.example", "localhost.example", "1.1.1.1", "b\u00fccher.example"]
)
def test_other_names_pass_through_a_proxy(host: str) -> None:
    AddressGuard().check_host(host, 80, is_proxied=True)


def test_only_the_public_addresses_of_a_name_are_handed_on() -> None:
    assert AddressGuard().admit("mixed.example", 80, ["127.0.0.1", "1.1.1.1", "::1"]) == ["1.1.1.1"]


def test_a_name_with_private_addresses_only_is_refused_with_the_entry_that_would_admit_it() -> None:
    with pytest.raises(
        PrivateAddressError, match=r"inner\.example leads to 10\.0\.0\.1.*'inner\.example:8080'"
    ):
        AddressGuard().admit("inner.example", 8080, ["10.0.0.1"])


@pytest.mark.parametrize("entry", ["localhost", "LOCALHOST:8000"])
def test_a_host_that_is_named_may_have_a_private_address(entry: str) -> None:
    assert AddressGuard([entry]).admit("localhost", 8000, ["127.0.0.1"]) == ["127.0.0.1"]


@pytest.mark.parametrize("entry", ["localhost:8001", "127.0.0.1", "other"])
def test_a_host_is_named_by_its_name_in_the_url_and_its_port(entry: str) -> None:
    with pytest.raises(PrivateAddressError):
        AddressGuard([entry]).admit("localhost", 8000, ["127.0.0.1"])


@pytest.mark.parametrize("entry", ["::1", "[::1]", "[::1]:8000", "0:0::1"])
def test_an_ipv6_address_can_be_named(entry: str) -> None:
    AddressGuard([entry]).check_host("::1", 8000)
