"""Flower answers to its own names only."""

from __future__ import annotations

import base64

import pytest

from agentic.executors.workers.flower import is_own_host, may_pass

LOGIN = "agentic:0123456789"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:5555", "localhost:1", "LOCALHOST", "[::1]:5555"])
def test_names_of_this_machine_are_its_own(host: str) -> None:
    assert is_own_host(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:5555",
        "evil.example@127",
        "[::1",
        "192.168.0.7",
        "evil.example:127.0.0.1",
        "127.0.0.1.nip.io",
    ],
)
def test_any_other_name_is_not(host: str) -> None:
    assert not is_own_host(host)


def test_only_the_password_passes() -> None:
    right = f"Basic {base64.b64encode(LOGIN.encode()).decode()}"
    assert may_pass(right, [LOGIN])
    for wrong in ("", "Basic", right[:-1], right.replace("Basic", "Bearer"), f"{right} ", "Basic Og=="):
        assert not may_pass(wrong, [LOGIN]), wrong


def test_without_logins_flower_asks_in_its_own_way() -> None:
    assert may_pass("", [])
