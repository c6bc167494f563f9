"""The ways to log in: what each needs, in a pipeline's config or in a stored secret."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Secret,
    SecretStr,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from agentic.core.actors import ActorError
from agentic.core.types import JSONValue
from agentic.plugins.web.login.cookies import read_text
from agentic.plugins.web.reading.selectors import Selector

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_HOST = re.compile(r"[^\s/@?#]+")


def _fit_for_header(secret: SecretStr) -> SecretStr:
    value = secret.get_secret_value()
    if not value or not value.isascii() or not value.isprintable():
        raise ValueError("it is empty, or has characters that are invalid in a header")
    return secret


def _header_name(name: str) -> str:
    if _HEADER.fullmatch(name) is None:
        raise ValueError("it is not a header name")
    return name


def _plain_hosts(hosts: tuple[str, ...]) -> tuple[str, ...]:
    if not all(map(_HOST.fullmatch, hosts)):
        raise ValueError("a host is written as example.org or example.org:8443, without scheme and path")
    return hosts


HeaderSecret = Annotated[SecretStr, AfterValidator(_fit_for_header)]
Hosts = Annotated[
    tuple[str, ...],
    Field(min_length=1, description="Target host: `host` for any port, or `host:port`."),
    AfterValidator(_plain_hosts),
]
SecretJson = Annotated[Secret[JSONValue], BeforeValidator(read_text)]


class _Login(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class BearerLogin(_Login):
    """A token in a header. Another header than ``Authorization`` has it without the word ``Bearer``."""

    strategy: Literal["bearer"] = "bearer"
    token: HeaderSecret
    hosts: Hosts
    header: Annotated[str, AfterValidator(_header_name)] = "Authorization"


class BasicLogin(_Login):
    """User name and password in each request (RFC 7617)."""

    strategy: Literal["basic"] = "basic"
    username: SecretStr
    password: SecretStr
    hosts: Hosts


class OAuth2Login(_Login):
    """An access token, fetched for a client or for a refresh token (RFC 6749, 4.4 and 6)."""

    strategy: Literal["oauth2"] = "oauth2"
    token_url: str
    client_id: SecretStr
    client_secret: SecretStr | None = None
    scope: str | None = None
    grant: Literal["client_credentials", "refresh_token"] = "client_credentials"
    refresh_token: SecretStr | None = Field(
        default=None, description="The first refresh token; later ones are stored with the session."
    )
    client_auth: Literal["basic", "form"] = Field(
        default="basic", description="How the client identifies itself: HTTP basic, or form fields."
    )
    hosts: Hosts | None = Field(
        default=None, description="Host that gets the token; default: the host of token_url."
    )

    @model_validator(mode="after")
    def _can_be_granted(self) -> OAuth2Login:
        if self.grant == "refresh_token" and self.refresh_token is None:
            raise ValueError("grant: refresh_token needs a refresh_token")
        return self


class FormLogin(_Login):
    """A form that is filled in and sent. Its other fields, hidden ones too, are sent as they are.

    Without any mark of success or failure, the login counts as refused if its form is there again.
    """

    strategy: Literal["form"] = "form"
    login_url: str
    fields: dict[str, SecretStr] = Field(min_length=1, description="Name of a form field -> its value.")
    form_selector: Selector | None = Field(
        default=None, description="CSS selector of the form; default: the first form with all fields."
    )
    success: Selector | None = Field(default=None, description="Selector that matches after a login.")
    success_url: str | None = Field(default=None, description="Glob of the URL after a login.")
    failure: Selector | None = Field(default=None, description="Selector that matches after a refusal.")
    via: Literal["http", "browser"] = Field(
        default="http", description="browser: for forms made or sent by scripts."
    )


class CookiesLogin(_Login):
    """Cookies of a login made elsewhere: a list as of Playwright, or the text of a Netscape file."""

    strategy: Literal["cookies"] = "cookies"
    cookies: SecretJson


class StorageStateLogin(_Login):
    """Cookies and local storage of a login made in a browser: Playwright's ``storage_state``."""

    strategy: Literal["storage_state"] = "storage_state"
    storage_state: SecretJson


Login = Annotated[
    BearerLogin | BasicLogin | OAuth2Login | FormLogin | CookiesLogin | StorageStateLogin,
    Field(discriminator="strategy"),
]

_LOGIN: TypeAdapter[Login] = TypeAdapter(Login)


def read_login(name: str, secret: SecretStr) -> Login:
    """Return the login that a secret holds as JSON.

    Raises:
        ActorError: It holds none (``schema_invalid``); no value of it is quoted.
    """
    try:
        return _LOGIN.validate_json(secret.get_secret_value())
    except ValidationError as exc:
        faults = [_fault(error["type"], error["loc"], error["msg"]) for error in exc.errors()]
    raise ActorError(
        f"the secret {name!r} is not a login: {'; '.join(faults)}; store it again with `agentic secrets "
        f"set {name}`",
        failure_class="schema_invalid",
    )


def _fault(kind: str, place: Sequence[int | str], message: str) -> str:
    """Say what is wrong and where; messages of pydantic about tags quote what was given."""
    said = "it is not a known one" if kind == "union_tag_invalid" else message
    where = "strategy" if kind.startswith("union_tag") else ".".join(map(str, place))
    return f"{where}: {said}" if where else said
