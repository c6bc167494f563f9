"""Throwaway distributions: a module and a dist-info folder each, found as installed ones are."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, distributions
from pathlib import Path

import pytest

from agentic.core.hooks import PluginRegistry


@dataclass(frozen=True, slots=True)
class Site:
    """A folder on ``sys.path`` to which distributions are added."""

    path: Path

    def install(
        self,
        name: str,
        source: str,
        *,
        distribution: str = "",
        version: str = "1.0",
        requires: Sequence[str] = (),
    ) -> None:
        """Add the plugin ``name`` whose module holds ``source``."""
        dist = distribution or f"agentic-plugin-{name}"
        module = f"throwaway_{dist.replace('-', '_')}"
        info = self.path / f"{dist.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        facts = ["Metadata-Version: 2.1", f"Name: {dist}", f"Version: {version}"]
        facts += [f"Requires-Dist: {requirement}" for requirement in requires]
        (info / "METADATA").write_text("\n".join(facts) + "\n")
        (info / "entry_points.txt").write_text(f"[agentic]\n{name} = {module}\n")
        (self.path / f"{module}.py").write_text(textwrap.dedent(source))

    def entry_points(self) -> list[EntryPoint]:
        return [
            entry_point
            for distribution in distributions(path=[str(self.path)])
            for entry_point in distribution.entry_points.select(group="agentic")
        ]

    def registry(self, *disabled: str) -> PluginRegistry:
        return PluginRegistry(self.entry_points(), disabled)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.syspath_prepend(tmp_path)
    known = set(sys.modules)
    yield Site(tmp_path)
    for name in set(sys.modules) - known:
        if name.startswith("throwaway_"):
            del sys.modules[name]
