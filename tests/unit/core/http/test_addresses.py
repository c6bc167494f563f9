from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.http.addresses import AddressGuard, is_public
from agentic.core.http.errors import PrivateAddressError

PRIVATE = [
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
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
CARRIERS = ["::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "2002:0a00:0001::1"]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_of_the_own_network_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", CARRIERS)
def test_an_ipv6_address_that_carries_a_private_one_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "64:ff9b::1.1.1.1"])
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@given(st.ip_addresses(v=4, network="10.0.0.0/8") | st.ip_addresses(network="fc00::/7"))
def test_a_literal_private_address_is_refused(address: object) -> None:
    with pytest.raises(PrivateAddressError, match="allow_private_hosts"):
        AddressGuard().check_host(str(address), 80)


@pytest.mark.parametrize(
    "host", ["2130706433", "127.1", "0177.0.0.1", "0", "127.0.0.1.", "0x7f.0.0.1", "0x7f000001"]
)
def test_a_number_that_some_libraries_read_as_an_address_is_refused(host: str) -> None:
    with pytest.raises(PrivateAddressError):
        AddressGuard().check_host(host, 80)


def test_a_name_passes_until_its_addresses_are_known() -> None:
    AddressGuard().check_host("localhost", 80)


@pytest.mark.parametrize("host", ["localhost", "LocalHost.", "db.localhost", "10.0.0.1", "0x7f.1"])
def test_what_a_proxy_would_take_for_itself_is_refused_by_name(host: str) -> None:
    with pytest.raises(PrivateAddressError):
        AddressGuard().check_host(host, 80, is_proxied=True)
    AddressGuard([host]).check_host(host, 80, is_proxied=True)


@pytest.mark.parametrize("host", ["example.org", "add.me", "0xcafe.example", "localhost.example", "1.1.1.1"])
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
