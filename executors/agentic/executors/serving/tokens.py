"""The token of a server: made once, kept in a file for its owner, compared in constant time."""

from __future__ import annotations

import hmac
import secrets
from pathlib import Path

from agentic.core.masking import remember_secrets
from agentic.core.private import is_wide, make_private_folder, write_private
from agentic.core.settings import Settings
from agentic.executors.serving.errors import ServeTokenError

TOKEN_FILE = "serve-token"  # noqa: S105  # the name of the file
MIN_CHARS = 32
"""A shorter token could be guessed."""

_VARIABLE = "AGENTIC_SERVE_TOKEN"


def make_token() -> str:
    """Return a new token of 256 bits."""
    return secrets.token_urlsafe(32)


def load_token(settings: Settings) -> str:
    """Return the token of this project's servers: of ``AGENTIC_SERVE_TOKEN``, else of the file in the home.

    A missing file is made, with mode 0600. The token stays the same, so that clients of a server that was
    restarted continue. It is masked in logs and messages from now on.

    Raises:
        ServeTokenError: The token is too short, or its file cannot be read by its owner alone.
    """
    given = settings.serve_token.get_secret_value()
    token = checked_token(given, _VARIABLE) if given else _kept(settings.home / TOKEN_FILE)
    remember_secrets(token)
    return token


def checked_token(token: str, place: str) -> str:
    """Return a token if it is strong enough, and can be sent in a header.

    Args:
        token: The token.
        place: The setting or file that has it, for the error.

    Raises:
        ServeTokenError: It cannot be used.
    """
    if len(token) < MIN_CHARS or not token.isascii() or not token.isprintable() or " " in token:
        raise ServeTokenError(
            f"the token of {place} cannot be used; it needs {MIN_CHARS} or more ASCII characters without "
            "spaces: make one with `python -c 'import secrets; print(secrets.token_urlsafe(32))'`"
        )
    return token


def is_same(given: str, token: str) -> bool:
    """Whether a token that was sent is the right one; takes the same time for each wrong one."""
    return hmac.compare_digest(given.encode(errors="surrogatepass"), token.encode())


def _kept(path: Path) -> str:
    try:
        return _read(path) if path.exists() else _made(path)
    except OSError as exc:
        raise ServeTokenError(
            f"the token file {path} cannot be used ({exc.strerror}); or set {_VARIABLE}"
        ) from exc


def _made(path: Path) -> str:
    make_private_folder(path.parent)
    token = make_token()
    write_private(path, f"{token}\n")
    return token


def _read(path: Path) -> str:
    if is_wide(path):
        raise ServeTokenError(
            f"other users can read {path}, so its token is not secret; remove the file, and a new one is made"
        )
    return checked_token(path.read_text(encoding="utf-8").strip(), str(path))
