"""What ``agentic doctor`` says of GitHub agents, without asking GitHub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.databases import only_sqlite

from agentic.core.hooks import Severity
from agentic.mappers import Database
from agentic.mappers.vault.keys import SecretKeys
from agentic.plugins.github.executor import DOCTOR

if TYPE_CHECKING:
    from tests.integration.plugins.github.conftest import MakeAgent

pytestmark = pytest.mark.integration


@only_sqlite
def test_an_agent_without_a_token_is_warned_of_and_one_whose_token_is_missing_is_a_fault(
    database: Database, make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_SECRET_KNOWN", "ghp_x")
    make_agent("good", repos=["o/n"], token="${secrets.known}")
    make_agent("bare", repos=["o/n"])
    make_agent("lost", repos=["o/n"], token="${secrets.lost}")
    make_agent("broken")
    bare, broken, lost = DOCTOR.findings_in(database, SecretKeys())
    assert bare.severity is Severity.WARNING
    assert "agent 'bare' of project 'code' has no token" in bare.text
    assert "agent 'lost' of project 'code' cannot get its secret: secret 'lost' does not exist" in lost.text
    assert "agent 'broken' of project 'code' cannot run: its configuration is invalid: mode" in broken.text
    assert {lost.severity, broken.severity} == {Severity.FAULT}


@only_sqlite
def test_the_doctor_looks_into_the_database_of_the_settings(
    database: Database, whole_url: str, make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_DATABASE_URL", whole_url)
    make_agent("bare", repos=["o/n"])
    assert len(list(DOCTOR())) == 1


@pytest.mark.parametrize("content", [None, b"", b"no database"])
def test_the_doctor_leaves_it_to_others_to_tell_of_a_database_that_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    path = tmp_path / "data.db"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv("AGENTIC_DATABASE_URL", f"sqlite:///{path}")
    assert list(DOCTOR()) == []
