"""What ``agentic doctor`` says of Reddit agents, without asking Reddit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.databases import only_sqlite

from agentic.core.hooks import Severity
from agentic.mappers import Database
from agentic.mappers.vault.keys import SecretKeys
from agentic.plugins.reddit.executor import DOCTOR

if TYPE_CHECKING:
    from tests.integration.plugins.reddit.conftest import MakeAgent

pytestmark = [pytest.mark.integration, only_sqlite]

LOGIN = {"client_id": "app", "client_secret": "${secrets.reddit}", "contact": "ada"}


def said(database: Database) -> dict[str, tuple[Severity, str]]:
    found = list(DOCTOR.findings_in(database, SecretKeys()))
    assert len({finding.text.split("'")[1] for finding in found}) == len(found)
    return {finding.text.split("'")[1]: (finding.severity, finding.text) for finding in found}


def test_each_mode_is_named_with_what_it_lacks(
    database: Database, make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_BROWSER_PATH", "/nowhere/chromium")
    make_agent("api", mode="oauth", subreddits=["python"], **LOGIN)
    make_agent("bare", mode="oauth", subreddits=["python"])
    make_agent("lost", mode="oauth", subreddits=["python"], **LOGIN | {"client_secret": "${secrets.lost}"})
    make_agent("one", mode="feed", subreddits=["python"])
    make_agent("many", mode="feed", subreddits=["python", "django", "flask"])
    make_agent("old", mode="archive", subreddits=["python"])
    make_agent("shown", mode="browser", subreddits=["python"])
    found = said(database)
    assert "api" not in found
    assert found["bare"][0] is Severity.FAULT
    assert "needs client_id, client_secret, contact" in found["bare"][1]
    assert found["lost"][0] is Severity.FAULT
    assert "secret 'lost' does not exist" in found["lost"][1]
    assert found["one"] == (
        Severity.WARNING,
        "agent 'one' of project 'talk' reads by mode feed, which has no scores",
    )
    assert "one page every 60 s: its 3 feeds take 3 minutes a run; join subreddits as a+b" in found["many"][1]
    assert found["old"][0] is Severity.WARNING
    assert found["shown"][0] is Severity.FAULT
    assert "reads by mode browser, but it cannot: AGENTIC_BROWSER_PATH names" in found["shown"][1]


def test_a_browser_that_is_there_is_a_warning_of_what_it_does_not_read(
    database: Database, make_agent: MakeAgent
) -> None:
    make_agent("shown", mode="browser", subreddits=["python"])
    severity, text = said(database)["shown"]
    assert severity is Severity.WARNING
    assert "the first posts of a page" in text


def test_feeds_without_their_libraries_are_a_fault(
    database: Database, make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fastfeedparser", None)
    make_agent("one", mode="feed", subreddits=["python"])
    found = list(DOCTOR.findings_in(database, SecretKeys()))
    faults = [finding.text for finding in found if finding.severity is Severity.FAULT]
    assert len(faults) == 1
    assert "pip install 'agentic-pipelines[feeds]'" in faults[0]
