"""The stock actor keeps what every actor promises."""

from __future__ import annotations

import pytest

from agentic.core.actors import AggregateActor
from agentic.core.types import JSONValue
from agentic.executors.testing import ActorContract


class TestAggregate(ActorContract):
    actor = AggregateActor

    @pytest.fixture
    def given(self) -> dict[str, JSONValue]:
        return {"items": [{"id": 1, "price": 2}, {"id": 1, "name": "Lamp"}, {"id": 2}], "key": "id"}
