"""The adapter to the chat completions API keeps the contract of adapters."""

from __future__ import annotations

import pytest
from tests.integration.plugins.openai.wire import OpenAIWire

from agentic.core.testing import LLMAdapterContract
from agentic.core.testing.llm import ModelWire

pytestmark = pytest.mark.integration


@pytest.mark.requirement("LM01", "LM02", "LM08")
class TestOpenAIModel(LLMAdapterContract):
    @pytest.fixture
    def wire(self) -> ModelWire:
        return OpenAIWire()
