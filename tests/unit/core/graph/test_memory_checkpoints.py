from __future__ import annotations

import pytest

from agentic.core.graph.checkpoints.memory import MemoryCheckpointStore
from agentic.core.graph.checkpoints.store import CheckpointStore
from agentic.core.testing import CheckpointStoreContract


@pytest.mark.requirement("CK03", "CK04")
class TestMemoryCheckpointStore(CheckpointStoreContract):
    @pytest.fixture
    def store(self) -> CheckpointStore:
        return MemoryCheckpointStore()
