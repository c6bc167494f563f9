"""Errors of logins, and of what is done with them, without their secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from pydantic import Secret, SecretStr

from agentic.core.actors import ActorError, describe_failure
from agentic.core.http import FetchError, HttpSession
from agentic.core.masking import Masker

if TYPE_CHECKING:  # its module reads pages
    from agentic.plugins.web.login.logins import Login

MASK = "***"


def masked(exc: ActorError | FetchError, login: Login) -> ActorError | FetchError:
    """Return the error without any secret of ``login``: a site may send us to a URL that has one in it."""
    return without_secrets(exc, secrets_in(login))


def without_secrets(exc: ActorError | FetchError, secrets: Iterable[str]) -> ActorError | FetchError:
    """Return the error without any of these secrets in it."""
    said = Masker.of(secrets).text(str(exc), MASK)
    if said == str(exc):
        return exc
    failure = describe_failure(exc)
    return ActorError(
        said,
        failure_class=failure.failure_class,
        status=failure.status,
        retry_after_s=failure.retry_after_s,
        detail=failure.detail,
    )


def secrets_in(login: Login) -> Iterator[str]:
    """Yield every secret of a login."""
    yield from _within(dict(login))


def secrets_of(session: HttpSession) -> Iterator[str]:
    """Yield what a site knows a session by: its headers, and the values of its cookies."""
    for header in session.headers.values():
        value = header.get_secret_value()
        yield value
        yield value.partition(" ")[2]
    yield from _texts(session.cookies.to_data())


def _within(value: object) -> Iterator[str]:
    match value:
        case SecretStr():
            yield value.get_secret_value()
        case Secret():
            yield from _texts(value.get_secret_value())
        case Mapping():
            for part in value.values():
                yield from _within(part)


def _texts(value: object) -> Iterator[str]:
    """Yield the values of cookies, and of what a browser had stored: every one of them may be a secret."""
    match value:
        case Mapping():
            if isinstance(text := value.get("value"), str):
                yield text
            for part in value.values():
                yield from _texts(part)
        case list():
            for part in value:
                yield from _texts(part)
