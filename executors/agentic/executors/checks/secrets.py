"""Stored secrets, and the keys to them."""

from __future__ import annotations

from collections.abc import Iterator

from agentic.core.hooks import Finding
from agentic.mappers import Database
from agentic.mappers.vault_errors import VaultError
from agentic.mappers.vault_keys import SecretKeys
from agentic.mappers.vault_rotation import unreadable


def secret_findings(database: Database, keys: SecretKeys) -> Iterator[Finding]:
    """Tell of keys that are missing or none, and of what no key decrypts.

    Raises:
        DatabaseUnavailableError: It cannot be opened.
    """
    try:
        yield from map(Finding, unreadable(database, keys))
    except VaultError as exc:
        yield Finding(str(exc))
