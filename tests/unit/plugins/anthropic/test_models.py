"""Models are found by name; what is missing is named."""

from __future__ import annotations

import sys

import pytest

from agentic.core.llm import MissingKeyError, MissingSdkError, llm


@pytest.mark.requirement("LM03")
def test_a_model_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-1234567890")
    model = llm("anthropic:claude-x", structured="tool", context_tokens=8_000)
    assert (model.name, model.provider) == ("anthropic:claude-x", "anthropic")
    assert (model.capabilities.structured, model.capabilities.context_tokens) == ("tool", 8_000)
    assert "sk-test" not in repr(model) + str(vars(model))


def test_without_a_key_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    with pytest.raises(MissingKeyError, match="set ANTHROPIC_API_KEY"):
        llm("anthropic:claude-x")
    assert llm("anthropic:claude-x", base_url="http://127.0.0.1:8000").name == "anthropic:claude-x"


def test_without_the_sdk_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("agentic.plugins.anthropic.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(MissingSdkError, match=r"pip install 'agentic-pipelines\[anthropic\]'"):
        llm("anthropic:claude-x", api_key="x")
