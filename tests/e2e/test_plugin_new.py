"""A plugin of one's own is not made under any name; ``test_wheels.py`` makes, tests and runs one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.commands import invoke

from agentic.core.cli.main import build_app
from agentic.core.cli.plugin_new import PluginNameError

pytestmark = pytest.mark.e2e


def make(name: str, to: Path) -> BaseException | None:
    """Run the command; return why it was refused."""
    return invoke(build_app(), ["plugin", "new", name, "--to", str(to)]).exception


@pytest.mark.parametrize("name", ["My-Shop", "2shop", "shop-", "a--b", "shop_x", "", "../x", "x" * 41])
def test_what_is_no_name_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    assert isinstance(make(name, tmp_path), PluginNameError)
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_taken_and_a_folder_that_is_there_are_refused(tmp_path: Path) -> None:
    (tmp_path / "agentic-plugin-new").mkdir()

    assert "platform 'hackernews' exists already" in str(make("hackernews", tmp_path))
    assert "agentic-plugin-new' exists already" in str(make("new", tmp_path))
    assert [place.name for place in tmp_path.iterdir()] == ["agentic-plugin-new"]
