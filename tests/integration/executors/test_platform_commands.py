"""``agentic platforms``: what agents can be told, and which of them will not run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.executors.shells import Shell
from tests.unit.core.hooks.conftest import Site

from agentic.core.bus import MemoryBus
from agentic.core.errors import DuplicateNameError, UnknownPlatformError
from agentic.core.hooks import get_registry
from agentic.executors.agents.runner import run_execution
from agentic.mappers import add_agent, create_execution, find_project
from agentic.plugins.hackernews.settings import HackerNewsSettings

pytestmark = [pytest.mark.integration, pytest.mark.requirement("BR08")]

STRANGER = """
    from agentic.core.hooks import Platform, hookimpl

    @hookimpl
    def agentic_platforms():
        return [Platform(name="github", executor=object, mapper=object)]
"""


@pytest.fixture
def faulty(shell: Shell) -> Shell:
    """A database with an agent whose config no longer fits, and one whose secret is not stored."""
    with shell.database.writing() as session:
        owner = find_project(session, "default")
        add_agent(session, owner, "odd", "hackernews", {"limit": 0})
        add_agent(session, owner, "lost", "github", {"repos": ["o/n"], "token": "${secrets.lost}"})
    return shell


def test_a_platform_is_shown_with_its_settings_tables_hooks_and_findings(faulty: Shell) -> None:
    shown = faulty.json("platforms", "show", "hackernews")

    assert shown["schema"] == HackerNewsSettings.model_json_schema()
    assert shown["tables"] == ["hn_items", "hn_users"]
    assert (shown["plugin"], "agentic_platforms" in shown["hooks"]) == ("hackernews", True)
    assert [text for text in shown["faults"] if "agent 'odd'" in text] == shown["faults"]
    said = faulty("platforms", "show", "hackernews")
    assert "List of stories to read." in " ".join(said.split())
    assert "1 fault, 0 warnings" in said


@pytest.mark.parametrize("name", sorted(get_registry().platforms))
def test_every_platform_can_be_shown_and_has_a_schema(bare_shell: Shell, name: str) -> None:
    assert bare_shell.json("platforms", "show", name)["name"] == name
    assert bare_shell.json("platforms", "schema", name)["type"] == "object"
    shown = bare_shell("platforms", "show", name)
    assert (name in shown, "Undefined" in shown) == (True, False)


def test_the_doctor_looks_at_all_platforms_or_at_those_that_are_named(faulty: Shell) -> None:
    result = faulty.run("platforms", "doctor", "--json")
    assert result.exit_code == 1
    faults = faulty.parse(result)["faults"]
    assert [text.partition(":")[0] for text in faults] == ["github", "hackernews"]

    result = faulty.run("platforms", "doctor", "github", "web")
    assert result.exit_code == 1
    assert "secret 'lost' does not exist" in " ".join(result.stdout.split())
    assert "hackernews" not in result.stdout


def test_a_warning_is_no_fault_and_a_platform_in_order_is_not_told_of(shell: Shell) -> None:
    shell("agents", "add", "bare", "--platform", "github", "--config", 'repos=["o/n"]')
    told = shell.json("platforms", "doctor", "github", "hackernews")
    assert told["faults"] == []
    assert len(told["warnings"]) == 1


@pytest.fixture
def contested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A stranger's plugin that claims the platform github."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    Site(folder).install("stranger", STRANGER, version="3.1")
    get_registry.cache_clear()
    yield
    get_registry.cache_clear()
    sys.modules.pop("throwaway_agentic_plugin_stranger")


@pytest.mark.requirement("PL07")
@pytest.mark.usefixtures("contested")
def test_a_contested_platform_is_unusable_and_all_others_work(shell: Shell) -> None:
    shell("agents", "add", "front", "--platform", "hackernews")
    names = {row["name"] for row in shell.json("platforms", "list")}
    assert {"hackernews", "reddit"} < names
    assert "github" not in names
    for command in (("platforms", "show", "github"), ("agents", "add", "repos", "--platform", "github")):
        error = shell.fails(*command)
        assert isinstance(error, DuplicateNameError)
        assert "agentic-plugin-stranger 3.1" in str(error)
    assert shell.json("platforms", "doctor")["faults"] == []


@pytest.mark.usefixtures("contested")
async def test_an_agent_of_a_contested_platform_fails_with_both_names_and_others_run(shell: Shell) -> None:
    with shell.database.writing() as session:
        owner = find_project(session, "default")
        agents = [add_agent(session, owner, name, name, {}) for name in ("github", "hackernews")]
        agents[1].config = {"base_url": "http://127.0.0.1:1/v0"}
        executions = [(create_execution(session, agent).id, agent.id) for agent in agents]
    contested, other = [
        await run_execution(*ids, database=shell.database, bus=MemoryBus()) for ids in executions
    ]
    assert "the platform 'github' is claimed by two plugins" in (contested.error or "")
    assert "allow_private_hosts" in (other.error or "")


def test_an_unknown_platform_is_named_with_those_that_are_known(bare_shell: Shell) -> None:
    for command in ("show", "schema", "doctor"):
        assert isinstance(bare_shell.fails("platforms", command, "nope"), UnknownPlatformError)
