"""What can go wrong with stored secrets and sessions; no message holds a value or a key."""

from __future__ import annotations

from typing import Literal

from agentic.core.actors import ActorError
from agentic.mappers.errors import DataError

Sealed = Literal["secret", "session"]


class VaultError(DataError, ActorError):
    """Something about stored secrets; to an error policy it is ``auth_required``."""

    def __init__(self, message: str) -> None:
        super().__init__(message, failure_class="auth_required")


class NoSecretKeyError(VaultError):
    """There is no key to encrypt or decrypt with."""

    def __init__(self, kind: Sealed, name: str) -> None:
        super().__init__(
            f"the {kind} {name!r} can be neither stored nor read without a key; create one with `agentic "
            "secrets new-key`, keep it safe, and set AGENTIC_SECRET_KEYS to it wherever pipelines run"
        )
        self.kind = kind
        self.name = name


class BadSecretKeyError(VaultError, ValueError):
    """What is set as a key is none."""

    def __init__(self, position: int, count: int) -> None:
        super().__init__(
            f"AGENTIC_SECRET_KEYS: key {position} of {count} is not a valid key; create one with `agentic "
            "secrets new-key`, and separate keys by commas"
        )
        self.position = position
        self.count = count


class UnreadableSecretError(VaultError):
    """None of the keys decrypts what is stored, or it was stored under another name."""

    def __init__(self, kind: Sealed, name: str) -> None:
        again = f"`agentic secrets set {name}`" if kind == "secret" else "log in again"
        super().__init__(
            f"no key in AGENTIC_SECRET_KEYS decrypts the {kind} {name!r}; add the key it was stored with "
            f"after the others, or `agentic secrets remove {name}` and {again}"
        )
        self.kind = kind
        self.name = name


class SecretNameError(VaultError, ValueError):
    """No secret can have that name."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name!r} is not a valid secret name: {reason}; choose another name")
        self.name = name
