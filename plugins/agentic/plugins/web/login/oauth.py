"""Access tokens for a client or for a refresh token (RFC 6749, 4.4 and 6)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated
from urllib.parse import quote_plus, urlencode

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from agentic.core.actors import ActorContext, ActorError
from agentic.core.http import FetchError, HttpRequest, HttpResponse, HttpSession
from agentic.core.http.urls import host_of
from agentic.core.masking import remember_secrets
from agentic.core.settings import safe_url
from agentic.plugins.web.login.kept import MadeLogin
from agentic.plugins.web.login.logins import HeaderSecret, OAuth2Login

REFUSED = frozenset({400, 401, 403})
LONGEST_S = 10 * 365 * 86_400


class _Granted(BaseModel):
    """The answer of a token endpoint (RFC 6749, 5.1)."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    access_token: HeaderSecret
    token_type: str = "bearer"  # noqa: S105 - the word for its kind
    expires_in: Annotated[float, Field(ge=0, le=LONGEST_S)] | None = None
    refresh_token: SecretStr | None = None

    @property
    def tokens(self) -> Sequence[SecretStr]:
        """What it has that is secret."""
        return [token for token in (self.access_token, self.refresh_token) if token is not None]


async def fetch_token(
    ctx: ActorContext, login: OAuth2Login, name: str, refresh_token: SecretStr | None, now: datetime
) -> MadeLogin:
    """Return a session with a new access token.

    Args:
        ctx: Sends the request.
        login: Whom for.
        name: Of the session.
        refresh_token: The newest one, if the grant needs one.
        now: When it is asked for.

    Raises:
        ActorError: The client is refused (``auth_required``), the refresh token is (``auth_expired``), or the
            answer is no token (``schema_invalid``).
        FetchError: There is no answer.
    """
    try:
        response = await ctx.http.fetch(token_request(login, refresh_token))
    except FetchError as exc:
        if exc.status not in REFUSED or exc.failure_class in {"rate_limited", "blocked"}:
            raise
        raise _refusal(login, exc.status) from None
    granted = _read(response)
    remember_secrets(*(token.get_secret_value() for token in granted.tokens))
    lasts = None if granted.expires_in is None else timedelta(seconds=granted.expires_in)
    return MadeLogin(
        session=HttpSession(
            name=name,
            hosts=frozenset(login.hosts or (host_of(login.token_url),)),
            headers={"authorization": SecretStr(f"Bearer {granted.access_token.get_secret_value()}")},
        ),
        expires_at=None if lasts is None else now + lasts,
        refresh_token=granted.refresh_token or refresh_token,
    )


def token_request(login: OAuth2Login, refresh_token: SecretStr | None) -> HttpRequest:
    """Return the request for an access token."""
    client = login.client_id.get_secret_value()
    secret = login.client_secret.get_secret_value() if login.client_secret is not None else ""
    fields = {"grant_type": login.grant, "scope": login.scope or ""}
    if login.grant == "refresh_token" and refresh_token is not None:
        fields["refresh_token"] = refresh_token.get_secret_value()
    headers = {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"}
    if login.client_auth == "basic":
        # Encoded as in a form before it is joined by a colon (RFC 6749, 2.3.1).
        pair = ":".join(quote_plus(part, errors="replace") for part in (client, secret))
        headers["authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    else:
        fields |= {"client_id": client, "client_secret": secret}
    body = urlencode({name: value for name, value in fields.items() if value}, errors="replace")
    return HttpRequest(
        url=login.token_url,
        method="POST",
        headers=headers,
        body=body.encode(),
        obey_robots=False,
        stays_at_origin=True,
    )


def _read(response: HttpResponse) -> _Granted:
    try:
        granted = _Granted.model_validate(response.json())
    except ValidationError as exc:
        faults = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'all'}: {e['msg']}" for e in exc.errors())
        raise _unusable(response, faults) from None
    if granted.token_type.lower() != "bearer":
        raise _unusable(response, "it is not a bearer token")
    return granted


def _unusable(response: HttpResponse, reason: str) -> ActorError:
    return ActorError(
        f"{safe_url(response.url)} answered without a usable token: {reason}; check token_url, grant and "
        "scope",
        failure_class="schema_invalid",
        status=response.status,
    )


def _refusal(login: OAuth2Login, status: int | None) -> ActorError:
    is_refresh = login.grant == "refresh_token" and status == 400
    reason = (
        "its refresh token is no longer valid" if is_refresh else "check client_id, client_secret and scope"
    )
    return ActorError(
        f"{safe_url(login.token_url)} refused the client with status {status}: {reason}",
        failure_class="auth_expired" if is_refresh else "auth_required",
        status=status,
    )
