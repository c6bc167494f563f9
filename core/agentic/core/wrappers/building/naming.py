"""Suggested names and types for the parts of a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from agentic.core.reading.ambiguous import AmbiguousError
from agentic.core.reading.dates import read_moment
from agentic.core.wrappers.selecting import is_durable
from agentic.core.wrappers.tree import HEADINGS, LABEL_CHARS, PageTree
from agentic.core.wrappers.words import NAMING, text_words, words_of

MAX_AMOUNT_CHARS = 40
MAX_DATE_CHARS = 40
MAX_NAME_CHARS = 40
NO_NAME = "text"
"""Of a value that nothing names."""

_MONEY = re.compile(
    r"(?:[$€£¥₹₽₩₺₪฿₫₴]|\b(?:USD|EUR|GBP|CHF|CAD|AUD|NZD|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|RUB|BRL|MXN|ZAR|TRY|Rs)\b|"
    r"\b(?:kr|zł|Kč|Ft|lei)(?!\w))"
)
_NUMBER = re.compile(r"[(\s]*[-+]?\d[\d.,'’\s]*%?[)\s]*")
_WHOLE = re.compile(r"[(\s]*[-+]?\d{1,9}[)\s]*")
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:[.,]\d{3})+")
"""Digits that are thousands, or a number with three decimals."""

_SPACES = re.compile(r"[\s'’]")
_AMOUNT = re.compile(r"\d[\d.,'’\s]*\d|\d")
_NOT_NAME = re.compile(r"[\W_]+")
_WORDS = {
    name: word
    for word, names in {
        "title": "title name heading headline",
        "price": "price cost amount preis prix precio prezzo",
        "rating": "rating stars score ratingvalue",
        "author": "author byline creator by",
        "date": "date published posted datepublished datetime timestamp",
        "description": "description desc summary excerpt teaser abstract intro",
        "image": "image img thumb thumbnail photo picture",
        "brand": "brand manufacturer vendor",
        "category": "category section",
        "availability": "availability stock instock",
        "location": "location city place",
        "company": "company employer",
        "salary": "salary",
        "sku": "sku",
        "reviews": "reviews reviewcount",
        "comments": "comments",
        "tags": "tags tag keywords",
        "text": "text quote body content",
    }.items()
    for name in names.split()
}

PRICE_WORDS = frozenset(name for name, word in _WORDS.items() if word == "price")

_OF_ATTRIBUTES = {"href": "link", "src": "image", "data-src": "image", "datetime": "date"}
_NAMING = (NAMING - {"title", "aria-label"}) | {"data-label", "data-th", "data-field", "data-testid"}


def type_of(texts: Sequence[str]) -> str:
    """Return the type of a rule that reads all texts: price, integer, number, date or string."""
    shown = [text for text in texts if text]
    if not shown or not all(len(text) <= MAX_AMOUNT_CHARS for text in shown):
        return "string"
    if all(map(is_price, shown)):
        return "price"
    if all(map(is_date, shown)):
        return "date"
    if any(map(_is_code, shown)) or not all(map(_NUMBER.fullmatch, shown)):
        return "string"
    if all(map(_WHOLE.fullmatch, shown)):
        return "integer"
    is_clear = any(not _GROUPED.fullmatch(_SPACES.sub("", amount_in(text))) for text in shown)
    return amount_type((), shown) if is_clear else "string"  # `1,204` alone may be read in two ways


def amount_type(values: Sequence[str], amounts: Sequence[str]) -> str:
    """Return the type that reads amounts: number, integer, or string for codes such as ``0443``.

    ``1,204`` may be read in two ways. It is an integer among integers such as ``87``, and if an example is
    ``1204``. ``1.204`` and per cents are integers only if an example is.

    Args:
        values: The examples.
        amounts: All texts at the place, or the parts of them that an expression takes.
    """
    found = [amount for text in (*values, *amounts) if (amount := _SPACES.sub("", amount_in(text)))]
    if any(one[:1] == "0" and one[1:2].isdigit() for one in found):
        return "string"
    is_shown_whole = any(value.strip().isdecimal() for value in values)
    if not is_shown_whole and any("%" in text for text in amounts):
        return "number"
    grouped = [bool(_GROUPED.fullmatch(one)) for one in found]
    if not is_shown_whole and any(
        is_group and "." in one for one, is_group in zip(found, grouped, strict=True)
    ):
        return "number"
    is_whole = all(is_group or one.isdecimal() for one, is_group in zip(found, grouped, strict=True))
    return "integer" if any(grouped) and not all(grouped) and is_whole else "number"


def amount_in(text: str) -> str:
    """Return the first amount of a text; empty if it has none."""
    found = _AMOUNT.search(text)
    return found[0] if found is not None else ""


def is_price(text: str) -> bool:
    """Return whether a short text is an amount of money."""
    return len(text) <= MAX_AMOUNT_CHARS and any(map(str.isdigit, text)) and bool(_MONEY.search(text))


def is_date(text: str) -> bool:
    """Return whether a short text names one day."""
    return day_of(text) is not None


def day_of(text: str) -> str | None:
    """Return the day that a short text names, as in ISO 8601; None if it names none, or several."""
    if not 6 <= len(text) <= MAX_DATE_CHARS or not any(map(str.isdigit, text)):
        return None
    try:
        found = read_moment(text)
    except AmbiguousError:
        return None
    return None if found is None else found.isoformat()[:10]


def name_of(tree: PageTree, number: int, *, attr: str = "", label: str = "", kind: str = "string") -> str:
    """Return a name for the value of an element: by its label, its attributes, its type or its place."""
    if label and (found := as_name(label)):
        return found
    known = _known(_own_names(tree, number))
    if attr == "href":
        return "link" if known in ("", "title", "text") else f"{known}_link"
    if known and attr not in ("src", "data-src"):
        return known
    if attr or kind in ("price", "date"):
        return _OF_ATTRIBUTES.get(attr, as_name(attr)) if attr else kind
    if any(tree.tags[one] in HEADINGS for one in (number, tree.parents[number])):
        return "title"
    own = [word for word in _own_names(tree, number) if is_durable(word)]
    return as_name("_".join(own[-2:])) or NO_NAME


def named_share(tree: PageTree, number: int, words: frozenset[str], *, head: str = "") -> float:
    """Return the share of the words of a field that the label or the names around an element have.

    Args:
        tree: The page.
        number: The element.
        words: Of the field.
        head: The head of its column in a table.
    """
    parent = tree.parents[number]
    around = text_words(tree.text(parent)) if parent >= 0 and tree.length(parent) <= LABEL_CHARS else ()
    there = {*tree.label_words(number), *tree.context(number), *around, *text_words(head)}
    wanted = set(map(_stem, words))
    return len(wanted & set(map(_stem, there))) / len(wanted) if wanted else 0.0


def _stem(word: str) -> str:
    """Return a word without the ending of its plural: `replies` as `reply`."""
    return f"{word[:-3]}y" if word.endswith("ies") else word.removesuffix("s")


def as_name(text: str) -> str:
    """Return a text as the name of a field: words in lower case, joined by ``_``."""
    return _NOT_NAME.sub("_", text.lower()).strip("_")[:MAX_NAME_CHARS].strip("_")


def unique(names: Iterable[str]) -> list[str]:
    """Return names without repetition: later ones get a number."""
    found: list[str] = []
    for name in names:
        count, free = 1, name
        while free in found:
            count += 1
            free = f"{name}_{count}"
        found.append(free)
    return found


def _known(words: Sequence[str]) -> str:
    return next((_WORDS[word] for word in reversed(words) if word in _WORDS), "")


def _own_names(tree: PageTree, number: int) -> list[str]:
    """Return the words in the attributes of an element, and of one around it without other parts."""
    found: list[str] = []
    parent = tree.parents[number]
    around = [parent] if parent >= 0 and len(tree.children[parent]) == 1 else []
    for one in (*around, number):
        for key, value in tree.elements[one].attrs.items():
            if key in _NAMING:
                names = value.split() if isinstance(value, str) else value or ()
                found += [word for name in names if is_durable(name) for word in words_of(name)]
    return found


def _is_code(text: str) -> bool:
    """Return whether digits are a code rather than an amount: they begin with a zero."""
    digits = text.strip(" (")
    return digits.startswith("0") and digits[1:2].isdigit()
