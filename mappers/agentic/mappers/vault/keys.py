"""Encryption of secrets at rest: Fernet (AES-128-CBC and HMAC-SHA256), several keys for rotation.

The encrypted envelope includes the owner of the secret. A row copied to another name, project or table does
not open.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from agentic.core.settings import Settings
from agentic.mappers.vault.errors import (
    BadSecretKeyError,
    NoSecretKeyError,
    Sealed,
    UnreadableSecretError,
)

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """Owner of an encrypted value: it opens only under this label."""

    project_id: str
    kind: Sealed
    name: str


class _Envelope(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    version: Literal[1] = 1
    project_id: str
    kind: Sealed
    name: str
    value: str


class SecretKeys:
    """The keys of an installation: the first encrypts, all decrypt. They are never shown.

    Args:
        text: Keys from ``new_key``, separated by commas or blanks; may be empty.
    """

    def __init__(self, text: str = "") -> None:
        self._texts = tuple(text.replace(",", " ").split())

    @classmethod
    def configured(cls, settings: Settings) -> Self:
        """Return the keys of the settings. They are checked at the first use."""
        return cls(settings.secret_keys.get_secret_value())

    @staticmethod
    def new_key() -> str:
        """Return a new key."""
        from cryptography.fernet import Fernet

        return Fernet.generate_key().decode()

    def __bool__(self) -> bool:
        return bool(self._texts)

    def __repr__(self) -> str:
        return f"SecretKeys({len(self._texts)} keys)"

    def check(self) -> None:
        """Check that every key is valid.

        Raises:
            BadSecretKeyError: A key is invalid.
        """
        if self:
            _ = self._fernet

    def seal(self, label: Label, value: str) -> str:
        """Return ``value`` encrypted with the first key.

        Raises:
            NoSecretKeyError: A key is missing.
            BadSecretKeyError: One of them is invalid.
        """
        self._require(label)
        envelope = _Envelope(project_id=label.project_id, kind=label.kind, name=label.name, value=value)
        # In ASCII: halves of surrogate pairs are not valid UTF-8.
        return self._fernet.encrypt(json.dumps(envelope.model_dump()).encode()).decode()

    def open(self, label: Label, sealed: str) -> str:
        """Return the value sealed under that label.

        Raises:
            NoSecretKeyError: A key is missing.
            BadSecretKeyError: One of them is invalid.
            UnreadableSecretError: No key fits, or it was sealed under another label.
        """
        from cryptography.fernet import InvalidToken

        self._require(label)
        try:
            plain = self._fernet.decrypt(sealed.encode())
            envelope = _Envelope.model_validate(json.loads(plain))
        except (InvalidToken, ValidationError, ValueError):
            raise UnreadableSecretError(label.kind, label.name) from None
        if (envelope.project_id, envelope.kind, envelope.name) != (label.project_id, label.kind, label.name):
            raise UnreadableSecretError(label.kind, label.name)
        return envelope.value

    def _require(self, label: Label) -> None:
        if not self:
            raise NoSecretKeyError(label.kind, label.name)

    @cached_property
    def _fernet(self) -> MultiFernet:
        from cryptography.fernet import Fernet, MultiFernet

        made: list[Fernet] = []
        for position, text in enumerate(self._texts, start=1):
            try:
                made.append(Fernet(text))
            except ValueError:
                raise BadSecretKeyError(position, len(self._texts)) from None
        return MultiFernet(made)
