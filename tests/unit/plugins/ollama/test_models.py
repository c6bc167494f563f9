"""Models of Ollama need no key."""

from __future__ import annotations

import sys

import pytest

from agentic.core.llm import MissingSdkError, llm


@pytest.mark.requirement("LM05")
def test_a_model_is_found_by_its_name_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    model = llm("ollama:llama3.2:1b", context_tokens=4_096)
    assert (model.name, model.capabilities.context_tokens) == ("ollama:llama3.2:1b", 4_096)


def test_without_the_sdk_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("agentic.plugins.ollama.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ollama", None)
    with pytest.raises(MissingSdkError, match=r"pip install 'agentic-pipelines\[ollama\]'"):
        llm("ollama:x")
