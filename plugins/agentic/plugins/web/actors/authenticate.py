"""The actor that logs in."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, assert_never

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from agentic.core.actors import Actor, ActorContext, ActorError
from agentic.core.http import FetchError, HttpSession
from agentic.core.masking import remember_secrets
from agentic.core.types import JSONValue
from agentic.plugins.web.login.cookies import Imported, end_of, import_cookies, import_storage_state
from agentic.plugins.web.login.form import log_in_by_form
from agentic.plugins.web.login.kept import KeptLogin, MadeLogin, digest_of, keep_login, load_kept
from agentic.plugins.web.login.logins import (
    BasicLogin,
    BearerLogin,
    CookiesLogin,
    FormLogin,
    Login,
    OAuth2Login,
    StorageStateLogin,
    read_login,
)
from agentic.plugins.web.login.masking import masked, secrets_in
from agentic.plugins.web.login.oauth import fetch_token

# A slash is for what is kept beside a session.
Name = Annotated[str, Field(pattern=r"^[^/\x00-\x1f]+$", max_length=100)]


class AuthenticateInput(BaseModel):
    """Where to log in and as whom: a stored login by its name, or all of it."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    platform: Name | None = Field(default=None, description="Name of a secret that holds a login as JSON.")
    credential: Name | None = Field(default=None, description="That name, if it is not the platform's.")
    login: Login | None = Field(default=None, description="The login itself; its secrets as ${secrets.NAME}.")
    session: Name | None = Field(default=None, description="Session name; default: credential or platform.")
    reuse: bool = Field(default=True, description="Reuse a stored session that has not expired.")
    browser: bool = Field(
        default=False, description="The stored login has `via: browser`: it needs a worker with a browser."
    )

    @model_validator(mode="after")
    def _says_who(self) -> AuthenticateInput:
        if self.login is None and self.platform is None and self.credential is None:
            raise ValueError("give a platform, a credential, or a login")
        if self.login is not None and self.credential is not None:
            raise ValueError("give either a credential or a login")
        if not self.name:
            raise ValueError("a login without platform needs a session: the name to store it under")
        return self

    @property
    def name(self) -> str:
        """Name of the session."""
        return self.session or self.credential or self.platform or ""


class AuthenticateOutput(BaseModel):
    """What is known of a login: the name of its session, for the actors that come next, and no secret."""

    model_config = ConfigDict(frozen=True)

    session: str
    platform: str | None = None
    strategy: str
    expires_at: datetime | None = None


class AuthenticateActor(Actor[AuthenticateInput, AuthenticateOutput]):
    """Logs in to a site and stores the session for later requests."""

    name = "authenticate"
    version = "1"
    has_effect = True
    aliases = ("Authenticate",)
    Input = AuthenticateInput
    Output = AuthenticateOutput
    failure_classes = frozenset(
        {"auth_expired", "auth_required", "browser_crashed", "schema_invalid", "selector_missing"}
    )
    capabilities = frozenset({"browser", "network"})

    @classmethod
    def needs(cls, config: Mapping[str, JSONValue]) -> frozenset[str]:
        """Return what a step with this config needs: a browser for a login that says so."""
        login = config.get("login")
        via = login.get("via") if isinstance(login, Mapping) else None
        is_shown = via == "browser" or config.get("browser")
        return cls.capabilities if is_shown else cls.capabilities - {"browser"}

    @classmethod
    def repeatable_after(cls, config: Mapping[str, JSONValue]) -> frozenset[str]:  # noqa: ARG003 - as declared
        """Return what no site takes for a try at a password."""
        return frozenset({"connect", "rate_limited"})

    async def run(self, ctx: ActorContext, given: AuthenticateInput, /) -> AuthenticateOutput:
        """Return the name of a session that is logged in: a kept one, or a new one."""
        login = given.login or await _stored_login(ctx, given)
        remember_secrets(*secrets_in(login))
        kept = await load_kept(ctx.sessions, given.name)
        if kept is not None and kept.refresh_token is not None:
            remember_secrets(kept.refresh_token.get_secret_value())
        if not await _may_go_on(ctx, given, kept, login):
            kept = await _log_in_anew(ctx, login, given.name, kept)
        return AuthenticateOutput(
            session=given.name,
            platform=given.platform,
            strategy=login.strategy,
            expires_at=kept.expires_at if kept is not None else None,
        )


async def log_in(ctx: ActorContext, login: Login, name: str, kept: KeptLogin | None = None) -> MadeLogin:
    """Log in.

    Args:
        ctx: Sends what is to be sent.
        login: How, and as whom.
        name: Of the session.
        kept: What is known of the login before this one.

    Raises:
        ActorError: It was refused (``auth_required``), has ended (``auth_expired``), cannot be used
            (``schema_invalid``), or its form is not there (``selector_missing``).
        FetchError: A page was not fetched.
    """
    match login:
        case BearerLogin():
            return MadeLogin(session=_with_header(name, login.hosts, login.header, _token(login)))
        case BasicLogin():
            return MadeLogin(session=_with_header(name, login.hosts, "authorization", _basic(login)))
        case OAuth2Login():
            token = _newest_refresh_token(login, kept)
            return await fetch_token(ctx, login, name, token, datetime.now(UTC))
        case FormLogin():
            return await log_in_by_form(ctx, login, name)
        case CookiesLogin():
            return _with_cookies(name, import_cookies(login.cookies.get_secret_value()))
        case StorageStateLogin():
            return _with_cookies(name, import_storage_state(login.storage_state.get_secret_value()))
        case _:
            assert_never(login)


async def _stored_login(ctx: ActorContext, given: AuthenticateInput) -> Login:
    name = given.credential or given.platform or ""
    return read_login(name, await ctx.secrets.secret(name))


async def _may_go_on(
    ctx: ActorContext, given: AuthenticateInput, kept: KeptLogin | None, login: Login
) -> bool:
    if not given.reuse or ctx.is_rerun or kept is None or not kept.is_good(login, datetime.now(UTC)):
        return False
    return await ctx.sessions.load(given.name) is not None


async def _log_in_anew(ctx: ActorContext, login: Login, name: str, kept: KeptLogin | None) -> KeptLogin:
    try:
        made = await log_in(ctx, login, name, kept)
    except (ActorError, FetchError) as exc:
        # Somebody else may have used up the refresh token; then there is a new session, too.
        newer = await load_kept(ctx.sessions, name) if exc.failure_class == "auth_expired" else None
        if newer is not None and newer != kept and newer.is_good(login, datetime.now(UTC)):
            return newer
        raise masked(exc, login) from None
    return await keep_login(ctx.sessions, login, made)


def _newest_refresh_token(login: OAuth2Login, kept: KeptLogin | None) -> SecretStr | None:
    is_ours = kept is not None and kept.made_of == digest_of(login)
    return (kept.refresh_token if kept is not None and is_ours else None) or login.refresh_token


def _with_header(name: str, hosts: tuple[str, ...], header: str, value: str) -> HttpSession:
    return HttpSession(name=name, hosts=frozenset(hosts), headers={header.lower(): SecretStr(value)})


def _with_cookies(name: str, found: Imported) -> MadeLogin:
    session = HttpSession(name=name, cookies=found.cookies, storage=found.storage)
    return MadeLogin(session=session, expires_at=end_of(found.cookies))


def _token(login: BearerLogin) -> str:
    token = login.token.get_secret_value()
    return f"Bearer {token}" if login.header.lower() == "authorization" else token


def _basic(login: BasicLogin) -> str:
    pair = f"{login.username.get_secret_value()}:{login.password.get_secret_value()}"
    return f"Basic {base64.b64encode(pair.encode('utf-8', 'replace')).decode()}"
