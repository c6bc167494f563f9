"""Links to the further pages of a list."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl, urlsplit

from agentic.core.reading.addresses import NEXT_ATTRIBUTES, absolute, base_of
from agentic.core.wrappers.addresses import link_of
from agentic.core.wrappers.selecting import SelectorIndex, is_machine_made
from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.words import text_words

PagingKind = Literal["next", "numbers", "more"]
_REL = 'link[rel~="next"][href]'
_NEXT = frozenset(
    [
        "next",
        "weiter",
        "nächste",
        "vor",
        "suivant",
        "suivante",
        "siguiente",
        "próximo",
        "próxima",
        "avanti",
        "successiva",
        "volgende",
        "nästa",
        "neste",
        "næste",
        "далее",
        "следующая",
        "dalej",
        "następna",
        "další",
        "další",
        "tovább",
        "older",
    ]
)
_SIGNS = frozenset({"»", "›", ">", ">>", "→", "⟩", "❯", "▶", "≫"})
_MORE = frozenset(
    [
        "load",
        "more",
        "show",
        "mehr",
        "laden",
        "anzeigen",
        "weitere",
        "plus",
        "charger",
        "afficher",
        "voir",
        "más",
        "cargar",
        "meer",
    ]
)
_PAGER = frozenset(
    {"pager", "pagination", "paginator", "paging", "pages", "pagenavi", "page", "paginate", "seiten"}
)
_NUMBERED = re.compile(r"([?&/;]?[A-Za-z_]*[=/_-]?)\d+")
_COUNTING = frozenset({"seite", "p", "pg", "start", "offset", "from", "skip"})
_LAST_WORDS = 4
MAX_ADDRESS_CHARS = 300
_MAX_PAGE = 100_000
_MAX_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Paging:
    """How a list continues.

    Attributes:
        kind: A link to the next page, links to numbered pages, or a button that loads more.
        selector: Of the links or the button.
        urls: Where they lead from this page.
    """

    kind: PagingKind
    selector: str
    urls: tuple[str, ...]


def find_paging(index: SelectorIndex, rows: Collection[int] = ()) -> Paging | None:
    """Return the links to further pages of a list; None if the page has none.

    Args:
        index: The page.
        rows: The rows of the list, which hold none of these links.
    """
    tree = index.tree
    return _head(tree) or _next(index, rows) or _numbers(index, rows) or _more(index)


def _head(tree: PageTree) -> Paging | None:
    node = tree.document.select_one(_REL)
    url = absolute(base_of(tree.document, tree.url), node.attr("href") or "") if node is not None else None
    return Paging("next", _REL, (url,)) if url and url != tree.url else None


def _links(tree: PageTree, rows: Collection[int]) -> Iterator[tuple[int, str]]:
    """Yield the links of a page to other pages of its host, without those in rows."""
    here = urlsplit(tree.url)
    starts = sorted(rows)
    for number, tag in enumerate(tree.tags):
        if tag == "a" and not _is_in(tree, number, starts):
            url = link_of(tree, number)
            if url and url != tree.url.partition("#")[0] and urlsplit(url).netloc == here.netloc:
                yield number, url


def next_link(tree: PageTree, rows: Collection[int] = ()) -> tuple[int, str] | None:
    """Return the element and the address of the likeliest link to the next page; None if nothing says so.

    Args:
        tree: The page.
        rows: The rows of the list, which hold none of these links.
    """
    found = [(_is_next(tree, number), -number, number, url) for number, url in _links(tree, rows)]
    rank, _, number, url = max(found, default=(0, 0, 0, ""))
    return (number, url) if rank else None


def _is_in(tree: PageTree, number: int, starts: Sequence[int]) -> bool:
    """Return whether an element is within one of those with these numbers, in their order."""
    place = bisect_right(starts, number) - 1
    return place >= 0 and number < tree.ends[starts[place]]


def _next(index: SelectorIndex, rows: Collection[int]) -> Paging | None:
    tree = index.tree
    link = next_link(tree, rows)
    if link is None:
        return None
    number, url = link
    selector = next((css for css in _next_selectors(tree, number) if _first(tree, css) == number), None)
    if selector is not None:
        return Paging("next", selector, (url,))
    group = _pager_links(index, number, rows)
    return _group(index, group) if group else None


def _is_next(tree: PageTree, number: int) -> int:
    """Return how sure it is that a link leads to the next page: 0 if nothing says so."""
    attributes = tree.elements[number].attrs
    rel = attributes.get("rel") or ()
    if "next" in (rel.split() if isinstance(rel, str) else rel):
        return 4
    named = any(word in ("next", "weiter", "suivant", "siguiente") for word in _near_names(tree, number))
    words = text_words(tree.text(number))
    if words and len(words) <= _LAST_WORDS and words[0] in _NEXT:
        return 3 + named if _looks_paged(tree, number) or named else 2
    title = attributes.get("aria-label") or attributes.get("title") or ""
    if isinstance(title, str) and len(title) < 40 and any(word in _NEXT for word in text_words(title)[:2]):
        return 2 + named
    if tree.text(number) in _SIGNS and (_in_pager(tree, number) or _counts_on(tree, number)):
        return 2
    return 1 if named and _looks_paged(tree, number) else 0


def _counts_on(tree: PageTree, number: int) -> bool:
    """Return whether the address of a link has a higher number in its query than the page has."""
    here, there = urlsplit(tree.url), urlsplit(link_of(tree, number) or "")
    mine, others = dict(parse_qsl(here.query)), dict(parse_qsl(there.query))
    changed = [name for name in {**mine, **others} if mine.get(name) != others.get(name)]
    if here.path != there.path or len(changed) != 1:
        return False
    old, new = mine.get(changed[0], "0"), others.get(changed[0], "")
    is_count = all(one.isdecimal() and len(one) <= _MAX_DIGITS for one in (old, new))
    return is_count and int(new) > int(old)


def _near_names(tree: PageTree, number: int) -> tuple[str, ...]:
    parent = tree.parents[number]
    return (
        *tree.names[number],
        *(tree.names[parent] if parent >= 0 and len(tree.children[parent]) == 1 else ()),
    )


def _looks_paged(tree: PageTree, number: int) -> bool:
    href = tree.elements[number].attrs.get("href")
    return _in_pager(tree, number) or (isinstance(href, str) and any(map(str.isdigit, href)))


def _in_pager(tree: PageTree, number: int) -> bool:
    return _pager(tree, number) is not None


def _pager(tree: PageTree, number: int) -> int | None:
    """Return the nearest element around a link whose name says that it holds links to pages.

    An element around this link alone, such as `li.page-item`, is the last choice.
    """
    found: int | None = None
    for level, outer in enumerate(tree.ancestors(number)):
        if level == 4 or tree.tags[outer] in ("body", "main"):
            break
        if not _PAGER.isdisjoint(tree.names[outer]) and tree.length(outer) < 600:
            if tree.tags[outer : tree.ends[outer]].count("a") > 1:
                return outer
            found = outer if found is None else found
    return found


def _next_selectors(tree: PageTree, number: int) -> Iterator[str]:
    """Yield selectors of a link that hold on the other pages, too, where its text or number differs."""
    attributes = tree.elements[number].attrs
    rel = attributes.get("rel") or ()
    if "next" in (rel.split() if isinstance(rel, str) else rel):
        yield 'a[rel~="next"]'
    parent = tree.parents[number]
    for name in _classes(tree, number):
        if _says_next(name):
            yield f'a[class~="{name}"]' if not _is_plain(name) else f"a.{name}"
    for outer in (parent,) if parent >= 0 else ():
        for name in _classes(tree, outer):
            if _says_next(name) and _is_plain(name):
                yield f"{tree.tags[outer]}.{name} > a"
    for key in ("id", "aria-label", "title", "data-testid"):
        value = attributes.get(key)
        if isinstance(value, str) and value and '"' not in value and not any(map(str.isdigit, value)):
            yield f'a[{key}="{value}"]'


def _says_next(name: str) -> bool:
    return "next" in name.lower() and not is_machine_made(name)


def _is_plain(name: str) -> bool:
    return name.replace("-", "").replace("_", "").isalnum() and name.isascii() and not name[0].isdigit()


def _classes(tree: PageTree, number: int) -> Sequence[str]:
    given = tree.elements[number].attrs.get("class")
    return given.split() if isinstance(given, str) else tuple(given or ())


def _first(tree: PageTree, css: str) -> int | None:
    node = tree.document.select_one(css)
    return None if node is None else tree.numbers.get(node)


# Numbered pages.


def _numbers(index: SelectorIndex, rows: Collection[int]) -> Paging | None:
    tree = index.tree
    homes: Counter[int] = Counter()
    for number, url in _links(tree, rows):
        text = tree.text(number).strip("[]() ")
        if text.isdecimal() and int(text) < _MAX_PAGE and (_in_pager(tree, number) or _counts(url, text)):
            homes[_home(tree, number)] += 1
    if not homes:
        return None
    home = max(homes, key=lambda one: (homes[one], -one))
    group = [number for number, _ in _links(tree, rows) if tree.is_within(number, home)]
    return _group(index, group)


def _counts(url: str, text: str) -> bool:
    """Return whether an address counts pages with a number."""
    marks = (mark.casefold().strip("=/_-") for mark in _marks_in(url) if f"{mark}{text}" in url)
    return any(mark in _COUNTING or mark.endswith("page") for mark in marks)


def _home(tree: PageTree, number: int) -> int:
    pager = _pager(tree, number)
    if pager is not None:
        return pager
    for outer in tree.ancestors(number):
        if len([1 for one in range(outer, tree.ends[outer]) if tree.tags[one] == "a"]) > 1:
            return outer
    return tree.parents[number]


def _pager_links(index: SelectorIndex, number: int, rows: Collection[int]) -> list[int]:
    home = _home(index.tree, number)
    links = [one for one, _ in _links(index.tree, rows) if index.tree.is_within(one, home)]
    return links if len(links) <= 30 and number in links else [number]


def _group(index: SelectorIndex, group: Sequence[int]) -> Paging | None:
    """Return links as numbered pages, with a selector of the element around them or of their addresses."""
    tree = index.tree
    urls = tuple(dict.fromkeys(filter(None, (link_of(tree, number) for number in group))))
    wanted = set(group)
    for css in _group_selectors(tree, group):
        hits = [tree.numbers[one] for one in tree.document.select(css) if one in tree.numbers]
        fitting = [hit for hit in hits if link_of(tree, hit)]
        leading = {link_of(tree, hit) for hit in fitting if hit not in wanted} - {*urls, tree.url}
        if wanted & set(hits) and not leading:
            return Paging("numbers", css, urls)
    return None


def _group_selectors(tree: PageTree, group: Sequence[int]) -> Iterator[str]:
    home = _home(tree, group[0])
    for name in _classes(tree, home):
        if _is_plain(name) and not is_machine_made(name):
            yield f"{tree.tags[home]}.{name} a[href]"
    for key in ("id", "aria-label", "role"):
        value = tree.elements[home].attrs.get(key)
        if isinstance(value, str) and value and '"' not in value and not is_machine_made(value):
            yield f'{tree.tags[home]}[{key}="{value}"] a[href]'
    shared = [set(_classes(tree, number)) for number in group]
    for name in sorted(set.intersection(*shared)) if shared else ():
        if _is_plain(name) and not is_machine_made(name):
            yield f"a.{name}"
    marks = Counter(mark for number in group for mark in _marks(tree, number))
    for mark, _ in marks.most_common(3):
        yield f'a[href*="{mark}"]'
    for name in _classes(tree, home):
        if _is_plain(name):
            yield f"{tree.tags[home]}.{name} a[href]"


def _marks(tree: PageTree, number: int) -> Iterator[str]:
    """Yield the text before a number in an address, such as ``page=``."""
    href = tree.elements[number].attrs.get("href")
    yield from _marks_in(href if isinstance(href, str) else "")


def _marks_in(address: str) -> Iterator[str]:
    if len(address) > MAX_ADDRESS_CHARS:
        return
    for found in _NUMBERED.finditer(address):
        mark = found[1].lstrip("?&;")
        if len(mark) >= 2 and mark.strip("/-_="):
            yield mark


# Buttons.


def _more(index: SelectorIndex) -> Paging | None:
    tree = index.tree
    for number, tag in enumerate(tree.tags):
        if tag not in ("a", "button", "div", "span") or tree.length(number) > 60:
            continue
        attributes = tree.elements[number].attrs
        attr = next((name for name in NEXT_ATTRIBUTES if attributes.get(name)), "href" if tag == "a" else "")
        url = link_of(tree, number, attr) if attr else None
        words = text_words(tree.text(number))
        if not url or url == tree.url or len(_MORE.intersection(words)) < min(2, len(words)) or not words:
            continue
        css = next((css for css in _more_selectors(tree, number, attr) if _first(tree, css) == number), None)
        if css is not None:
            return Paging("more", css, (url,))
    return None


def _more_selectors(tree: PageTree, number: int, attr: str) -> Iterator[str]:
    tag = tree.tags[number]
    for name in _classes(tree, number):
        if _is_plain(name) and not is_machine_made(name):
            yield f"{tag}.{name}"
    value = tree.elements[number].attrs.get("id")
    if isinstance(value, str) and value and '"' not in value:
        yield f'{tag}[id="{value}"]'
    yield f"{tag}[{attr}]"
