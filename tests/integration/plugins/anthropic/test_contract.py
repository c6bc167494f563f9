"""The adapter to the Messages API keeps the contract of adapters."""

from __future__ import annotations

import pytest
from tests.integration.plugins.anthropic.wire import AnthropicWire

from agentic.core.testing import LLMAdapterContract
from agentic.core.testing.llm import ModelWire

pytestmark = pytest.mark.integration


@pytest.mark.requirement("LM01", "LM03", "LM08")
class TestAnthropicModel(LLMAdapterContract):
    @pytest.fixture
    def wire(self) -> ModelWire:
        return AnthropicWire()
