"""Policy for polite and safe fetching."""

from __future__ import annotations

import hashlib
import re
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    field_serializer,
    field_validator,
    model_validator,
)

from agentic.core.secret_names import SECRET_NAME, secret_name_fault
from agentic.core.settings import load_settings

Rotation = Literal["round_robin", "random", "sticky_host"]
PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")
SECRET = re.compile(rf"\$\{{secrets\.({SECRET_NAME})\}}")


class CachePolicy(BaseModel):
    """Which answers are kept: with a validator (``ETag``, ``Last-Modified``), or all of them by age."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_age_s: NonNegativeFloat = Field(
        default=0, description="Younger answers are used without a request. 0: always revalidate."
    )
    max_body_bytes: PositiveInt = Field(
        default=2 * 1024 * 1024, description="Larger bodies (unpacked) are not cached."
    )


class HttpPolicy(BaseModel):
    """Limits and politeness of a :class:`~agentic.core.http.Fetcher`.

    Private, loopback, link-local and multicast addresses are refused on every hop, under any name, unless
    ``allow_private_hosts`` names the host as written in the URL.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    user_agent: str = Field(
        default_factory=lambda: load_settings().user_agent,
        pattern=r"^[\x20-\x7e]+$",
        description="Sent with every request and matched in robots.txt.",
    )
    timeout_s: PositiveFloat = Field(
        default=30, description="Time limit of one fetch with all its redirects, without waits."
    )
    max_bytes: PositiveInt = Field(default=10 * 1024 * 1024, description="Largest body, after decompression.")
    max_redirects: NonNegativeInt = 10
    allow_private_hosts: tuple[str, ...] = Field(default=(), description='"host" (any port) or "host:port".')
    obey_robots: bool = True
    requests_per_second: PositiveFloat | None = Field(
        default=None, description="Rate limit per host. None: no limit of our own."
    )
    max_connections_per_host: PositiveInt = 16
    transport: Literal["aiohttp", "httpx2", "curl_cffi"] = Field(
        default="aiohttp", description="Client library; the others are extras: `httpx2` and `curl`."
    )
    proxy: SecretStr | None = Field(
        default=None,
        description="http://, https:// or, with curl_cffi, socks5:// URL for all requests, or "
        "${secrets.NAME}. The proxy resolves names, so private addresses are not detected here.",
    )
    proxies: tuple[SecretStr, ...] = Field(
        default=(),
        max_length=1_000,
        description="Several proxies, as in `proxy`, or ${secrets.NAME} of a secret with one URL per line.",
    )
    rotation: Rotation = Field(
        default="round_robin",
        description="Which of the `proxies` a request takes: the next one, any one, or the same one for all "
        "requests to a site. Logins keep theirs in any case.",
    )
    cookies: bool = Field(
        default=True,
        description="Whether the cookies of a site are sent back to it during a run. Logins keep their own.",
    )
    cache: Literal["off", "revalidate"] | CachePolicy = Field(
        default="off",
        description="Whether answers are cached and revalidated instead of fetched again.",
    )
    max_wait_s: PositiveFloat = Field(
        default=120,
        description="Longest wait for a host (Retry-After, Crawl-delay, requests_per_second). A fetch that "
        "needs a longer one fails at once.",
    )

    @property
    def proxy_secret(self) -> str | None:
        """Name of the secret that holds the proxy's URL, if ``proxy`` is ``${secrets.NAME}``."""
        return secret_in(self.proxy) if self.proxy else None

    @property
    def proxy_id(self) -> str:
        """Unique name of the proxy that reveals nothing about it; "" without one."""
        return id_of_proxy(self.proxy) if self.proxy else ""

    @property
    def caching(self) -> CachePolicy | None:
        """The cache policy; None without a cache."""
        if isinstance(self.cache, CachePolicy):
            return self.cache
        return CachePolicy() if self.cache == "revalidate" else None

    @field_serializer("proxy")
    def _shown_proxy(self, proxy: SecretStr | None) -> str | None:
        return _shown(proxy) if proxy else None

    @field_serializer("proxies")
    def _shown_proxies(self, proxies: tuple[SecretStr, ...]) -> list[str]:
        return [_shown(proxy) for proxy in proxies]

    @field_validator("proxies", mode="before")
    @classmethod
    def _listed(cls, given: object) -> object:
        return (given,) if isinstance(given, str | SecretStr) else given

    @field_validator("proxies")
    @classmethod
    def _known_proxies(cls, proxies: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        for proxy in proxies:
            cls._known_proxy(proxy)
        if len({proxy.get_secret_value() for proxy in proxies}) < len(proxies):
            raise ValueError("one of them is there twice")
        return proxies

    @field_validator("allow_private_hosts")
    @classmethod
    def _plain_hosts(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        for entry in entries:
            if not entry or any(mark in entry for mark in "/@?# "):
                raise ValueError(f"{entry!r} is not a host; write it as 'localhost' or '127.0.0.1:8000'")
        return tuple(entry.lower() for entry in entries)

    @field_validator("proxy")
    @classmethod
    def _known_proxy(cls, proxy: SecretStr | None) -> SecretStr | None:
        if proxy is None:
            return None
        if named := SECRET.fullmatch(proxy.get_secret_value()):
            if fault := secret_name_fault(named[1]):
                raise ValueError(f"{named[1]!r} is not a valid secret name: {fault}")
            return proxy
        try:
            parts = urlsplit(proxy.get_secret_value())
            is_complete = bool(parts.hostname and parts.port and parts.scheme in PROXY_SCHEMES)
        except ValueError:
            is_complete = False
        if not is_complete:
            raise ValueError(
                "it is not a proxy URL; write it as 'http://user:password@host:3128' or 'socks5://host:1080'"
            )
        return proxy

    @model_validator(mode="after")
    def _usable_proxy(self) -> Self:
        if self.proxy is not None and self.proxies:
            raise ValueError("proxy and proxies exclude each other; put the proxy into the list")
        given = [self.proxy, *self.proxies] if self.proxy else self.proxies
        is_socks = any(proxy.get_secret_value().startswith("socks") for proxy in given)
        if is_socks and self.transport != "curl_cffi":
            raise ValueError(
                f"{self.transport} does not support socks5 proxies; set transport to 'curl_cffi'"
            )
        return self


def secret_in(proxy: SecretStr) -> str | None:
    """Return the name of the secret that ``proxy`` refers to; None for a URL."""
    found = SECRET.fullmatch(proxy.get_secret_value())
    return found[1] if found else None


def id_of_proxy(proxy: SecretStr, place: int = 0) -> str:
    """Return a unique name of a proxy that reveals nothing about it.

    Args:
        proxy: Its URL, or a reference to a secret.
        place: Its place in the list of that secret.
    """
    text = proxy.get_secret_value()
    if secret_in(proxy) is None:  # without the password: its hash could reveal a short one
        parts = urlsplit(text)
        text = f"{parts.scheme}://{parts.username or ''}@{parts.hostname}:{parts.port}"
    elif place:
        text = f"{text} {place}"
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _shown(proxy: SecretStr) -> str:
    return proxy.get_secret_value() if secret_in(proxy) else str(proxy)
