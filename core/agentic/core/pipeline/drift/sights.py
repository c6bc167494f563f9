"""The look of a page of a crawl, besides its fields."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from agentic.core.pipeline.drift.incidents import Cause
from agentic.core.pipeline.drift.values import ITEM_COUNT
from agentic.core.pipeline.spec.spec import DetailRules
from agentic.core.records import record
from agentic.core.types import JSONValue

MARKER_CHARS = 80
"""Longer attributes are not markers."""

MAX_MARKERS = 64
"""Markers of a page that are compared with other pages."""

READ_CHARS = 200_000
"""The beginning of a page that is looked at."""

WALL_CHARS = 3_000
"""A wall that replaces a page has at most this visible text."""

WALL_LINKS = 15
"""And at most this number of links."""

_LOGIN_PATHS = ("/login", "/signin", "/sign-in", "/sign_in", "/log-in", "/anmelden", "/account/auth", "/sso")
_PASSWORD = ('type="password"', "type='password'", "type=password")

_CONSENT = (
    "accept all", "accept cookies", "before you continue", "we value your privacy", "manage consent",
    "consent", "alle akzeptieren", "cookies akzeptieren", "zustimmen", "tout accepter",
    "accepter et continuer", "aceptar todo", "aceptar cookies", "accetta tutt", "aceitar todos",
    "alles accepteren", "akkoord", "zaakceptuj", "godkänn alla", "принять все", "同意する",
    "全部接受", "kabul et",
)  # fmt: skip

_GONE = (
    "not found", "404", "no longer available", "no longer exists", "does not exist", "doesn't exist",
    "page unavailable", "nicht gefunden", "existiert nicht", "nicht mehr verfügbar", "introuvable",
    "n'existe pas", "n'est plus disponible", "no encontrad", "no existe", "ya no está disponible",
    "non trovat",
    "não encontrad", "niet gevonden", "nie znaleziono", "hittades inte", "не найден",
    "見つかりません", "找不到", "bulunamadı",
)  # fmt: skip

_EMPTY = (
    "no results", "0 results", "nothing found", "no matches", "no items", "nothing matched",
    "keine ergebnisse", "keine treffer", "aucun résultat", "sin resultados", "no hay resultados",
    "nessun risultato", "nenhum resultado", "geen resultaten", "brak wyników", "inga resultat",
    "ничего не найдено", "該当なし", "没有结果", "sonuç bulunamadı",
)  # fmt: skip


@record
class PageKind:
    """A kind of pages: those that one rule of ``detail`` reads.

    Attributes:
        key: Hash of the rule: a changed rule is another kind, with a profile of its own.
        label: Its globs, for people.
    """

    key: str
    label: str


@record
class PageSight:
    """The look of a page.

    Attributes:
        kind: Its kind, by the URL that the crawl requested.
        size: Characters of the page.
        wall: The obstacle that the site shows instead; None without one.
        is_known: Whether it has the markers of its kind; None if it was not compared.
        markers: Texts in its markup that may become markers; empty if enough pages gave theirs.
    """

    kind: PageKind
    size: int
    wall: Cause | None = None
    is_known: bool | None = None
    markers: tuple[str, ...] = ()


def kind_of(rule: DetailRules) -> PageKind:
    """Return the kind of pages that a rule reads; a rule with references has them as they are written."""
    return PageKind(_hash(rule.model_dump(mode="json")), " ".join(rule.match))


def marks_of(rule: DetailRules) -> dict[str, str]:
    """Return a hash of the rule of each field, by name, and one of all else but the globs.

    The latter is under ``ITEM_COUNT``. Fields with equal hashes in two versions of a rule have the same
    values on the same pages. Empty if the schema is a reference, or is not there.
    """
    written = rule.model_dump(mode="json", exclude={"match"})
    schema = written["config"].pop("schema", None)
    if not isinstance(schema, dict):
        return {}
    return {name: _hash(one) for name, one in schema.items()} | {ITEM_COUNT: _hash(written)}


def _hash(data: JSONValue) -> str:
    text = json.dumps(data, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def lacks_fields(items: Sequence[Mapping[str, JSONValue]]) -> bool:
    """Whether a field of a page's items has no value on it."""
    return not items or not all(value or value in (0, False) for value in items[0].values())


def is_blank(items: Sequence[Mapping[str, JSONValue]]) -> bool:
    """Whether no item of a page has a value."""
    return all(value in (None, "", [], {}) for item in items for name, value in item.items() if name != "url")


def wall_at(url: str, kind_url: str) -> Cause:
    """Return the obstacle that the site shows instead of a page, by the address at the end of its redirects.

    Args:
        url: That address; it does not belong to the kind.
        kind_url: The address that the crawl requested.
    """
    parts = urlsplit(url)
    place = f"{parts.netloc}{parts.path}".casefold()
    if any(path in place for path in _LOGIN_PATHS):
        return Cause.LOGIN
    if "consent" in place:
        return Cause.CONSENT
    is_home = parts.path in ("", "/") and urlsplit(kind_url).netloc == parts.netloc
    return Cause.GONE if is_home or _has(place, ("404", "not-found", "notfound")) else Cause.ELSEWHERE


def wall_in(text: str, final_url: str) -> Cause | None:
    """Return the obstacle on a page without any value; None if it may be the page in another layout.

    Args:
        text: Its markup.
        final_url: Address after redirects.
    """
    markup = text[:READ_CHARS].casefold()
    path = urlsplit(final_url).path.casefold()
    visible, headings = _visible(markup)
    # Of 824 recipe pages, 83 were longer and began with styles; their first characters looked like a wall.
    is_short = len(text) <= READ_CHARS and len(visible) <= WALL_CHARS and markup.count("<a ") <= WALL_LINKS
    if _has(markup, _PASSWORD) and (is_short or _has(path, _LOGIN_PATHS)):
        return Cause.LOGIN
    if _has(headings, _GONE):
        return Cause.GONE
    if is_short and _has(visible, _EMPTY):
        return Cause.EMPTY
    if is_short and ("consent" in path or (_has(visible, _CONSENT) and _is_wall(markup))):
        return Cause.CONSENT
    return None


def markers_in(text: str) -> Iterator[str]:
    """Yield texts in the markup that a redesign is likely to change: its classes and ids."""
    seen: set[str] = set()
    for name in ('class="', 'id="'):
        for part in text[:READ_CHARS].split(name)[1:]:
            value = part[: MARKER_CHARS + 1].partition('"')[0]
            marker = f'{name}{value}"'
            if 0 < len(value) <= MARKER_CHARS and marker not in seen:
                seen.add(marker)
                yield marker


def has_markers(text: str, markers: Sequence[str]) -> bool:
    """Whether the markup has at least half of the markers."""
    return 2 * sum(marker in text for marker in markers) >= len(markers)


def _is_wall(markup: str) -> bool:
    """Whether a page with words of consent has something to press."""
    return "<button" in markup or "<form" in markup or "<input" in markup


def _visible(markup: str) -> tuple[str, str]:
    """Return the text that people see, and the text of the title and the main headings."""
    pieces: list[str] = []
    headings: list[str] = []
    skipped = ""
    for part in markup.split("<"):
        tag, _, text = part.partition(">")
        name = tag.split(None, 1)[0] if tag[:1].strip() else ""
        if skipped:
            skipped = "" if name == f"/{skipped}" else skipped
        if not skipped and name in ("script", "style", "noscript", "template"):
            skipped = name
        if skipped or not text.strip():
            continue
        pieces.append(text)
        if name in ("title", "h1", "h2"):
            headings.append(text)
    return " ".join(" ".join(pieces).split()), " ".join(" ".join(headings).split())


def _has(text: str, words: Iterable[str]) -> bool:
    return any(word in text for word in words)
