"""Cookies: which a site may set and which it gets back, by the rules of the standard library's jar.

The jar ignores public suffixes, and a site can delete the cookies of another one; both are checked here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from http.client import HTTPResponse
from http.cookiejar import Cookie, DefaultCookiePolicy
from http.cookiejar import CookieJar as StandardJar
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, cast
from urllib.parse import urlsplit
from urllib.request import Request

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from agentic.core.http.errors import HttpError
from agentic.core.http.urls import without_credentials
from agentic.core.types import JSONValue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from publicsuffixlist import PublicSuffixList

SESSION_ENDS = -1.0  # Playwright's value for a cookie that lasts as long as the session
LOCAL = ".local"  # what the standard library appends to names without a dot
MAX_COOKIES = 1_000  # a hostile site may set any number; browsers keep 180 per site
MAX_CHARACTERS = 8_192  # of one field; browsers accept 4,096
MAX_TIME_CHARACTERS = 64  # of an age or a date; the standard library turns longer ones into huge numbers


class InvalidCookieError(HttpError, ValueError):
    """Stored cookies cannot be read."""

    def __init__(self, faults: str) -> None:
        super().__init__(
            f"the cookies cannot be read: {faults}; give a list of objects with name, value, domain and path "
            f"as in the storage state of a browser"
        )


class CookieJar:
    """The cookies of one session, for the hosts and paths that may have them (RFC 6265).

    A cookie marked ``Secure`` is sent only over https, an expired one never. A site cannot set one for the
    domain of another, or for a domain that several sites share (``co.uk``, ``github.io``). Thread-safe.
    """

    __slots__ = ("_jar",)

    def __init__(self) -> None:
        self._jar = StandardJar(
            DefaultCookiePolicy(
                # By default it sends a host's own cookies to its subdomains.
                strict_ns_domain=DefaultCookiePolicy.DomainStrictNonDomain,
                strict_domain=True,
            )
        )

    def header_for(self, url: str) -> str | None:
        """Return the ``Cookie`` field for a request to ``url``; None if no cookie matches."""
        request = _asked(url)
        self._jar.add_cookie_header(request)
        return request.get_header("Cookie")

    def store(self, url: str, set_cookies: Sequence[str]) -> None:
        """Store the ``Set-Cookie`` fields from ``url`` that it may set."""
        parts = urlsplit(url)
        host, is_safe = parts.hostname or "", parts.scheme == "https"
        plain = [line for line in set_cookies if _is_plain(line) and _keeps_its_name(line, is_safe=is_safe)]
        fields = [own for line in plain if (own := _own_part(line, host)) is not None]
        if fields and len(self) < MAX_COOKIES:
            asked = _asked(url)
            for one in fields:  # the library would delete cookies before it sets any
                # Its rules need only these two calls of an answer.
                self._jar.extract_cookies(cast(HTTPResponse, _Answer([one])), asked)

    def to_data(self) -> list[JSONValue]:
        """Return the cookies as data: the fields that Playwright's ``storage_state`` has. They are secret."""
        self._jar.clear_expired_cookies()
        return [_data_of(cookie) for cookie in self._jar]

    @classmethod
    def from_data(cls, data: JSONValue) -> Self:
        """Return a jar with the cookies of :meth:`to_data`, or of a browser's storage state.

        Cookies for a whole public suffix are dropped.

        Raises:
            InvalidCookieError: An item is not a cookie; values are not shown.
        """
        try:
            cookies = _COOKIES.validate_python(data)
        except ValidationError as exc:
            raise InvalidCookieError("; ".join(map(_fault, exc.errors(include_input=False)))) from None
        made = cls()
        for cookie in cookies:
            if not (cookie.domain.startswith(".") and is_public_suffix(cookie.domain[1:].lower())):
                made._jar.set_cookie(cookie.restored())
        return made

    def __len__(self) -> int:
        return len(self._jar)

    def __repr__(self) -> str:
        return f"CookieJar({len(self)} cookies)"


class _Answer:
    """The answer from which the standard library reads ``Set-Cookie`` fields."""

    def __init__(self, fields: list[str]) -> None:
        self._fields = fields

    def info(self) -> Self:
        return self

    def get_all(self, name: str, default: list[str]) -> list[str]:
        return self._fields if name == "Set-Cookie" else default


class _CookieData(BaseModel):
    """A cookie as browsers save it; their other fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str = Field(pattern=r"^[^\x00-\x20;=\x7f]+$")
    value: str = Field(pattern=r"^[^\x00-\x1f;\x7f]*$")
    domain: str = Field(pattern=r"^[^\x00-\x20;/\x7f]+$")
    path: str = Field(default="/", pattern=r"^/[^\x00-\x1f;\x7f]*$")
    expires: float = SESSION_ENDS
    httpOnly: bool = False  # noqa: N815 - the browser's name
    secure: bool = False
    sameSite: Literal["Lax", "None", "Strict"] = "Lax"  # noqa: N815 - the browser's name

    def restored(self) -> Cookie:
        domain = self.domain.lower()
        rest = {"SameSite": self.sameSite} | ({"HttpOnly": ""} if self.httpOnly else {})
        is_lasting = self.expires >= 0
        return Cookie(
            version=0,
            name=self.name,
            value=self.value,
            port=None,
            port_specified=False,
            domain=domain if "." in domain else domain + LOCAL,
            domain_specified=domain.startswith("."),
            domain_initial_dot=domain.startswith("."),
            path=self.path,
            path_specified=True,
            secure=self.secure,
            expires=int(self.expires) if is_lasting else None,
            discard=not is_lasting,
            comment=None,
            comment_url=None,
            rest=rest,
        )


_COOKIES = TypeAdapter(list[_CookieData])


def _asked(url: str) -> Request:
    return Request(without_credentials(url))  # noqa: S310 - never opened; the rules read host and path


def _is_plain(line: str) -> bool:
    """Whether a field can be sent back and stored: no lone surrogate, no control character."""
    return len(line) <= MAX_CHARACTERS and all(mark >= " " and not _is_surrogate(mark) for mark in line)


def _keeps_its_name(line: str, *, is_safe: bool) -> bool:
    """Whether a field may set a cookie of this name (RFC 6265bis, 4.1.3).

    ``__Secure-`` means that it came over https, ``__Host-`` also that no other host of the site set it.
    """
    first, *rest = line.split(";")
    name = first.partition("=")[0].strip().lower()
    if not name.startswith(("__secure-", "__host-")):
        return True
    attributes = dict(map(_attribute, rest))  # of two with the same name, the last counts
    if not (is_safe and "secure" in attributes):
        return False
    return not name.startswith("__host-") or ("domain" not in attributes and attributes.get("path") == "/")


def _own_part(line: str, host: str) -> str | None:
    """Return the part of a field that ``host`` may set (RFC 6265, 5.3); None for other domains.

    A host that is itself a public suffix may have cookies, but only for itself.
    """
    first, *rest = line.split(";")
    parts = [first, *(part for part in rest if not _is_ignored(part))]
    named = [value for name, value in map(_attribute, parts[1:]) if name == "domain"]
    domains = list(filter(None, named))  # an empty one is ignored
    if not all(host == domain or host.endswith(f".{domain}") for domain in domains):
        return None
    if any(map(is_public_suffix, domains)) and set(domains) != {host}:
        return None
    if domains == named and not any(map(is_public_suffix, domains)):
        return ";".join(parts)
    return ";".join([parts[0], *(part for part in parts[1:] if _attribute(part)[0] != "domain")])


def _is_ignored(part: str) -> bool:
    """Whether browsers ignore an attribute, where the standard library drops its cookie."""
    name, _, value = (text.strip() for text in part.partition("="))
    match name.lower():
        case "path":
            return not value.startswith("/")
        case "max-age":
            return len(value) > MAX_TIME_CHARACTERS or not value.removeprefix("-").isdecimal()
        case _:
            return name.lower() == "expires" and len(value) > MAX_TIME_CHARACTERS


def _attribute(part: str) -> tuple[str, str]:
    """Return name and value of an attribute; a domain without the leading dot of old sites."""
    name, _, value = part.partition("=")
    return name.strip().lower(), value.strip().strip('"').removeprefix(".").lower()


def _is_surrogate(mark: str) -> bool:
    return "\ud800" <= mark <= "\udfff"


def _fault(error: ErrorDetails) -> str:
    return f"{'.'.join(map(str, error['loc'])) or 'all'}: {error['msg']}"


def _data_of(cookie: Cookie) -> JSONValue:
    same_site = str(cookie.get_nonstandard_attr("SameSite") or "").capitalize()
    return {
        "name": cookie.name,
        "value": cookie.value or "",
        "domain": cookie.domain.removesuffix(LOCAL) if cookie.domain.count(".") == 1 else cookie.domain,
        "path": cookie.path,
        "expires": SESSION_ENDS if cookie.expires is None else float(cookie.expires),
        "httpOnly": cookie.has_nonstandard_attr("HttpOnly"),
        "secure": cookie.secure,
        "sameSite": same_site if same_site in ("Lax", "None", "Strict") else "Lax",
    }


@lru_cache(maxsize=4_096)  # called for each cookie of a domain, with each request
def is_public_suffix(domain: str) -> bool:
    """Whether ``domain`` is a public suffix: others are registered under it.

    Args:
        domain: In punycode; a top-level domain that is not in the list is one, too.
    """
    return _known().is_public(domain)


def registered_domain(url: str) -> str:
    """Return the domain below a public suffix that the host of ``url`` belongs to; without one, the host."""
    return _domain_of(urlsplit(url).hostname or "")


@lru_cache(maxsize=4_096)
def _domain_of(host: str) -> str:
    if "." not in host or host.replace(".", "").isdigit():
        return host
    return _known().privatesuffix(host) or host


@cache
def _known() -> PublicSuffixList:
    from publicsuffixlist import PSLFILE, PublicSuffixList  # loaded by the first cookie with a domain

    # The library would encode all its rules, which takes a quarter of a second.
    lines = Path(PSLFILE).read_text(encoding="utf-8").splitlines()
    return PublicSuffixList("\n".join(_encoded(lines)), accept_encoded_idn=False)


def _encoded(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if line.isascii():
            yield line
        elif not line.startswith("//"):
            yield line.strip().encode("idna").decode("ascii")
