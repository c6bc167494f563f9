"""Checks secrets, stored and in the environment, and their keys."""

from __future__ import annotations

import os
from collections.abc import Iterator

from agentic.core.hooks import Finding, warning
from agentic.mappers import Database
from agentic.mappers.vault.environment import stray_variables
from agentic.mappers.vault.errors import VaultError
from agentic.mappers.vault.keys import SecretKeys
from agentic.mappers.vault.rotation import unreadable


def secret_findings(database: Database, keys: SecretKeys) -> Iterator[Finding]:
    """Report missing or invalid keys, secrets that no key decrypts, and variables that no project can read.

    Raises:
        DatabaseUnavailableError: It cannot be opened.
    """
    try:
        yield from map(Finding, unreadable(database, keys))
    except VaultError as exc:
        yield Finding(str(exc))
    with database.reading() as session:
        stray = stray_variables(session, os.environ)
    for variable in stray:
        yield warning(
            f"the environment sets {variable}, which belongs to no project, or to several; name it "
            f"AGENTIC_SECRET_<PROJECT>__<NAME>"
        )
