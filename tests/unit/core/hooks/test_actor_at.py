"""Actors that are loaded when somebody asks for them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentic.core.cli.plugins import describe_plugins
from agentic.core.errors import BrokenActorError, DuplicateNameError
from agentic.core.hooks import actor_at, get_registry
from agentic.core.pipeline import parse_spec

if TYPE_CHECKING:
    from tests.unit.core.hooks.conftest import Site

PLACE = "agentic.plugins.web.actors.diff:DiffActor"

NAMED = """
from agentic.core.hooks import actor_at, hookimpl

@hookimpl
def agentic_actors():
    return [
        actor_at("no.such.module:Missing", name="missing", aliases=["Lost"]),
        actor_at("agentic.plugins.web.actors.diff:DiffActor", name="compare"),
        actor_at("agentic.core.actors:AggregateActor", name="aggregate", aliases=["DataAggregator"]),
    ]
"""


def test_it_is_named_without_being_loaded() -> None:
    named = actor_at("no.such.module:Missing", name="missing", aliases=["Lost"])
    assert (named.name, named.aliases) == ("missing", ("Lost",))


def test_it_is_the_class_at_that_place() -> None:
    from agentic.plugins.web.actors.diff import DiffActor

    assert actor_at(PLACE, name="diff").load() is DiffActor


@pytest.mark.parametrize(("name", "aliases"), [("compare", []), ("diff", ["Compare"])])
def test_what_is_said_of_it_has_to_be_so(name: str, aliases: list[str]) -> None:
    with pytest.raises(
        ValueError, match=r"is the actor 'diff' with the aliases \[\], not .*use the same values in"
    ):
        actor_at(PLACE, name=name, aliases=aliases).load()


def test_an_alias_leads_to_the_same_class(site: Site) -> None:
    site.install("lazy", NAMED)
    actors = site.registry().actors
    assert actors["DataAggregator"] is actors["aggregate"]


def test_one_that_cannot_be_loaded_says_whose_it_is_and_takes_no_other_along(site: Site) -> None:
    site.install("lazy", NAMED)
    registry = site.registry()
    with pytest.raises(BrokenActorError, match=r"'missing' of agentic-plugin-lazy .*No module named 'no'"):
        _ = registry.actors["Lost"]
    with pytest.raises(BrokenActorError, match="is the actor 'diff'"):
        registry.actors.get("compare")
    assert {actor.name for actor in registry.actors.values()} == {"aggregate"}
    assert dict(registry.actors.items()).keys() == {"aggregate", "DataAggregator"}
    assert len(registry.plugins["lazy"].errors) == 2


def test_one_that_cannot_be_loaded_is_a_fault_of_the_settings_that_name_it(site: Site) -> None:
    site.install("lazy", NAMED)
    with pytest.raises(ValueError, match="'missing' of agentic-plugin-lazy"):
        parse_spec("steps: [{actor: missing}]", site.registry().actors)


def test_the_list_of_plugins_shows_what_cannot_be_loaded(site: Site) -> None:
    site.install("lazy", NAMED)
    [report] = describe_plugins(site.registry(), site.entry_points())
    assert (report.status, report.actors) == ("error", ["aggregate"])
    assert any("the actor 'missing' cannot be loaded" in error for error in report.errors)
    assert any("cannot be loaded" in finding.text for finding in site.registry().findings())


def test_a_contested_name_is_nobodys_though_nothing_is_loaded(site: Site) -> None:
    site.install("lazy", NAMED)
    site.install("other", NAMED)
    with pytest.raises(DuplicateNameError, match="'missing'"):
        _ = site.registry().actors["missing"]


def test_a_pipeline_loads_no_actor_it_does_not_call() -> None:
    assert len(get_registry().actors) >= 20
    code = (
        "import sys; from agentic.core.hooks import get_registry; "
        "from agentic.core.pipeline import parse_spec, compile_pipeline, PipelineServices; "
        "actors = get_registry().actors; "
        "spec = parse_spec('steps: [{type: crawl, start: http://a/}]', actors); "
        "compile_pipeline(spec, actors, PipelineServices(frontier=None, context=None)).signature; "
        "wanted = ('fetch', 'extract_list', 'sitemap', 'diff', 'article', 'search', 'webhook'); "
        "print([name for name in wanted if f'agentic.plugins.web.actors.{name}' in sys.modules], "
        "any('firecrawl.actors.scrape' in name for name in sys.modules))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "['fetch', 'extract_list'] False"
