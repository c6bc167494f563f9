"""What ``agentic doctor`` says of agents, whatever their platform."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel, SecretStr

from agentic.core.hooks import Finding, Platform, Severity, get_registry, warning
from agentic.core.types import JSONValue
from agentic.executors import AgentsDoctor, BaseAgentExecutor
from agentic.executors.agents.default_mapper import GeneralResultMapper
from agentic.executors.checks.database import agent_findings
from agentic.mappers import Database, add_agent, find_project
from agentic.mappers.vault.keys import SecretKeys
from agentic.mappers.vault.vault import set_secret

pytestmark = pytest.mark.integration


class ToySettings(BaseModel):
    """The config of a toy."""

    size: int = 1
    token: SecretStr | None = None


class ToyExecutor(BaseAgentExecutor):
    """Runs a toy."""

    async def execute_agent(self, state: dict[str, object]) -> dict[str, object]:
        return state


@pytest.fixture
def database(tmp_path: Path, empty_database: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    url = f"sqlite:///{shutil.copy(empty_database, tmp_path / 'agentic.db')}"
    monkeypatch.setenv("AGENTIC_DATABASE_URL", url)
    found = Database(url)
    yield found
    found.dispose()


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> Platform:
    """A platform that brings no doctor."""
    toy = Platform(name="toys", executor=ToyExecutor, mapper=GeneralResultMapper, settings=ToySettings)
    monkeypatch.setitem(get_registry()._added, "toys", toy)
    return toy


def add(database: Database, name: str, platform: str, **config: JSONValue) -> None:
    with database.writing() as session:
        add_agent(session, find_project(session, "default"), name, platform, config)


def texts(found: Iterator[Finding]) -> list[str]:
    return [finding.text for finding in found]


def test_a_config_that_no_longer_fits_is_a_fault_that_shows_no_value(
    database: Database, toys: Platform
) -> None:
    add(database, "good", toys.name, size=2)
    add(database, "odd", toys.name, size="s3cret")
    (finding,) = AgentsDoctor(platform="toys", settings=ToySettings).findings_in(database, SecretKeys())
    assert "agent 'odd' of project 'default' cannot run: its configuration is invalid: size: " in finding.text
    assert "agentic agents edit odd" in finding.text
    assert finding.severity is Severity.FAULT
    assert "s3cret" not in finding.text


@pytest.mark.usefixtures("toys")
def test_a_secret_that_is_stored_is_no_cause_for_complaint_and_one_that_is_not_is_a_fault(
    database: Database,
) -> None:
    keys = SecretKeys(SecretKeys.new_key())
    with database.writing() as session:
        set_secret(session, find_project(session, "default").id, keys, "known", "s3cret")
    add(database, "good", "toys", token="${secrets.known}")
    add(database, "lost", "toys", token="${secrets.lost}")
    doctor = AgentsDoctor(platform="toys", settings=ToySettings, secrets=lambda _: ["known"])
    (text,) = texts(doctor.findings_in(database, keys))
    assert "agent 'lost' of project 'default' cannot get its secret: secret 'lost' does not exist" in text


@pytest.mark.usefixtures("toys")
def test_a_platform_adds_what_only_it_knows(database: Database) -> None:
    add(database, "big", "toys", size=9)
    add(database, "small", "toys")

    def look(settings: ToySettings) -> Iterator[Finding]:
        if settings.size > 5:
            yield warning(f"is of size {settings.size}")

    (finding,) = AgentsDoctor(platform="toys", settings=ToySettings, look=look)()
    assert finding == warning("agent 'big' of project 'default' is of size 9")


@pytest.mark.usefixtures("toys")
def test_agents_whose_platform_has_no_doctor_or_is_not_installed_are_looked_at_all_the_same(
    database: Database,
) -> None:
    add(database, "odd", "toys", size="x")
    add(database, "left", "uninstalled")
    add(database, "own", "hackernews", limit=0)  # its platform tells of it
    found = texts(agent_findings(database, SecretKeys()))
    assert len(found) == 2
    assert "agent 'odd' of project 'default' cannot run: its configuration is invalid" in found[0]
    assert "agent 'left' of project 'default' cannot run: no plugin provides the platform" in found[1]


@pytest.mark.parametrize(
    ("platform", "config"),
    [("hackernews", {"limit": 0}), ("web", {"pipeline": "gone"}), ("feed", {}), ("github", {})],
)
def test_each_platform_that_is_shipped_tells_of_its_agents(
    database: Database, platform: str, config: dict[str, JSONValue]
) -> None:
    doctor = get_registry().platform(platform).doctor
    assert doctor is not None
    assert [*doctor()] == []
    add(database, "odd", platform, **config)
    (finding,) = doctor()
    assert isinstance(finding, Finding)
    assert "agent 'odd' of project 'default' cannot run: its configuration is invalid" in finding.text
