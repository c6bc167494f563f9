"""What ``agentic doctor`` says of Firecrawl agents, without asking Firecrawl."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from agentic.core.types import JSONValue
from agentic.mappers import Database, add_agent, add_project
from agentic.mappers.vault.keys import SecretKeys
from agentic.plugins.firecrawl.executor import DOCTOR

pytestmark = pytest.mark.integration

Found = Callable[[], list[str]]


@pytest.fixture
def add(agentic_database: Database) -> Callable[..., None]:
    with agentic_database.writing() as session:
        project = add_project(session, "shops")

    def add(name: str, **config: JSONValue) -> None:
        with agentic_database.writing() as session:
            add_agent(session, project, name, "firecrawl", config)

    return add


@pytest.fixture
def found(agentic_database: Database) -> Found:
    return lambda: [finding.text for finding in DOCTOR.findings_in(agentic_database, SecretKeys())]


def test_an_agent_of_the_cloud_needs_the_key_and_one_of_a_service_of_its_own_does_not(
    add: Callable[..., None], found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    add("cloud", url="https://h.example/")
    add("named", url="https://h.example/", api_key="${secrets.mine}")
    add("own", url="https://h.example/", api_url="http://10.0.0.7:3002")
    missing = found()
    assert len(missing) == 2
    assert (
        "agent 'cloud' of project 'shops' cannot get its secret: secret 'firecrawl_api_key' does not exist"
        in (missing[0])
    )
    assert "agent 'named'" in missing[1]
    monkeypatch.setenv("AGENTIC_SECRET_FIRECRAWL_API_KEY", "fc-x")
    monkeypatch.setenv("AGENTIC_SECRET_MINE", "fc-y")
    assert found() == []


def test_a_library_that_is_not_installed_is_told_of(
    add: Callable[..., None], found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    add("own", url="https://h.example/", api_url="http://10.0.0.7:3002")
    monkeypatch.setitem(sys.modules, "firecrawl", None)
    (text,) = found()
    assert "agent 'own' of project 'shops' cannot call Firecrawl: firecrawl-py is not installed" in text
    assert "agentic-pipelines[firecrawl]" in text


def test_an_address_in_the_environment_that_is_none_is_told_of(
    add: Callable[..., None], found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    add("cloud", url="https://h.example/")
    monkeypatch.setenv("AGENTIC_FIRECRAWL_URL", "ftp://h")
    (text,) = found()
    assert "AGENTIC_FIRECRAWL_URL is not an http:// or https:// URL" in text


def test_a_config_that_cannot_be_used_is_told_of(add: Callable[..., None], found: Found) -> None:
    add("broken", mode="search")
    (text,) = found()
    assert "mode search needs a query" in text
