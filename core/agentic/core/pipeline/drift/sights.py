"""The look of a page of a crawl, besides its fields."""

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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

HEADING_CHARS = 200
"""A longer heading is read until here."""

_LOGIN_PATHS = ("/login", "/signin", "/sign-in", "/sign_in", "/log-in", "/anmelden", "/account/auth", "/sso")
_GONE_PATHS = ("404", "not-found", "notfound")
_DATA = ("application/ld+json", "application/json", "__initial_state__", "__nuxt__", "__apollo_state__")
_PASSWORD = ('type="password"', "type='password'", "type=password")

_CONSENT = (
    "accept all", "accept cookies", "before you continue", "we value your privacy", "manage consent",
    "consent", "alle akzeptieren", "cookies akzeptieren", "zustimm", "tout accepter",
    "accepter et continuer", "aceptar todo", "aceptar cookies", "accetta tutt", "aceitar todos",
    "alles accepteren", "akkoord", "zaakceptuj", "godkänn alla", "accepter alle", "godta alle",
    "hyväksy kaikki", "přijmout vše", "acceptă toate", "принять все", "прийняти всі", "αποδοχή όλων",
    "kabul et", "同意する", "全部接受", "모두 동의", "قبول الكل",
)  # fmt: skip

_GONE = (
    "not found", "not be found", "no longer available", "no longer exists", "does not exist",
    "doesn't exist", "page unavailable", "nicht gefunden", "existiert nicht", "nicht mehr verfügbar",
    "introuvable", "n'existe pas", "n'est plus disponible", "no encontrad", "no existe",
    "ya no está disponible", "non trovat", "non esiste", "não encontrad", "não existe", "niet gevonden",
    "bestaat niet", "nie znaleziono", "nie istnieje", "hittades inte", "finns inte", "ikke fundet",
    "ikke funnet", "ei löytynyt", "ei löydy", "nenalezen", "nem található", "nu a fost găsit", "не найден",
    "не существует", "не знайден", "δεν βρέθηκε", "bulunamadı", "見つかりません", "找不到", "不存在",
    "찾을 수 없", "غير موجود", "לא נמצא",
)  # fmt: skip

_EMPTY = (
    "no results", "0 results", "nothing found", "no matches", "no items", "nothing matched",
    "keine ergebnisse", "keine treffer", "aucun résultat", "sin resultados", "no hay resultados",
    "nessun risultato", "nenhum resultado", "geen resultaten", "brak wyników", "inga resultat",
    "ingen resultater", "ei tuloksia", "ничего не найдено", "該当なし", "没有结果", "결과가 없",
    "sonuç bulunamadı",
)  # fmt: skip

_ERROR_WORDS = (
    "status", "error", "errore", "erreur", "fehler", "erro", "fout", "fejl", "virhe", "chyba", "błąd",
    "hata", "ошибка", "σφάλμα", "エラー", "错误", "錯誤", "오류", "http", "code", "page", "seite", "oops",
)  # fmt: skip
_SEPARATORS = (" - ", " – ", " — ", " · ", " • ", " » ", " :: ")


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
        void: What its rule found on it, if the page says nothing about its item: the stored row then stays
            as it is. None for other pages.
    """

    kind: PageKind
    size: int
    wall: Cause | None = None
    is_known: bool | None = None
    markers: tuple[str, ...] = ()
    void: tuple[Mapping[str, JSONValue], ...] | None = None


@record
class ShownPage:
    """A page as people see it, in small letters.

    Attributes:
        markup: The beginning of its markup.
        text: The visible text.
        names: The texts of the title and the headings of the first level.
        headings: The texts of the headings of the second level.
        path: The path of its address, after redirects.
        is_short: Whether it is as short as a wall.
    """

    markup: str
    text: str
    names: tuple[str, ...]
    headings: tuple[str, ...]
    path: str
    is_short: bool

    @property
    def constant_words(self) -> frozenset[str] | None:
        """The words of a short page but those with a digit, such as times and numbers of requests.

        None for other pages, and for pages whose scripts have data: it may differ where the words do not.
        """
        if not self.is_short or any(one in self.markup for one in _DATA):
            return None
        return frozenset(word for word in self.text.split() if not any(map(str.isdigit, word)))


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


EMPTY: tuple[JSONValue, ...] = (None, "", [], {})
"""No value."""


def is_blank(items: Sequence[Mapping[str, JSONValue]]) -> bool:
    """Whether no item of a page has a value."""
    return all(value in EMPTY for item in items for name, value in item.items() if name != "url")


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
    return (
        Cause.GONE if is_home or any(one in parts.path.casefold() for one in _GONE_PATHS) else Cause.ELSEWHERE
    )


def shown_page(text: str, final_url: str) -> ShownPage:
    """Return a page as people see it.

    Args:
        text: Its markup.
        final_url: Address after redirects.
    """
    markup = text[:READ_CHARS].casefold()
    visible, names, headings = _visible(markup)
    # Of 824 recipe pages, 83 were longer and began with styles; their first characters looked like a wall.
    is_short = len(text) <= READ_CHARS and len(visible) <= WALL_CHARS and markup.count("<a ") <= WALL_LINKS
    return ShownPage(markup, visible, names, headings, urlsplit(final_url).path.casefold(), is_short)


def signs_on(page: ShownPage) -> Iterator[Cause]:
    """Yield the obstacles that a page has signs for, wall or not: a field for a password, words."""
    if any(one in page.markup for one in _PASSWORD):
        yield Cause.LOGIN
    if _says_gone(page.names) or _says_gone(page.headings):
        yield Cause.GONE
    if _has(page.text, _EMPTY):
        yield Cause.EMPTY
    if "consent" in page.path or (_has(page.text, _CONSENT) and _is_pressable(page.markup)):
        yield Cause.CONSENT


def wall_on(page: ShownPage, usual: Collection[Cause] = (), *, is_varied: bool = False) -> Cause | None:
    """Return the obstacle on a page without any value; None if it may be the page in another layout.

    Args:
        page: The page.
        usual: Obstacles that other pages of the site have signs for, too. They count only if the address
            says so.
        is_varied: Whether the page before it had other names: a wall has the same ones, unless they say
            that the page is gone.
    """
    for cause in signs_on(page):
        is_address = (cause is Cause.LOGIN and any(path in page.path for path in _LOGIN_PATHS)) or (
            cause is Cause.CONSENT and "consent" in page.path
        )
        if is_address:
            return cause
        if cause is Cause.GONE and _says_gone(page.names):
            return cause
        if cause not in usual and not is_varied and (page.is_short or cause is Cause.GONE):
            return cause
    return None


def wall_in(text: str, final_url: str) -> Cause | None:
    """Return the obstacle on a page without any value; None if it may be the page in another layout.

    Args:
        text: Its markup.
        final_url: Address after redirects.
    """
    return wall_on(shown_page(text, final_url))


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


def _says_gone(headings: Iterable[str]) -> bool:
    return any(_has(one, _GONE) or _says_404(one) for one in headings)


def _is_pressable(markup: str) -> bool:
    """Whether a page with words of consent has something to press."""
    return "<button" in markup or "<form" in markup or "<input" in markup


def _visible(markup: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the text that people see, the texts of the title and of headings, by their level."""
    pieces: list[str] = []
    names: list[str] = []
    seconds: list[str] = []
    headings = names
    skipped = heading = ""
    for part in markup.split("<"):
        tag, _, text = part.partition(">")
        name = tag.split(None, 1)[0] if tag[:1].strip() else ""
        if skipped:
            skipped = "" if name == f"/{skipped}" else skipped
        if not skipped and name in ("script", "style", "noscript", "template"):
            skipped = name
        if name in _HEADINGS:
            heading, headings = name, seconds if name == "h2" else names
            headings.append("")
        elif name == f"/{heading}":
            heading = ""
        if skipped or not text.strip():
            continue
        pieces.append(text)
        if heading:
            headings[-1] += f" {text[:HEADING_CHARS]}"
            heading = heading if len(headings[-1]) <= HEADING_CHARS else ""  # it was never closed
    first, second = (tuple(filter(None, map(_plain, found))) for found in (names, seconds))
    return _plain(" ".join(pieces)), first, second


_HEADINGS = ("title", "h1", "h2")


def _plain(text: str) -> str:
    return " ".join(html.unescape(text).casefold().replace("’", "'").split())


def _says_404(heading: str) -> bool:
    """Whether a heading has 404 as a status: ``404``, ``Error 404 - Shop``, not ``Lotion 404 ml``."""
    if "404" not in heading:
        return False
    for separator in _SEPARATORS:
        heading = heading.replace(separator, "|")
    return any(_is_404(part.strip()) for part in heading.split("|"))


def _is_404(part: str) -> bool:
    if part.startswith("404") and part[3:4] in _ENDS:
        return True
    for word in _ERROR_WORDS:
        part = part.replace(word, " ")
    return part.strip(_MARKS) == "404"


_ENDS = (".", ":", "!", ",", ";")
_MARKS = " .:!,;#()[]/-–—"


def _has(text: str, words: Iterable[str]) -> bool:
    """Whether a text has one of some phrases, as words: ``20 results`` are not ``0 results``."""
    return any(word in text and _begins_word(text, word) for word in words)


def _begins_word(text: str, word: str) -> bool:
    if not word[0].isascii():  # of scripts without spaces between words, too
        return True
    at = text.find(word)
    while at > 0 and text[at - 1].isalnum():
        at = text.find(word, at + 1)
    return at >= 0
