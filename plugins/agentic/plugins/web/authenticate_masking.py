"""Errors of logins, without their secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import SecretStr

from agentic.core.actors import ActorError, describe_failure
from agentic.core.http import FetchError
from agentic.plugins.web.authenticate_logins import Login

MASK = "***"
SHORTEST = 4  # to mask anything shorter would garble every text


def masked(exc: ActorError | FetchError, login: Login) -> ActorError | FetchError:
    """Return the error without any secret of ``login``: a site may send us to a URL that has one in it."""
    said = str(exc)
    for secret in sorted(_secrets_in(dict(login)), key=len, reverse=True):
        said = said.replace(secret, MASK)
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


def _secrets_in(value: object) -> Iterator[str]:
    match value:
        case SecretStr() if len(value.get_secret_value()) >= SHORTEST:
            yield value.get_secret_value()
        case Mapping():
            for part in value.values():
                yield from _secrets_in(part)
