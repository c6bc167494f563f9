"""The adapter to the Gemini API keeps the contract of adapters."""

from __future__ import annotations

import pytest
from tests.integration.plugins.google.wire import GoogleWire

from agentic.core.testing import LLMAdapterContract
from agentic.core.testing.llm import ModelWire

pytestmark = pytest.mark.integration


@pytest.mark.requirement("LM01", "LM04", "LM08")
class TestGoogleModel(LLMAdapterContract):
    @pytest.fixture
    def wire(self) -> ModelWire:
        return GoogleWire()
