"""A Redis server for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis
from tests.faults.executors.broker import Broker


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with Broker(tmp_path_factory.mktemp("server")) as broker:
        yield broker


@pytest.fixture
def server(broker: Broker) -> Iterator[redis.Redis]:
    """What looks at an empty server from outside."""
    with broker.client() as client:
        client.flushall()
        yield client


@pytest.fixture
def url(broker: Broker, server: redis.Redis) -> str:
    return broker.url(0)
