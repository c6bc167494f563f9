"""``agentic plugins``: every plugin is a row, broken ones too."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner

from agentic.core.cli.plugins import describe_plugins, plugins
from agentic.core.hooks import get_registry

if TYPE_CHECKING:
    from tests.unit.core.hooks.conftest import Site

PLATFORM = """
    from agentic.core.hooks import Platform, hookimpl

    @hookimpl
    def agentic_platforms():
        return [Platform(name="twitter", executor=object, mapper=object)]
"""


@pytest.fixture
def run(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Run the command on the plugins of ``site`` and the installed ones; return what it printed."""
    monkeypatch.setenv("COLUMNS", "200")
    get_registry.cache_clear()
    yield _invoke
    get_registry.cache_clear()


def _invoke(*arguments: str) -> str:
    app = typer.Typer()
    app.command()(plugins)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.requirement("BR04")
def test_json_lists_version_distribution_hooks_and_what_a_plugin_brings(
    site: Site, run: Callable[..., str]
) -> None:
    site.install("twitter", PLATFORM, version="2.3")
    rows = {row["name"]: row for row in json.loads(run("--json"))}
    assert rows["twitter"] == {
        "name": "twitter",
        "distribution": "agentic-plugin-twitter",
        "version": "2.3",
        "status": "ok",
        "hooks": ["agentic_platforms"],
        "platforms": ["twitter"],
        "actors": [],
        "builders": [],
        "models": [],
        "workflows": [],
        "errors": [],
    }


def test_the_table_is_followed_by_each_error_in_full(site: Site, run: Callable[..., str]) -> None:
    reason = "a long story " * 30 + "with its end"
    site.install("broken", f"raise RuntimeError({reason!r})")
    printed = run()
    assert printed.index("Plugins") < printed.index(f"broken: RuntimeError: {reason}\n")


def test_what_plugins_say_is_not_taken_for_markup(site: Site, run: Callable[..., str]) -> None:
    site.install("closing", "raise RuntimeError('no such file [/tmp/x] :boom:')")
    site.install("opening", PLATFORM.replace("twitter", "[b]x:boom:"))
    printed = run()
    assert "closing: RuntimeError: no such file [/tmp/x] :boom:" in printed
    assert "[b]x:boom:" in run("opening")


def test_two_claimants_of_one_platform_both_show_it_and_the_conflict(site: Site) -> None:
    site.install("bird", PLATFORM)
    site.install("tweets", PLATFORM)
    rows = describe_plugins(site.registry(), site.entry_points())
    for row in rows:
        assert (row.status, row.platforms) == ("error", ["twitter"])
        assert "'twitter' is claimed by two plugins" in row.errors[0]


def test_the_conflict_over_an_alias_is_shown_at_both_plugins(site: Site) -> None:
    source = """
        from agentic.core.actors import Actor
        from agentic.core.hooks import hookimpl

        class Reader(Actor):
            name = "{name}"
            aliases = ("read",)

        @hookimpl
        def agentic_actors():
            return [Reader]
    """
    site.install("bird", source.format(name="bird_read"))
    site.install("tweets", source.format(name="tweets_read"))
    site.install("twitter", PLATFORM)
    rows = {row.name: row for row in describe_plugins(site.registry(), site.entry_points())}
    assert {name: row.status for name, row in rows.items()} == {
        "bird": "error",
        "tweets": "error",
        "twitter": "ok",
    }
    assert rows["bird"].errors == rows["tweets"].errors
    assert "the actor 'read' is claimed by two plugins" in rows["bird"].errors[0]


def test_a_disabled_plugin_is_listed_as_disabled(site: Site) -> None:
    site.install("loud", "raise RuntimeError('imported')")
    (row,) = describe_plugins(site.registry("loud"), site.entry_points())
    assert (row.status, row.errors) == ("disabled", [])


def test_a_hook_that_raises_is_an_error_of_its_plugin_told_once(site: Site) -> None:
    site.install("ill", PLATFORM.replace("return", "raise RuntimeError('no token')\n        return"))
    (row,) = describe_plugins(site.registry(), site.entry_points())
    assert (row.status, row.errors) == ("error", ["agentic_platforms: RuntimeError: no token"])
