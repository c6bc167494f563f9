"""Access tokens of Reddit, from its four grants."""

from __future__ import annotations

import asyncio
import time
from base64 import b64encode
from collections.abc import Awaitable, Callable
from urllib.parse import urlencode, urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from agentic.core.http import FetchError, HttpRequest, HttpResponse, HttpSession
from agentic.core.http.api import Connect
from agentic.core.http.policy import SECRET
from agentic.core.masking import mask_known, remember_secrets
from agentic.plugins.reddit.errors import CredentialsError
from agentic.plugins.reddit.settings import RedditSettings

Secret = Callable[[str], Awaitable[SecretStr]]

INSTALLED_GRANT = "https://oauth.reddit.com/grants/installed_client"
EARLY_S = 60.0
"""A token is replaced this long before it expires."""


class _Granted(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    access_token: SecretStr = Field(min_length=1)
    expires_in: float = Field(default=3_600, ge=0, le=10 * 366 * 86_400)


class TokenKeeper:
    """Keeps the token of an agent in this process, and gets a new one when it expires.

    Args:
        settings: Credentials and addresses.
        connect: Returns the fetcher.
        secrets: Returns a secret by name.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        settings: RedditSettings,
        connect: Connect,
        secrets: Secret,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._connect = connect
        self._secrets = secrets
        self._clock = clock
        self._gate = asyncio.Lock()
        self._kept: tuple[HttpSession, float] | None = None

    async def session(self, *, refused: HttpSession | None = None) -> HttpSession:
        """Return the session with the token.

        Args:
            refused: The previous session, if it is no longer valid.

        Raises:
            CredentialsError: These credentials do not give a token.
            FetchError: The answer did not come.
            UnknownSecretError: A named secret does not exist.
        """
        async with self._gate:
            if self._kept is None or self._kept[0] is refused or self._kept[1] <= self._clock():
                self._kept = await self._new()
            return self._kept[0]

    async def _new(self) -> tuple[HttpSession, float]:
        asked_at = self._clock()
        granted = self._read(await self._ask())
        remember_secrets(granted.access_token.get_secret_value())
        session = HttpSession(
            name=self._settings.account,
            hosts=frozenset({urlsplit(self._settings.base_url).netloc.lower()}),
            headers={"authorization": SecretStr(f"bearer {granted.access_token.get_secret_value()}")},
        )
        return session, asked_at + max(granted.expires_in - EARLY_S, granted.expires_in / 2)

    async def _ask(self) -> HttpResponse:
        settings = self._settings
        pair = f"{await self._value(settings.client_id)}:{await self._value(settings.client_secret)}"
        client = HttpSession(
            name=settings.account,
            hosts=frozenset({urlsplit(settings.api_url).netloc.lower()}),
            headers={"authorization": SecretStr(f"Basic {b64encode(pair.encode()).decode()}")},
        )
        request = HttpRequest(
            url=f"{settings.api_url.rstrip('/')}/api/v1/access_token",
            method="POST",
            headers={"accept": "application/json", "content-type": "application/x-www-form-urlencoded"},
            body=urlencode(await self._form()).encode(),
            session=client,
            stays_at_origin=True,
        )
        try:
            async with self._connect() as fetcher:
                return await fetcher.fetch(request)
        except FetchError as exc:
            if exc.status not in (400, 401):
                raise
            raise CredentialsError(settings.grant, "it refuses client_id and client_secret") from None

    async def _form(self) -> dict[str, str]:
        settings = self._settings
        match settings.grant:
            case "client_credentials":
                return {"grant_type": settings.grant}
            case "password":
                who = {"username": settings.username, "password": settings.password}
                return {"grant_type": settings.grant, **{k: await self._value(v) for k, v in who.items()}}
            case "refresh_token":
                token = await self._value(settings.refresh_token)
                return {"grant_type": settings.grant, "refresh_token": token}
            case "installed_client":
                return {"grant_type": INSTALLED_GRANT, "device_id": settings.device_id}

    async def _value(self, given: str | None) -> str:
        """Return a setting, or its named secret; a value from a file ends with a line break."""
        found = SECRET.fullmatch(given) if given else None
        return (await self._secrets(found[1])).get_secret_value().strip() if found else given or ""

    def _read(self, response: HttpResponse) -> _Granted:
        content = response.json()
        # Refusals have status 200.
        if isinstance(content, dict) and isinstance(error := content.get("error"), str | int):
            raise CredentialsError(
                self._settings.grant, f"it says {mask_known(repr(error)):.100}; see the agent's credentials"
            )
        try:
            granted = _Granted.model_validate(content)
        except ValidationError:
            granted = None
        token = granted.access_token.get_secret_value() if granted else ""
        if granted is None or not token.isascii() or not token.isprintable():
            raise CredentialsError(self._settings.grant, "its answer has no token; check api_url")
        return granted
