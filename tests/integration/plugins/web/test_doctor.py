"""What ``agentic doctor`` says of web agents, without asking any site."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentic.core.hooks import Severity
from agentic.core.types import JSONValue
from agentic.mappers.vault.keys import SecretKeys
from agentic.plugins.web.doctor import DOCTOR

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent

    from agentic.mappers import Database

pytestmark = pytest.mark.integration

URL = "http://a.example/"
ARTICLE: JSONValue = [{"actor": "fetch", "config": {"url": URL}}, {"actor": "article"}]
SHOWN: JSONValue = [{"actor": "fetch", "config": {"url": URL, "mode": "browser"}}]


def spec(found: JSONValue, **further: JSONValue) -> JSONValue:
    return {"name": "own", "steps": found, **further}


def told(database: Database) -> list[tuple[Severity, str]]:
    return [(finding.severity, finding.text) for finding in DOCTOR.findings_in(database, SecretKeys())]


def test_an_agent_that_has_all_it_needs_is_not_told_of(
    database: Database, make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_SECRET_SHOPS__KNOWN", "x")
    http: JSONValue = {"transport": "curl_cffi", "proxy": "${secrets.known}"}
    make_agent(pipeline=spec(ARTICLE, http=http), inputs={})
    assert told(database) == []


def test_secrets_of_a_pipeline_that_are_not_there_are_faults(
    database: Database, make_agent: MakeAgent
) -> None:
    login: JSONValue = {"actor": "authenticate", "config": {"platform": "site"}}
    hook: JSONValue = {
        "actor": "webhook",
        "config": {"url": URL, "payload": {}, "secret": "${secrets.signature}"},
    }
    make_agent(pipeline=spec([login, hook], http={"proxy": "${secrets.way_out}"}), inputs={})
    found = told(database)
    assert {severity for severity, _ in found} == {Severity.FAULT}
    assert [text.partition("its secret: secret ")[2].split()[0] for _, text in found] == [
        "'signature'",
        "'site'",
        "'way_out'",
    ]


@pytest.mark.parametrize(
    ("library", "extra", "needing"),
    [
        ("trafilatura", "article", spec(ARTICLE)),
        ("feedparser", "feeds", spec([{"actor": "feed", "config": {"url": URL}}])),
        ("curl_cffi", "curl", spec(ARTICLE, http={"transport": "curl_cffi"})),
    ],
)
def test_a_library_that_a_step_needs_and_is_not_installed_is_a_fault(
    database: Database,
    make_agent: MakeAgent,
    monkeypatch: pytest.MonkeyPatch,
    library: str,
    extra: str,
    needing: JSONValue,
) -> None:
    make_agent(pipeline=needing, inputs={})
    monkeypatch.setitem(sys.modules, library, None)
    ((severity, text),) = told(database)
    assert severity is Severity.FAULT
    assert f"pip install 'agentic-pipelines[{extra}]'" in text


def test_a_browser_that_is_not_there_is_a_warning_as_another_worker_may_have_one(
    database: Database, make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_agent(pipeline=spec(SHOWN), inputs={})
    assert told(database) == []
    monkeypatch.setenv("AGENTIC_BROWSER_PATH", "/no/such/browser")
    ((severity, text),) = told(database)
    assert severity is Severity.WARNING
    assert "AGENTIC_BROWSER_PATH names '/no/such/browser'" in text
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    assert "pip install 'agentic-pipelines[browser]'" in str(told(database))


def test_the_secrets_that_only_a_file_names_are_looked_for_too(
    database: Database, make_agent: MakeAgent, tmp_path: Path
) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        "http: {proxy: '${secrets.way_out}'}\nsteps: [{type: crawl, start: 'http://a.example/'}]\n"
    )
    make_agent(pipeline=str(path), inputs={})
    ((_, text),) = told(database)
    assert "secret 'way_out' does not exist" in text


def test_a_pipeline_whose_file_is_gone_is_a_fault(database: Database, make_agent: MakeAgent) -> None:
    make_agent(pipeline="gone.yaml")
    ((_, text),) = told(database)
    assert "cannot run: its configuration is invalid" in text
    assert "gone.yaml" in text
