from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from agentic.core.services import Service, nats_service, server_access, valkey_service


def test_port_and_password_are_those_of_before(tmp_path: Path) -> None:
    assert server_access(tmp_path, "valkey") == server_access(tmp_path, "valkey")


def test_each_home_and_each_server_has_a_password_of_its_own(tmp_path: Path) -> None:
    made = [server_access(tmp_path / home, name) for home in ("a", "b") for name in ("nats", "valkey")]
    assert len({access.password for access in made}) == 4
    assert min(len(access.password) for access in made) >= 32


def test_another_port_is_taken_when_the_one_of_before_is_in_use(tmp_path: Path) -> None:
    before = server_access(tmp_path, "nats")
    with socket.create_server(("127.0.0.1", before.port)):
        after = server_access(tmp_path, "nats")
    assert after.port != before.port
    assert after.password == before.password


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"port": 0, "password": "0123456789012345678901234567890123"}',
        '{"port": 21000, "password": "short"}',
        '{"port": 21000, "password": "01234567890123456789012345678901\\n\\"; jetstream {}"}',
    ],
)
def test_what_cannot_be_used_of_before_is_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / "nats").mkdir()
    (tmp_path / "nats" / "access.json").write_text(text, encoding="utf-8")
    made = server_access(tmp_path, "nats")
    assert made.port >= 20_000
    assert made.password.isalnum()
    assert len(made.password) >= 32
    assert server_access(tmp_path, "nats") == made


@pytest.mark.parametrize("make", [nats_service, valkey_service])
def test_no_password_is_in_the_command_line(tmp_path: Path, make: Callable[[Path], Service]) -> None:
    service = make(tmp_path)
    password = server_access(tmp_path, service.name).password
    assert any(password in url for url in service.urls.values())
    assert password not in " ".join(service.command)


def test_with_accounts_there_is_no_token_that_opens_them_all(tmp_path: Path) -> None:
    accounts = tmp_path / "nats-accounts"
    accounts.mkdir()
    config = tmp_path / "nats" / "server.conf"
    nats_service(tmp_path)
    assert "authorization" in config.read_text(encoding="utf-8")
    (accounts / "accounts.conf").write_text("accounts {}", encoding="utf-8")
    nats_service(tmp_path)
    assert "authorization" not in config.read_text(encoding="utf-8")
