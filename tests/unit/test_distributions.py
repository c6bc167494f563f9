"""The fakes are a distribution of their own, of the same release."""

from __future__ import annotations

import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from agentic.core.services.errors import MissingServerError
from agentic.core.settings import load_settings
from agentic.executors.commands.servers import demo

REPOSITORY = Path(__file__).resolve().parents[2]


def project_of(folder: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    return project


def test_each_distribution_asks_for_the_same_release_of_the_other() -> None:
    ours, fakes = project_of(REPOSITORY), project_of(REPOSITORY / "fakes")
    assert f"agentic-pipelines=={ours['version']}" in fakes["dependencies"]
    assert f"agentic-fakes=={fakes['version']}" in ours["optional-dependencies"]["local"]
    assert ours["version"] == fakes["version"]


def test_plugin_and_fixture_of_the_fakes_come_with_their_distribution() -> None:
    (plugin,) = entry_points(group="agentic", name="fakes")
    (fixture,) = entry_points(group="pytest11", name="agentic_fakes")
    assert plugin.dist is not None
    assert fixture.dist is not None
    assert (plugin.dist.name, fixture.dist.name) == ("agentic-fakes", "agentic-fakes")


def test_the_demo_without_the_fakes_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "find_spec", lambda _: None)
    with pytest.raises(MissingServerError, match=r"agentic-fakes provides it.*agentic-pipelines\[local\]'`$"):
        demo.services(load_settings(home=tmp_path), 1)
