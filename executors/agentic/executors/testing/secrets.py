"""Secrets for tests: stored like users' secrets, with the test's own key."""

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
        database: A migrated database.
        monkeypatch: The test's own; it gives this process and its children a key.
    """

    def __init__(self, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        self._database = database
        self._monkeypatch = monkeypatch
        self._key = SecretKeys.new_key()
        monkeypatch.setenv(KEYS_VARIABLE, self._key)

    def set(self, name: str, value: str, *, project: str = PROJECT) -> None:
        """Store or replace a secret: a config refers to it as ``${secrets.<name>}``.

        Args:
            name: Name of the secret.
            value: Any text.
            project: Created if missing; by default the project of ``run_agent``.

        Raises:
            SecretNameError: ``name`` is not a valid name.
        """
        # A variable of that name in a developer's environment would have priority.
        for variable in (variable_of(name), project_variable(project, name)):
            self._monkeypatch.delenv(variable, raising=False)
        with self._database.writing() as session:
            owner = project_named(session, project)
            set_secret(session, owner.id, SecretKeys(self._key), name, value)
