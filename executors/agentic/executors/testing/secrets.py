"""Secrets for tests: stored as those of users are, with a key of the test's own."""

from __future__ import annotations

import pytest

from agentic.core.secret_names import KEYS_VARIABLE, project_variable, variable_of
from agentic.executors.testing.running import PROJECT, project_named
from agentic.mappers import Database
from agentic.mappers.vault.keys import SecretKeys
from agentic.mappers.vault.vault import set_secret


class Secrets:
    """The secrets of the projects of a database.

    Args:
        database: Migrated.
        monkeypatch: Of the test; it gives the process, and those it starts, a key.
    """

    def __init__(self, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        self._database = database
        self._monkeypatch = monkeypatch
        self._key = SecretKeys.new_key()
        monkeypatch.setenv(KEYS_VARIABLE, self._key)

    def set(self, name: str, value: str, *, project: str = PROJECT) -> None:
        """Store a secret, in place of one of that name: a config has it as ``${secrets.<name>}``.

        Args:
            name: Of the secret.
            value: Any text.
            project: Made if it is not there; the one ``run_agent`` takes when left out.

        Raises:
            SecretNameError: ``name`` cannot be one.
        """
        # What the environment of a developer has under that name would come first.
        for variable in (variable_of(name), project_variable(project, name)):
            self._monkeypatch.delenv(variable, raising=False)
        with self._database.writing() as session:
            owner = project_named(session, project)
            set_secret(session, owner.id, SecretKeys(self._key), name, value)
