"""Finds secrets in texts, in any form that programs write, and masks them."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from urllib.parse import quote, unquote

from agentic.core.linear import LinearPattern
from agentic.core.types import JSONValue

MASK = "**********"
# Shorter values are not secrets, and masking each "no" or "1" would make a message unreadable.
MIN_SECRET_CHARS = 4
# Base64 of fewer characters would be found by chance.
MIN_BASE64_CHARS = 8
# A secret recognized only by its name must be longer: "token: none" has none.
MIN_GUESSED_CHARS = 6
MAX_KNOWN = 1_000

_PLAIN = re.compile(r"[A-Za-z0-9]+")
_TELLING = re.compile(
    r"token|secret|passw|passphrase|pwd|api[-_]?key|access[-_]?key|private[-_]?key|authorization|"
    r"^auth$|^cookie$|signature|jwt|bearer",
    re.IGNORECASE,
)
_NOT_TELLING = re.compile(r"(url|uri|type|name|selector|header|limit|count|field)s?$", re.IGNORECASE)
_USER_INFO = LinearPattern(r"\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@]*:([^\s@]+)@", ignore_case=True)
_PARAM = LinearPattern(r"[?&;]([A-Za-z0-9_.\-]{1,60})=([^&;#\s\"'<>]+)")
_SHORT_NAMES = frozenset({"key", "sig", "sid", "auth", "session"})
_DRAWN = LinearPattern("[A-Za-z0-9_.~%-]*[0-9][A-Za-z0-9_.~%-]*")
MIN_DRAWN_CHARS = 16
_SCHEME = LinearPattern(r"(?:bearer|basic|token|apikey)\s+(\S.*)", ignore_case=True)


@dataclass(frozen=True, slots=True)
class Masker:
    """Masks secrets everywhere, also in the forms of JSON, ``repr``, HTML, URLs and base64."""

    secrets: tuple[str, ...] = ()

    @classmethod
    def of(cls, secrets: Iterable[str]) -> Masker:
        """Return a masker for the texts that are long enough to be secrets, the longest first."""
        return cls(tuple(sorted({one for one in secrets if len(one) >= MIN_SECRET_CHARS}, key=_order)))

    def joined(self, secrets: Iterable[str]) -> Masker:
        """Return a masker that knows these, too."""
        return Masker.of((*self.secrets, *secrets))

    def text(self, text: str, mask: str = MASK) -> str:
        """Return ``text`` with each secret masked."""
        for secret in self.secrets:
            text = _finder(secret).masked(text, mask)
        return text

    def data(self, value: JSONValue, mask: str = MASK) -> JSONValue:
        """Return JSON data with each secret masked, in keys too."""
        if not self.secrets:
            return value
        match value:
            case str():
                return self.text(value, mask)
            case list():
                return [self.data(item, mask) for item in value]
            case dict():
                return {self.text(key, mask): self.data(item, mask) for key, item in value.items()}
        return value


def parts_of(secret: str) -> Iterator[str]:
    """Yield a secret, and the secrets inside it: the password of a URL, secret fields of JSON."""
    yield secret
    yield from passwords_in(secret)
    if secret.lstrip().startswith(("{", "[")):
        try:
            yield from guessed_secrets(json.loads(secret))
        except (ValueError, RecursionError):
            return


@lru_cache(maxsize=2 * MAX_KNOWN)
def _parts(secret: str) -> tuple[str, ...]:
    """Like :func:`parts_of`, but cached: a token is read again for each of its requests."""
    return tuple(parts_of(secret))


def passwords_in(text: str) -> Iterator[str]:
    """Yield the passwords of the URLs in a text, as written and decoded."""
    for found in _USER_INFO.finditer(text):
        if "${" not in found[1]:
            yield found[1]
            yield unquote(found[1])


def telling_params(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and value, as written, of the secret parameters of URLs in a text.

    They have a secret name, or a short form of one (``key``, ``sig``) and a random-looking value.
    """
    if "=" not in text or "?" not in text:
        return
    for found in _PARAM.finditer(text):
        name, value = found[1], found[2]
        is_short = name.lower() in _SHORT_NAMES and len(value) >= MIN_DRAWN_CHARS and _DRAWN.matches(value)
        if "${" not in value and (is_short or (is_telling(name) and len(value) >= MIN_GUESSED_CHARS)):
            yield name, value


def guessed_secrets(value: JSONValue, name: str = "") -> Iterator[str]:
    """Yield the texts in JSON data that look like secrets.

    These are the values of secret names (``api_key``, ``password``, ``Authorization``), also as parameters of
    URLs, and the passwords of URLs. References to stored secrets (``${secrets.NAME}``) are not secrets.
    """
    match value:
        case str():
            yield from passwords_in(value)
            for _, param in telling_params(value):
                yield from dict.fromkeys((param, unquote(param)))
            if is_telling(name) and len(value) >= MIN_GUESSED_CHARS and "${" not in value:
                yield value
                if scheme := _SCHEME.fullmatch(value):
                    yield scheme[1]
        case list():
            for part in value:
                yield from guessed_secrets(part, name)
        case dict():
            for key, part in value.items():
                yield from guessed_secrets(part, key)


def told(value: JSONValue) -> JSONValue:
    """Return JSON data for display: values that look like secrets are masked."""
    return Masker.of(part for secret in guessed_secrets(value) for part in parts_of(secret)).data(value)


@lru_cache(maxsize=512)
def is_telling(name: str) -> bool:
    """Whether a value with this name looks like a secret."""
    return _TELLING.search(name) is not None and _NOT_TELLING.search(name) is None


class KnownSecrets:
    """Secrets that were read; above the limit, the least recently read are forgotten.

    Args:
        limit: How many are kept.

    Attributes:
        masker: Masks them.
    """

    def __init__(self, limit: int = MAX_KNOWN) -> None:
        self._limit = limit
        self._order: dict[str, None] = {}
        self._lock = Lock()
        self.masker = Masker()

    def add(self, secrets: Iterable[str]) -> None:
        """Add secrets, and also the ones in their URLs and JSON."""
        parts = dict.fromkeys(part for secret in secrets for part in _parts(secret))
        with self._lock:
            is_new = not parts.keys() <= self._order.keys()
            for part in parts:
                self._order.pop(part, None)
            self._order |= parts
            if is_new:
                self._order = dict.fromkeys([*self._order][-self._limit :])
                self.masker = Masker.of(self._order)


_known = KnownSecrets()
_passing = KnownSecrets()
_filled = KnownSecrets()
_learner: ContextVar[KnownSecrets | None] = ContextVar("agentic_learner", default=None)


def remember_secrets(*secrets: str) -> None:
    """Mask secrets from now on in all records of this process.

    These are logs, stored errors and warnings, events, audit and dead letters. Code that reads a secret or
    gets a token must call this at once; the secret stores of this project, the fetcher and the settings do.
    """
    _known.add(secrets)
    if (learner := _learner.get()) is not None:
        learner.add(secrets)


def remember_passing(*secrets: str) -> None:
    """Like :func:`remember_secrets`, for short-lived secrets such as cookies: they replace no other kind."""
    _passing.add(secrets)
    if (learner := _learner.get()) is not None:
        learner.add(secrets)


def remember_filled(*secrets: str) -> None:
    """Make secrets of a pipeline step known to :func:`has_secret`; the step masks its own messages."""
    _filled.add(secrets)


def has_secret(text: str) -> bool:
    """Whether ``text`` contains a secret that this process has read, in any form."""
    return mask_known(text) != text or _filled.masker.text(text) != text


@contextmanager
def learning(learner: KnownSecrets | None) -> Iterator[None]:
    """Add the secrets that are remembered within the ``with`` to ``learner``, too."""
    token = _learner.set(learner)
    try:
        yield
    finally:
        _learner.reset(token)


def mask_known(text: str) -> str:
    """Return ``text`` without the secrets that this process has read."""
    return _passing.masker.text(_known.masker.text(text))


def masked_data(data: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    """Return JSON data without the secrets that this process has read; its keys stay unchanged."""
    return {name: _passing.masker.data(_known.masker.data(value)) for name, value in data.items()}


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds one secret.

    Attributes:
        secret: The secret.
        marker: Text in every form except base64; searched first, because that is fast.
        encoded: Its base64 digits that are the same for every start position.
    """

    secret: str = field(repr=False)
    marker: str = field(repr=False)
    encoded: tuple[str, ...] = field(repr=False)

    def masked(self, text: str, mask: str) -> str:
        if self.marker in text:
            text = _pattern(self.secret).sub(mask, text)
        for form in self.encoded:
            if form in text:
                text = text.replace(form, mask)
        return text


@lru_cache(maxsize=2 * MAX_KNOWN)
def _finder(secret: str) -> _Finder:
    marker = max(_PLAIN.findall(secret), key=len, default="")
    encoded = tuple(dict.fromkeys(_in_base64(secret))) if len(secret) >= MIN_BASE64_CHARS else ()
    return _Finder(secret, marker, encoded)


@lru_cache(maxsize=2 * MAX_KNOWN)
def _pattern(secret: str) -> LinearPattern:
    """Return all its forms except base64. Compiling takes milliseconds, and most are never found."""
    return LinearPattern("".join(map(_forms, secret)))


@lru_cache(maxsize=512)
def _forms(character: str) -> str:
    """Return a pattern of one character, unchanged and as encoders write it."""
    if _PLAIN.fullmatch(character):
        return character
    percent = quote(character, safe="") if not _is_lone(character) else character
    forms = [percent, percent.replace("%", "%25"), html.escape(character), json.dumps(character)[1:-1]]
    forms += [repr(character)[1:-1], ascii(character)[1:-1]]
    # quote() leaves these as they are; others do not.
    if character in "-_.~":
        forms.append(f"%{ord(character):02X}")
    if character == "'":
        forms += ["&#39;", "&apos;"]
    if character == '"':
        forms.append("&#34;")
    if character == " ":
        forms += ["+", "%2B"]
    own = r"\\+" if character == "\\" else rf"\\*{re.escape(character)}"
    # The longest first: in doubly encoded text, masking the inner form would leave the end of the outer one.
    told = sorted(forms, key=len, reverse=True)
    escaped = [_escaped(form) for form in told if form.strip("\\") not in ("", character)]
    return f"(?:{'|'.join(dict.fromkeys([*escaped, own]))})"


def _escaped(form: str) -> str:
    """Return a pattern of a form, whose backslashes may have been doubled repeatedly."""
    parts = (re.escape(part) for part in form.lstrip("\\").split("\\"))
    return rf"\\*(?i:{(chr(92) * 2 + '+').join(parts)})"


def _is_lone(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"


def _in_base64(secret: str) -> Iterator[str]:
    raw = secret.encode(errors="surrogatepass")
    for start in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            whole = encode(b"-" * start + raw).decode()
            # The first and last digits share bits with the text before and after.
            yield whole[(start * 8 + 5) // 6 : ((start + len(raw)) * 8) // 6]


def _order(secret: str) -> tuple[int, str]:
    return (-len(secret), secret)
