"""Errors of stored secrets and sessions; no message contains a value or a key."""

from __future__ import annotations

from typing import Literal

from agentic.core.actors import ActorError
from agentic.mappers.errors import DataError

Sealed = Literal["secret", "session"]


class VaultError(DataError, ActorError):
    """Base of errors about stored secrets; error policies see ``auth_required``."""

    def __init__(self, message: str) -> None:
        super().__init__(message, failure_class="auth_required")


class NoSecretKeyError(VaultError):
    """A key to encrypt or decrypt is missing."""

    def __init__(self, kind: Sealed, name: str) -> None:
        super().__init__(
            f"the {kind} {name!r} can be neither stored nor read without a key; create one with `agentic "
            "secrets new-key`, keep it safe, and set AGENTIC_SECRET_KEYS to it wherever pipelines run"
        )
        self.kind = kind
        self.name = name


class BadSecretKeyError(VaultError, ValueError):
    """A configured key is invalid."""

    def __init__(self, position: int, count: int) -> None:
        super().__init__(
            f"AGENTIC_SECRET_KEYS: key {position} of {count} is not a valid key; create one with `agentic "
            "secrets new-key`, and separate keys by commas"
        )
        self.position = position
        self.count = count


class UnreadableSecretError(VaultError):
    """No key decrypts the stored value, or it was stored under another name."""

    def __init__(self, kind: Sealed, name: str) -> None:
        again = f"`agentic secrets set {name}`" if kind == "secret" else "log in again"
        super().__init__(
            f"no key in AGENTIC_SECRET_KEYS decrypts the {kind} {name!r}; add the key it was stored with "
            f"after the others, or `agentic secrets remove {name}` and {again}"
        )
        self.kind = kind
        self.name = name


class SecretNameError(VaultError, ValueError):
    """A secret cannot have that name."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name!r} is not a valid secret name: {reason}; choose another name")
        self.name = name
