"""The adapter to Ollama keeps the contract of adapters."""

from __future__ import annotations

import pytest
from tests.integration.plugins.ollama.wire import OllamaWire

from agentic.core.testing import LLMAdapterContract
from agentic.core.testing.llm import ModelWire

pytestmark = pytest.mark.integration


@pytest.mark.requirement("LM01", "LM05", "LM08")
class TestOllamaModel(LLMAdapterContract):
    @pytest.fixture
    def wire(self) -> ModelWire:
        return OllamaWire()
