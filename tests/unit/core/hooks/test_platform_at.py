"""Platforms that are loaded when somebody looks at them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agentic.core.hooks import Platform, PluginRegistry, get_registry, platform_at

PLACE = "agentic.plugins.feed.platform:PLATFORM"
MIGRATIONS = "agentic.plugins.feed.migrations"


def test_its_name_and_migrations_are_told_without_loading_it() -> None:
    lazy = platform_at("no.such.module:PLATFORM", name="x", migrations="m")
    assert (lazy.name, lazy.migrations) == ("x", "m")


def test_it_is_the_platform_at_that_place_once_it_is_looked_at() -> None:
    from agentic.plugins.feed.platform import PLATFORM

    lazy = platform_at(PLACE, name="feed", migrations=MIGRATIONS)
    assert isinstance(lazy, Platform)
    assert lazy.executor is PLATFORM.executor
    assert (lazy.mapper, lazy.settings, lazy.models, lazy.doctor) == (
        PLATFORM.mapper,
        PLATFORM.settings,
        PLATFORM.models,
        PLATFORM.doctor,
    )


@pytest.mark.parametrize(("name", "migrations"), [("feeds", MIGRATIONS), ("feed", None)])
def test_what_is_said_of_it_has_to_be_so(name: str, migrations: str | None) -> None:
    with pytest.raises(
        ValueError, match=r"is the platform 'feed' with the migrations .*use the same values in"
    ):
        _ = platform_at(PLACE, name=name, migrations=migrations).executor


def test_it_has_no_other_attributes() -> None:
    assert not hasattr(platform_at(PLACE, name="feed"), "nonsense")


def test_one_that_cannot_be_loaded_is_a_finding_and_the_others_are_looked_at() -> None:
    registry = PluginRegistry([])
    registry.add_platform(platform_at("no.such.module:PLATFORM", name="broken"))
    registry.add_platform(platform_at(PLACE, name="feed", migrations=MIGRATIONS))
    (found,) = [finding for finding in registry.findings() if "broken" in finding.text]
    assert found.text == "broken: the platform cannot be loaded: ModuleNotFoundError: No module named 'no'"


def test_who_needs_one_platform_of_those_in_the_box_loads_no_other() -> None:
    assert len(get_registry().platforms) >= 6
    code = (
        "import sys; from agentic.core.hooks import get_registry; get_registry().platform('feed').executor; "
        "print(sorted({n.split('.')[2] for n in sys.modules if n.startswith('agentic.plugins.') and "
        "n.endswith('.models')}))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "['feed']"
