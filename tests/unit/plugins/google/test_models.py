"""Models are found by name; what is missing is named."""

from __future__ import annotations

import sys

import pytest

from agentic.core.llm import MissingKeyError, MissingSdkError, llm


@pytest.mark.requirement("LM04")
def test_a_model_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "sk-test-1234567890")
    model = llm("google:gemini-x", structured="tool", context_tokens=8_000)
    assert (model.name, model.provider) == ("google:gemini-x", "google")
    assert (model.capabilities.structured, model.capabilities.context_tokens) == ("tool", 8_000)
    assert "sk-test" not in repr(model) + str(vars(model))


def test_without_a_key_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("GOOGLE_GEMINI_BASE_URL", raising=False)
    with pytest.raises(MissingKeyError, match="set GEMINI_API_KEY or GOOGLE_API_KEY"):
        llm("google:gemini-x")
    assert llm("google:gemini-x", base_url="http://127.0.0.1:8000").name == "google:gemini-x"


def test_without_the_sdk_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("agentic.plugins.google.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "google.genai", None)
    with pytest.raises(MissingSdkError, match=r"pip install 'agentic-pipelines\[google\]'"):
        llm("google:gemini-x", api_key="x")
