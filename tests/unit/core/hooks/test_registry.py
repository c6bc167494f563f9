"""What installed plugins bring, and how a broken one leaves the others whole."""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING

import pytest
import typer

from agentic.core.errors import DuplicateNameError, UnknownPlatformError
from agentic.core.hooks import Finding, Platform, Severity, specs
from agentic.core.hooks.manager import HOOK_NAMES

if TYPE_CHECKING:
    from tests.unit.core.hooks.conftest import Site

GOOD = """
    from agentic.core.hooks import Platform, hookimpl

    @hookimpl
    def agentic_platforms():
        return [Platform(name="{platform}", executor=object, mapper=object)]
"""

BOTH = """
    from agentic.core.actors import Actor
    from agentic.core.hooks import Platform, hookimpl

    @hookimpl
    def agentic_platforms():
        return [Platform(name=name, executor=object, mapper=object) for name in ("{name}", "{own}")]

    class Contested(Actor):
        name = "{name}"

    class Own(Actor):
        name = "{own}"

    @hookimpl
    def agentic_actors():
        return [Contested, Own]

    @hookimpl
    def agentic_builders():
        return {{"{name}": object, "{own}": object}}

    @hookimpl
    def agentic_workflows():
        return {{"{name}": object, "{own}": object}}
"""


@pytest.mark.requirement("BR03", "BR04", "PL07")
def test_an_installed_distribution_brings_its_platform(site: Site) -> None:
    site.install("twitter", GOOD.format(platform="twitter"), version="2.3")
    registry = site.registry()
    assert registry.platform("twitter").name == "twitter"
    plugin = registry.plugins["twitter"]
    assert (plugin.distribution, plugin.version) == ("agentic-plugin-twitter", "2.3")
    assert plugin.hooks == ("agentic_platforms",)
    assert plugin.errors == []


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("import no_such_library", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("def broken(:", "SyntaxError: "),
        ("raise SystemExit('not on this machine')", "SystemExit: not on this machine"),
    ],
)
def test_a_plugin_that_cannot_be_imported_is_listed_with_its_error(
    site: Site, source: str, error: str
) -> None:
    site.install("broken", source)
    site.install("good", GOOD.format(platform="good"))
    registry = site.registry()
    assert len(registry.plugins["broken"].errors) == 1
    assert error in registry.plugins["broken"].errors[0]
    assert list(registry.platforms) == ["good"]


@pytest.mark.parametrize(
    "body",
    [
        "raise RuntimeError('no token')",
        "yield 1 / 0",
        "return None",
        "return ['name']",
        "raise SystemExit(3)",
    ],
)
def test_a_plugin_whose_hook_gives_nothing_usable_brings_nothing_and_harms_nobody(
    site: Site, body: str
) -> None:
    site.install(
        "broken",
        f"""
        from agentic.core.hooks import hookimpl

        @hookimpl
        def agentic_platforms():
            {body}
        """,
    )
    site.install("good", GOOD.format(platform="good"))
    registry = site.registry()
    assert list(registry.platforms) == ["good"]
    assert [error.partition(":")[0] for error in registry.plugins["broken"].errors] == ["agentic_platforms"]


def test_a_workflow_hook_that_forgets_to_return_harms_nobody(site: Site) -> None:
    source = """
        from agentic.core.hooks import hookimpl

        @hookimpl
        def agentic_workflows():
            {body}
    """
    site.install("broken", source.format(body="pass"))
    site.install("good", source.format(body="return {'poll': object}"))
    registry = site.registry()
    assert list(registry.workflows) == ["poll"]
    assert registry.plugins["broken"].errors != []


def test_a_misspelt_hook_is_named_with_the_known_ones(site: Site) -> None:
    site.install(
        "typo",
        """
        from agentic.core.hooks import hookimpl

        @hookimpl
        def agentic_platform():
            return []
        """,
    )
    (error,) = site.registry().plugins["typo"].errors
    assert "'agentic_platform' is not a hook" in error
    assert "agentic_platforms" in error


def test_a_hook_that_asks_for_an_unknown_argument_brings_nothing_of_its_plugin(site: Site) -> None:
    site.install(
        "wrong",
        """
        from agentic.core.hooks import Platform, hookimpl

        @hookimpl
        def agentic_platforms():
            return [Platform(name="half", executor=object, mapper=object)]

        @hookimpl
        def agentic_workflows(colour):
            return {}
        """,
    )
    registry = site.registry()
    (error,) = registry.plugins["wrong"].errors
    assert "colour" in error
    assert dict(registry.platforms) == {}


def test_two_plugins_claiming_one_platform_are_both_named_when_it_is_asked_for(site: Site) -> None:
    site.install("bird", GOOD.format(platform="twitter"), version="1.5")
    site.install("tweets", GOOD.format(platform="twitter"), version="0.2")
    registry = site.registry()
    for ask in (registry.platform, registry.platforms.__getitem__):
        with pytest.raises(DuplicateNameError) as caught:
            ask("twitter")
        assert "agentic-plugin-bird 1.5" in str(caught.value)
        assert "agentic-plugin-tweets 0.2" in str(caught.value)
        assert "uninstall one, or name it in AGENTIC_DISABLED_PLUGINS" in str(caught.value)


@pytest.mark.requirement("PL07")
def test_a_contested_name_is_nobodys_and_all_others_work(site: Site) -> None:
    site.install("bird", BOTH.format(name="twitter", own="bird"))
    site.install("tweets", BOTH.format(name="twitter", own="tweets"))
    site.install("third", BOTH.format(name="twitter", own="third"))
    registry = site.registry()
    for offers in (registry.platforms, registry.actors, registry.builders, registry.workflows):
        assert (list(offers), len(offers)) == (["bird", "third", "tweets"], 3)
        assert "twitter" not in offers
        assert offers.get("twitter") is None
        assert offers["bird"] is offers.get("bird")
        with pytest.raises(DuplicateNameError, match="'twitter' is claimed by two plugins"):
            _ = offers["twitter"]
        with pytest.raises(KeyError):
            _ = offers["nobody"]
    assert [(clash.kind, clash.name) for clash in registry.clashes()] == [
        ("platform", "twitter"),
        ("actor", "twitter"),
        ("builder", "twitter"),
        ("workflow", "twitter"),
    ]


def test_of_an_actor_whose_alias_is_contested_the_name_works(site: Site) -> None:
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
    actors = site.registry().actors
    assert {*actors} == {"bird_read", "tweets_read"}
    with pytest.raises(DuplicateNameError, match="the actor 'read'"):
        _ = actors["read"]


def test_a_contested_name_is_not_free_for_a_script_either(site: Site) -> None:
    site.install("bird", GOOD.format(platform="twitter"))
    site.install("tweets", GOOD.format(platform="twitter"))
    registry = site.registry()
    platform = Platform(name="twitter", executor=object, mapper=object)  # type: ignore[arg-type]  # never made
    with pytest.raises(DuplicateNameError, match="'twitter'"):
        registry.add_platform(platform)
    assert "twitter" not in registry.platforms


def test_disabling_one_of_two_claimants_settles_the_conflict(site: Site) -> None:
    site.install("bird", GOOD.format(platform="twitter"))
    site.install("tweets", GOOD.format(platform="twitter"))
    registry = site.registry("bird")
    assert list(registry.platforms) == ["twitter"]
    assert registry.plugins["bird"].disabled


def test_a_disabled_plugin_is_not_even_imported(site: Site) -> None:
    site.install("loud", "raise RuntimeError('imported')")
    plugin = site.registry("loud").plugins["loud"]
    assert (plugin.disabled, plugin.hooks, plugin.errors) == (True, (), [])


def test_of_two_distributions_with_one_entry_point_name_the_second_is_named_as_an_error(site: Site) -> None:
    site.install("twitter", GOOD.format(platform="twitter"))
    site.install("twitter", GOOD.format(platform="twitter"), distribution="agentic-plugin-other")
    (plugin,) = site.registry().plugins.values()
    (error,) = plugin.errors
    assert "'twitter' is also claimed by" in error


def test_an_unknown_platform_is_named_with_the_known_ones(site: Site) -> None:
    site.install("good", GOOD.format(platform="good"))
    with pytest.raises(UnknownPlatformError, match=r"'twiter' \(known: good\)"):
        site.registry().platform("twiter")


@pytest.mark.requirement("PL06")
def test_a_platform_can_be_added_at_run_time_but_not_under_a_taken_name(site: Site) -> None:
    registry = site.registry()
    platform = Platform(name="mine", executor=object, mapper=object)  # type: ignore[arg-type]  # never made
    registry.add_platform(platform)
    assert registry.platform("mine") is platform
    with pytest.raises(DuplicateNameError, match="'mine'"):
        registry.add_platform(platform)


def test_commands_of_one_plugin_survive_another_that_raises(site: Site) -> None:
    source = """
        from agentic.core.hooks import hookimpl

        @hookimpl
        def agentic_commands({parameter}):
            {body}
    """
    site.install("broken", source.format(parameter="app", body="raise RuntimeError('no')"))
    site.install("careless", source.format(parameter="", body="pass"))
    site.install("good", source.format(parameter="app", body="app.command('poll')(print)"))
    registry = site.registry()
    app = typer.Typer()
    registry.add_commands(app)
    assert [command.name for command in app.registered_commands] == ["poll"]
    assert registry.plugins["broken"].errors == ["agentic_commands: RuntimeError: no"]
    assert registry.plugins["careless"].errors == []


def test_faults_tell_what_every_plugin_and_platform_knows(site: Site) -> None:
    site.install("absent", "import no_such_library")
    site.install(
        "ill",
        """
        from agentic.core.hooks import Platform, hookimpl, warning

        @hookimpl
        def agentic_doctor():
            yield "the key is missing; set ILL_KEY"
            yield warning("the key is old")

        @hookimpl
        def agentic_platforms():
            return [Platform(name="sick", executor=object, mapper=object, doctor=lambda: 1 / 0)]
        """,
    )
    findings = site.registry().findings()
    assert [finding.text.partition(":")[0] for finding in findings] == ["absent", "ill", "ill", "sick"]
    assert Finding("ill: the key is missing; set ILL_KEY") in findings
    assert Finding("ill: the key is old", Severity.WARNING) in findings


def test_two_claimants_of_one_platform_are_a_fault_among_the_others(site: Site) -> None:
    site.install("absent", "import no_such_library")
    site.install("bird", GOOD.format(platform="twitter"))
    site.install("tweets", GOOD.format(platform="twitter"))
    findings = site.registry().findings()
    assert any("no_such_library" in finding.text for finding in findings)
    assert any("'twitter' is claimed by two plugins" in finding.text for finding in findings)


def test_the_doctors_of_all_other_platforms_are_asked_when_one_is_contested(site: Site) -> None:
    site.install("bird", GOOD.format(platform="twitter"))
    site.install("tweets", GOOD.format(platform="twitter"))
    site.install("ill", GOOD.format(platform="sick").replace("object)]", "object, doctor=lambda: ['ouch'])]"))
    assert Finding("sick: ouch") in site.registry().findings()


def test_two_claimants_of_one_actor_are_a_fault(site: Site) -> None:
    actor = """
        from agentic.core.actors import Actor
        from agentic.core.hooks import hookimpl

        class Reader(Actor):
            name = "reader"

        @hookimpl
        def agentic_actors():
            return [Reader]
        """
    site.install("bird", actor)
    site.install("tweets", actor)
    [finding] = site.registry().findings()
    assert "the actor 'reader' is claimed by two plugins" in finding.text


def test_a_check_that_hangs_is_a_fault_and_keeps_what_it_found_and_nobody_waiting(site: Site) -> None:
    site.install(
        "slow",
        """
        import threading
        from agentic.core.hooks import hookimpl

        @hookimpl
        def agentic_doctor():
            yield "the disk is full; make room"
            threading.Event().wait()
        """,
    )
    texts = [finding.text for finding in site.registry().findings(deadline_s=0.1)]
    assert texts[0] == "slow: the disk is full; make room"
    assert texts[1].startswith("slow: its checks did not end within 0.1 s")


@pytest.mark.parametrize(
    "requires",
    [
        ["agentic-pipelines>=0.1"],
        ["agentic_pipelines[feeds]>=0.1.dev0,<1"],
        ["Agentic-Pipelines"],
        ["agentic-pipelines<0.1; python_version < '3'"],
        ["agentic-pipelines<0.1; extra == 'old'"],
        ["agentic-pipelines-extras<0.1", "httpx"],
        [],
    ],
)
def test_a_plugin_made_for_this_version_is_loaded(site: Site, requires: list[str]) -> None:
    site.install("fit", GOOD.format(platform="fit"), requires=requires)
    registry = site.registry()
    assert list(registry.platforms) == ["fit"]
    assert registry.plugins["fit"].errors == []


def test_a_plugin_made_for_another_version_is_not_loaded_and_says_what_to_do(site: Site) -> None:
    source = "raise RuntimeError('imported')"
    site.install("old", source, version="0.3", requires=["httpx", "agentic-pipelines[feeds]>=0.0.1,<0.1"])
    site.install("good", GOOD.format(platform="good"))
    registry = site.registry()
    installed = importlib.metadata.version("agentic-pipelines")
    (error,) = registry.plugins["old"].errors
    assert error == (
        f"agentic-plugin-old 0.3 needs agentic-pipelines <0.1,>=0.0.1, but {installed} is installed; "
        "upgrade it (pip install --upgrade agentic-plugin-old), or install 'agentic-pipelines<0.1,>=0.0.1'"
    )
    assert list(registry.platforms) == ["good"]
    assert [finding.text.partition(" needs ")[0] for finding in registry.findings()] == [
        "old: agentic-plugin-old 0.3"
    ]


def test_a_plugin_whose_requirements_cannot_be_read_is_told_of(site: Site) -> None:
    site.install("odd", GOOD.format(platform="odd"), requires=["agentic-pipelines ~~ 1"])
    (error,) = site.registry().plugins["odd"].errors
    assert error.startswith("InvalidRequirement: ")


def test_observers_are_found_with_what_they_ask_for(site: Site) -> None:
    source = """
        from agentic.core.hooks import hookimpl

        SEEN = []

        @hookimpl
        def agentic_event({arguments}):
            SEEN.append(({arguments},))
    """
    site.install("both", source.format(arguments="event, project"))
    site.install("one", source.format(arguments="project"))
    site.install("off", source.format(arguments="event"))
    observers = site.registry("off").observers("agentic_event")
    for observer in observers:
        observer.tell({"event": "an event", "project": "ours"})
    found = {observer.plugin: observer.function.__globals__["SEEN"] for observer in observers}
    assert found == {"both": [("an event", "ours")], "one": [("ours",)]}


def test_asking_twice_tells_each_error_once(site: Site) -> None:
    site.install(
        "ill",
        """
        from agentic.core.hooks import hookimpl

        @hookimpl
        def agentic_doctor():
            raise RuntimeError("no token")
        """,
    )
    registry = site.registry()
    expected = [Finding("ill: its check failed: RuntimeError: no token")]
    assert registry.findings() == registry.findings() == expected


@pytest.mark.parametrize("name", HOOK_NAMES)
def test_every_hook_says_when_it_is_called_what_to_return_and_what_failure_does(name: str) -> None:
    text = (getattr(specs, name).__doc__ or "").lower()
    assert "called" in text
    assert text.startswith(("return", "add"))
    assert "raise" in text
