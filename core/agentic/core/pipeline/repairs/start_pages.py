"""Start pages that moved: where they are now, by the links of the site and by the stored rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import parse_qsl, urljoin, urlsplit

from agentic.core.http import HttpError, canonical_url
from agentic.core.pipeline.drift.incidents import Cause
from agentic.core.pipeline.drift.sights import wall_at, wall_in
from agentic.core.pipeline.repairs.lists import ListMatch, find_list
from agentic.core.pipeline.repairs.stored_rows import KnownRows, is_beside, links_of
from agentic.core.settings import safe_url
from agentic.core.types import JSONValue
from agentic.core.wrappers import PageTree
from agentic.core.wrappers.words import dice, plain, text_words, words_of

MAX_CANDIDATES = 8
MAX_LINKS = 2_000
GONE = frozenset({404, 410})
FAILED = 400
MIN_ALIKE = 0.3
RIVAL = 0.6
MIN_VALUES = 2
MIN_VALUE = 6
_PARKED = (
    "domain is for sale", "domain may be for sale", "buy this domain", "domain for sale", "parked free",
    "this domain is parked", "domain has expired", "domain name has expired", "domain steht zum verkauf",
    "domaine est à vendre",
)  # fmt: skip
_COUNTING = frozenset({"page", "p", "pg", "seite", "offset", "start", "from", "skip", "paged"})
_COMMON = frozenset({"index", "html", "htm", "php", "www", "page", "com"})


@dataclass(frozen=True, slots=True)
class StartSight:
    """The answer for the address of a start page.

    Attributes:
        url: The address in the spec.
        final_url: The address after redirects.
        status: Of the answer; None without one.
        text: Of the page; empty without one.
    """

    url: str
    final_url: str
    status: int | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class StartFault:
    """Why an address is no longer a start page.

    Attributes:
        message: The end of a sentence that begins with the address.
        has_moved: Whether the page may be elsewhere on the site; else a person must act.
        is_by_words: Whether only words on the page say so, which a page of stored rows may have, too.
    """

    message: str
    has_moved: bool
    is_by_words: bool = False


def start_fault(sight: StartSight) -> StartFault | None:
    """Return why an address is no longer a start page; None if it may be one.

    A run follows a redirect to another page of the site. A server that is down may work again later.
    """
    if sight.status in GONE:
        return StartFault(f"answers with status {sight.status}", has_moved=True)
    if sight.status is None or sight.status >= FAILED:
        return None
    if any(words in sight.text[:20_000].casefold() for words in _PARKED):
        said = "is a parked domain; find the new address of the site, and set it by hand"
        return StartFault(said, has_moved=False, is_by_words=True)
    fault = _redirect_fault(sight) if _key(sight.url) != _key(sight.final_url) else None
    if fault is None and wall_in(sight.text, sight.final_url) is Cause.GONE:
        return StartFault("says that the page does not exist", has_moved=True, is_by_words=True)
    return fault


def _redirect_fault(sight: StartSight) -> StartFault | None:
    wall = wall_at(sight.final_url, sight.url)
    if wall is Cause.GONE and not is_home(sight.url):
        return StartFault(f"leads to {safe_url(sight.final_url)}", has_moved=True)
    if wall in (Cause.LOGIN, Cause.CONSENT):
        said = f"leads to a {wall.value} page; the start page itself may be right"
        return StartFault(said, has_moved=False)
    return None


def start_candidates(
    url: str, pages: Sequence[PageTree], row_urls: Sequence[str], sitemap: Iterable[str] = ()
) -> list[str]:
    """Return addresses of the site that may be the start page now, the likeliest first.

    Args:
        url: Of the old start page.
        pages: Of the site: the home page, and pages of stored rows, whose breadcrumbs lead to their list.
        row_urls: Present addresses of stored rows.
        sitemap: Addresses in the site's map.
    """
    wanted = _path_words(url)
    row_urls = [one for one in row_urls if _key(one)]
    hosts = {urlsplit(url).netloc, *(urlsplit(one).netloc for one in row_urls)}
    rows = {_key(one) for one in row_urls}
    scores: dict[str, float] = {}
    shown: Counter[str] = Counter()
    for tree in pages:
        for address, text in _first_links(tree):
            shown[address] += 1
            alike = max(dice(wanted, _path_words(address)), dice(wanted, text_words(text)))
            # The address of a home page has no words: any of its links may lead to the list.
            scores[address] = max(scores.get(address, 0.0), alike if wanted else MIN_ALIKE)
    for address in sitemap:
        scores[address] = max(scores.get(address, 0.0), dice(wanted, _path_words(address)))
    for address, count in shown.items():
        if scores[address] >= MIN_ALIKE and len(pages) > 1:
            scores[address] += 0.3 * count / len(pages)
    folders = Counter(urljoin(one, "./") for one in row_urls)
    for address, count in folders.items():
        if count >= MIN_VALUES:
            scores[address] = max(scores.get(address, 0.0), MIN_ALIKE)
    found = sorted(scores, key=lambda one: (-scores[one], len(one), one))
    once: dict[str, str] = {}
    for address in found:
        key = _key(address)
        if scores[address] >= MIN_ALIKE and urlsplit(address).netloc in hosts and key not in rows:
            once.setdefault(key, address)
    once.pop(_key(url), None)
    firsts = [address for address in once.values() if not _is_further_page(address) or _is_further_page(url)]
    return firsts[:MAX_CANDIDATES]


def choose_start(candidates: Sequence[PageTree], rows: KnownRows) -> tuple[PageTree, ListMatch] | str:
    """Return the candidate whose list shows most of the stored rows, or why none can be named.

    Args:
        candidates: The likeliest first; the order decides between pages with the same rows.
        rows: Stored rows.
    """
    matches = [(tree, match) for tree in candidates if isinstance(match := find_list(tree, rows), ListMatch)]
    if not matches:
        count = len(candidates)
        return f"none of the {count} likeliest pages of the site has a list of the stored rows"
    tree, best = max(matches, key=lambda one: len(one[1].rows))
    wanted = set(best.rows.values())
    for other, match in matches:
        others = set(match.rows.values()) - wanted
        if other is not tree and len(others) > RIVAL * len(wanted):
            return f"{safe_url(tree.url)} and {safe_url(other.url)} each have a part of the stored rows"
    return tree, best


def choose_record(candidates: Sequence[PageTree], row: Mapping[str, JSONValue]) -> tuple[PageTree, int] | str:
    """Return the candidate that is the page of a stored row and how many of its texts it has, or why none is.

    One of the texts must be in the title of the page: a list shows texts of a row, too.
    """
    texts = {plain(value) for name, value in row.items() if name != "url" and isinstance(value, str)}
    texts = {text for text in texts if len(text) >= MIN_VALUE}
    found = [(tree, count) for tree in candidates if (count := _texts_on(tree, texts)) >= MIN_VALUES]
    if len(found) != 1:
        return f"{len(found)} of the {len(candidates)} likeliest pages of the site have its stored values"
    return found[0]


def _texts_on(tree: PageTree, texts: set[str]) -> int:
    there = {
        tree.plain(number)
        for number in range(len(tree))
        if 0 < tree.length(number) <= 4_000 and tree.plain(number) in texts and not is_beside(tree, number)
    }
    return len(there) if any(text in tree.title for text in there) else 0


def _first_links(tree: PageTree) -> Iterator[tuple[str, str]]:
    """Yield each address that a page links to, with the first text of a link to it."""
    seen: set[str] = set()
    for number, url in links_of(tree):
        key = _key(url)
        if key and key not in seen and len(seen) < MAX_LINKS:
            seen.add(key)
            yield key, tree.text(number)[:100]


def _path_words(url: str) -> list[str]:
    parts = urlsplit(url)
    words = [word for segment in parts.path.split("/") for word in words_of(segment)]
    words += [word for word in words_of(parts.query) if not word.isdigit()]
    return [word for word in words if word not in _COMMON]


def _is_further_page(url: str) -> bool:
    """Return whether an address leads to a second or later page of a list: ``?page=2``, ``/page/2``."""
    parts = urlsplit(url)
    counted = [value for name, value in parse_qsl(parts.query) if name in _COUNTING and value.isdecimal()]
    if any(int(value[:9]) > 1 for value in counted):
        return True
    return any(one in _COUNTING and two.isdecimal() for one, two in pairwise(parts.path.split("/")))


def is_home(url: str) -> bool:
    """Return whether an address belongs to a home page."""
    return urlsplit(url).path in ("", "/")


def _key(url: str) -> str:
    try:
        return canonical_url(url)
    except HttpError:
        return ""
