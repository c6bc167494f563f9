from __future__ import annotations

import pytest

from agentic.core.sandbox.process.bubblewrap import ProcessSandbox
from agentic.core.testing import SandboxContract

pytestmark = pytest.mark.integration


@pytest.mark.requirement("SB01", "SB02")
class TestProcessSandbox(SandboxContract):
    """Child processes in namespaces, with limits."""

    @pytest.fixture
    def sandbox(self) -> ProcessSandbox:
        return ProcessSandbox()
