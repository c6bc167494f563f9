"""The Firecrawl service to use, and its key."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from agentic.core.actors import ActorContext, ActorError
from agentic.core.errors import SettingsError
from agentic.core.masking import Masker

CLOUD_URL = "https://api.firecrawl.dev"
KEY_SECRET = "firecrawl_api_key"  # noqa: S105 - the name of a secret

ServiceUrl = Annotated[str, StringConstraints(pattern=r"^https?://[^\s?#@]+$")]


class FirecrawlSettings(BaseSettings):
    """What the environment says of Firecrawl: ``AGENTIC_FIRECRAWL_URL``."""

    model_config = SettingsConfigDict(env_prefix="AGENTIC_FIRECRAWL_", frozen=True, extra="ignore")

    url: ServiceUrl = Field(default=CLOUD_URL, description="Default Firecrawl URL for steps without one.")


class ServiceInput(BaseModel):
    """Which Firecrawl a step asks."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, hide_input_in_errors=True)

    api_url: ServiceUrl | None = Field(
        default=None, description="URL of your own Firecrawl; default: AGENTIC_FIRECRAWL_URL, else the cloud."
    )
    api_key: SecretStr | None = Field(
        default=None,
        description=f"Write ${{secrets.NAME}}; the cloud gets the secret {KEY_SECRET} by default.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A Firecrawl service: its address, and its key, or ""."""

    url: str
    key: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        """The host whose limits count."""
        return urlsplit(self.url).netloc.lower()

    @property
    def is_cloud(self) -> bool:
        """Whether it is the paid cloud service."""
        return self.url.lower().rstrip("/") == CLOUD_URL

    def hide(self, text: str) -> str:
        """Return ``text`` without the key, in any spelling of the service."""
        return Masker.of([self.key]).text(text, "***")


async def service_of(ctx: ActorContext, given: ServiceInput) -> Service:
    """Return the service of a step; the stored key is only sent to the cloud.

    Raises:
        SettingsError: AGENTIC_FIRECRAWL_URL is not a URL.
        ActorError: The cloud needs a key, but it is missing or invalid (``auth_required``).
    """
    service = place_of(given)
    key = given.api_key
    if key is None and service.is_cloud:
        key = await ctx.secrets.secret(KEY_SECRET)
    return replace(service, key=_usable(key)) if key else service


def place_of(given: ServiceInput) -> Service:
    """Return the service without its key.

    Raises:
        SettingsError: AGENTIC_FIRECRAWL_URL is not a URL.
    """
    return Service(url=given.api_url or _configured_url())


def _usable(key: SecretStr) -> str:
    # A key from a file ends with a line break, which headers must not contain.
    text = key.get_secret_value().strip()
    if text.isascii() and text.isprintable():
        return text
    message = "the key to Firecrawl has invalid characters; store it again, or correct api_key"
    raise ActorError(message, failure_class="auth_required")


def _configured_url() -> str:
    try:
        return FirecrawlSettings().url
    except ValidationError:
        raise SettingsError(
            "AGENTIC_FIRECRAWL_URL is not an http:// or https:// URL; correct or unset it"
        ) from None
