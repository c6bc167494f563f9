"""Nkey seeds: the secret that identifies a user of a NATS server."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from types import ModuleType

from agentic.core.bus.errors import BusAccessError


def make_seed() -> str:
    """Return the seed of a new user.

    Raises:
        BusAccessError: The required package is not installed.
    """
    nkeys = _library()
    return str(nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER).decode())


def read_seed(file: Path) -> str:
    """Return the seed in a file.

    Raises:
        BusAccessError: It has none, or the required package is not installed.
    """
    try:
        seed = file.read_text(encoding="ascii").strip()
    except FileNotFoundError as exc:
        raise BusAccessError(
            f"nkey seed {file} does not exist; create it with `agentic nats accounts`, or correct "
            "AGENTIC_NATS_SEED_FILE"
        ) from exc
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not text"
        raise BusAccessError(
            f"the nkey seed {file} cannot be read: {reason}; correct that, or AGENTIC_NATS_SEED_FILE"
        ) from None
    if not _is_seed(seed):
        raise BusAccessError(
            f"{file} has no nkey seed of a user; create one with `agentic nats accounts`, or correct "
            "AGENTIC_NATS_SEED_FILE"
        )
    return seed


def public_key(seed: str) -> str:
    """Return the public key of a seed, for servers."""
    pair = _library().from_seed(bytearray(seed.encode()))
    key = str(pair.public_key.decode())
    pair.wipe()
    return key


def _is_seed(text: str) -> bool:
    nkeys = _library()
    try:
        return public_key(text).startswith("U")
    except (ValueError, nkeys.NkeysError):
        return False


def _library() -> ModuleType:
    try:
        return importlib.import_module("nkeys")
    except ImportError as exc:
        raise BusAccessError(
            "nkey seeds need the package nkeys; install it with: pip install 'agentic-pipelines[nkeys]'"
        ) from exc
