"""What requests show to say who asks: known as secrets, whoever made them up and from what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from agentic.core.http.sessions.sessions import HttpSession
from agentic.core.masking import guessed_secrets, is_telling, remember_passing

MIN_COOKIE_CHARS = 16
"""A shorter cookie cannot name a session (that takes 64 bits), only a language or a choice."""


def learn_credentials(headers: Mapping[str, str]) -> None:
    """Have tokens, keys and the cookies of sessions masked from now on in what this process writes down."""
    for name, value in headers.items():
        if is_telling(name):
            remember_passing(*_secrets(name, value))


def learn_session(session: HttpSession) -> None:
    """Do so with the headers of a session, whatever they are called."""
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
