"""Credentials in requests: masked as secrets, regardless of their source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from agentic.core.http.sessions.sessions import HttpSession
from agentic.core.masking import guessed_secrets, is_telling, remember_passing

MIN_COOKIE_CHARS = 16
"""A shorter cookie cannot identify a session (that needs 64 bits), only a language or a choice."""


def learn_credentials(headers: Mapping[str, str]) -> None:
    """Mask tokens, keys and session cookies from now on in all output of this process."""
    for name, value in headers.items():
        if is_telling(name):
            remember_passing(*_secrets(name, value))


def learn_session(session: HttpSession) -> None:
    """Mask the headers of a session, regardless of their names."""
    for value in session.headers.values():
        remember_passing(*_secrets("authorization", value.get_secret_value()))


@lru_cache(maxsize=256)
def _secrets(name: str, value: str) -> tuple[str, ...]:
    return tuple(_long_values(value) if name.lower() == "cookie" else guessed_secrets(value, name))


def _long_values(cookies: str) -> Iterator[str]:
    for pair in cookies.split(";"):
        value = pair.strip().partition("=")[2]
        if len(value) >= MIN_COOKIE_CHARS:
            yield value
