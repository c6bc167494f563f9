"""Languages of plugins."""

from __future__ import annotations

import sys
import types
from importlib.metadata import EntryPoint

import pytest

from agentic.core.coding import CheckReport, CodeCheck, Language, UnknownLanguageError
from agentic.core.coding.languages import registry
from agentic.core.errors import DuplicateNameError
from agentic.core.hooks import PluginRegistry, hookimpl
from agentic.core.sandbox import SandboxTool

CHECK = CodeCheck(command=("true",), read=lambda _: CheckReport())


def language(name: str, *aliases: str) -> Language:
    return Language(
        name=name,
        aliases=aliases,
        file="main.x",
        test_file="test.x",
        comment="#",
        compile=CHECK,
        test=lambda _: CHECK,
        finders=((f"{name}-tool", SandboxTool),),
    )


def registry_of(monkeypatch: pytest.MonkeyPatch, **brought: Language) -> PluginRegistry:
    points = []
    for name, one in brought.items():
        module = types.ModuleType(f"plugin_{name}")
        module.agentic_languages = hookimpl(_bringing(one))  # type: ignore[attr-defined]  # a plugin
        monkeypatch.setitem(sys.modules, module.__name__, module)
        points.append(EntryPoint(name, module.__name__, "agentic"))
    return PluginRegistry(points)


def _bringing(one: Language) -> types.FunctionType:
    def agentic_languages() -> list[Language]:
        return [one]

    return agentic_languages  # type: ignore[return-value]  # a function


def test_a_plugin_adds_a_language_with_its_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    found = registry_of(monkeypatch, one=language("cobol", "cbl"))
    monkeypatch.setattr("agentic.core.hooks.get_registry", lambda: found)
    assert registry.find_language(" CBL ").name == "cobol"
    assert registry.language_tools().names == ("cobol-tool",)
    with pytest.raises(UnknownLanguageError, match=r"'python' is not known \(known: cobol\)"):
        registry.find_language("python")


def test_a_name_that_two_plugins_claim_belongs_to_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    found = registry_of(monkeypatch, one=language("cobol", "cbl"), two=language("cb", "cbl"))
    assert found.languages["cobol"].name == "cobol"
    with pytest.raises(DuplicateNameError, match="the language 'cbl' is claimed by two plugins"):
        found.languages["cbl"]
