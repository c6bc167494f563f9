"""JSON of an endpoint whose keys were renamed or moved: found by the stored values of its rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from agentic.core.linear import LinearPattern
from agentic.core.pipeline.expressions.expressions import query
from agentic.core.pipeline.repairs.paths import ItemValues, PathChoice, choose_paths, is_empty, name_words
from agentic.core.pipeline.repairs.stored_rows import MAX_ROWS, MIN_ROWS, has_letters, names_a_block_beside
from agentic.core.reading.addresses import absolute
from agentic.core.types import JSONValue
from agentic.core.wrappers.words import plain

MAX_DEPTH = 8
MAX_LISTS = 60
MAX_ITEMS = 250
MAX_LEAVES = 300
MIN_TOKEN = 3
SURE_TOKEN = 6
RIVAL = 0.6
ALIKE = 0.5
"""Common share of the paths of two lists with items of one kind."""

LINK = "url"
"""The field of a stored row with the address that an item links to."""

WORKS = 0.5
"""A path still works if it gives a value for this share of the rows with a value."""

_NEXT_WORDS = frozenset({"next", "following", "more"})
_CURSOR_WORDS = frozenset({"next", "cursor", "after", "continuation"})
_NAME = LinearPattern(r"[A-Za-z_][A-Za-z0-9_]*")
Pairs = list[tuple[int, Mapping[str, JSONValue]]]


@dataclass(frozen=True, slots=True)
class FoundItems:
    """The list of items in new data.

    Attributes:
        path: Leads to it; None for the whole answer.
        items: Its items.
        pairs: Number of an item, and its stored row.
        score: Share of the rows, or of the items if these are fewer.
        runner_up: The same for the best other list.
    """

    path: str | None
    items: Sequence[JSONValue]
    pairs: Pairs
    score: float
    runner_up: float


def items_at(path: str | None, data: JSONValue) -> list[JSONValue]:
    """Return the items at a path; none where it leads nowhere."""
    try:
        found = data if path is None else query(path, data)
    except ValueError:
        return []
    return found if isinstance(found, list) else [] if is_empty(found) else [found]


def find_items(data: JSONValue, rows: Sequence[Mapping[str, JSONValue]]) -> FoundItems | str:
    """Return the list in new data that has the stored rows as items, or why none can be named."""
    rows = rows[:MAX_ROWS]
    weighed = []
    for path, items in islice(_lists(data, "", 0), MAX_LISTS):
        pairs = pair_items(items, rows)
        if pairs and not any(map(names_a_block_beside, path.split("."))):
            weighed.append((len(pairs), path, items, pairs))
    weighed.sort(key=lambda one: (-one[0], one[1].count("."), one[1]))
    needed = min(len(rows), MIN_ROWS)
    if not weighed or weighed[0][0] < needed:
        most = weighed[0][0] if weighed else 0
        return f"no list in the answer has {needed} of the {len(rows)} stored rows; the best has {most}"
    count, path, items, pairs = weighed[0]
    wanted = {id(row) for _, row in pairs}
    for other in weighed[1:]:
        new = sum(id(row) not in wanted for _, row in other[3])
        if other[0] == count or new > RIVAL * count:
            return f"{path!r} has {count} stored rows, and {other[1]!r} has {other[0]}: it is unclear which"
    for other_path, others in islice(_lists(data, "", 0), MAX_LISTS):
        if other_path != path and len(others) >= len(items) and _is_alike(items, others):
            return f"{path!r} has {count} stored rows, but {other_path!r} has as many items like these"
    possible = max(1, min(len(rows), len(items)))
    runner_up = weighed[1][0] / possible if len(weighed) > 1 else 0.0
    return FoundItems(path or None, items, pairs, min(1.0, count / possible), min(1.0, runner_up))


def _is_alike(items: Sequence[JSONValue], others: Sequence[JSONValue]) -> bool:
    """Return whether two lists have items of one kind: with mostly the same paths."""
    one, other = ({path for item in them[:MAX_ROWS] for path in values_in(item)} for them in (items, others))
    return len(one & other) >= ALIKE * max(1, len(one | other))


def found_at(path: str | None, data: JSONValue, rows: Sequence[Mapping[str, JSONValue]]) -> FoundItems | None:
    """Return the items at a path that still works, with their stored rows; None where it gives none."""
    items = items_at(path, data)
    if not items:
        return None
    pairs = pair_items(items, rows[:MAX_ROWS])
    return FoundItems(path, items, pairs, 1.0, 0.0)


def pair_items(items: Sequence[JSONValue], rows: Sequence[Mapping[str, JSONValue]]) -> Pairs:
    """Return which item is which row: by texts and numbers that one item and one row alone have."""
    of_items = [_tokens(item) for item in items]
    of_rows = [_tokens(list(row.values())) for row in rows]
    item_counts = Counter(token for tokens in of_items for token in tokens)
    row_counts = Counter(token for tokens in of_rows for token in tokens)
    owner = {token: at for at, tokens in enumerate(of_items) for token in tokens if item_counts[token] == 1}
    pairs: Pairs = []
    for row, tokens in zip(rows, of_rows, strict=True):
        votes: Counter[int] = Counter()
        for token in tokens:
            if row_counts[token] == 1 and token in owner:
                votes[owner[token]] += 2 if len(token) >= SURE_TOKEN and has_letters(token) else 1
        best = votes.most_common(2)
        if best and best[0][1] >= 2 and (len(best) < 2 or best[0][1] > best[1][1]):
            pairs.append((best[0][0], row))
    once = Counter(at for at, _ in pairs)
    return [(at, row) for at, row in pairs if once[at] == 1]


def broken_fields(fields: Mapping[str, str], items: Sequence[JSONValue], pairs: Pairs) -> list[str]:
    """Return the fields whose paths give nothing for most items that had a value."""
    broken = []
    for name, path in fields.items():
        had = [at for at, row in pairs if not is_empty(row.get(name))] or list(range(len(items)))
        given = sum(any(not is_empty(one) for one in items_at(path, items[at])) for at in had)
        if not given or given < WORKS * len(had):
            broken.append(name)
    return broken


def find_fields(
    found: FoundItems, wanted: Mapping[str, str], others: Sequence[Sequence[JSONValue]] = (), base: str = ""
) -> dict[str, PathChoice | str]:
    """Return the new path of each field within an item, or why it cannot be said.

    Args:
        found: The items.
        wanted: Field -> its old path.
        others: Items of further pages, on which a path must give something.
        base: Address of the page: stored addresses are absolute.
    """
    items = [values_in(item) for item in found.items[:MAX_ITEMS]]
    pairs = [(at, row) for at, row in found.pairs if at < MAX_ITEMS]
    there = [[values_in(item) for item in page[:MAX_ITEMS]] for page in others]
    values = {name: path for name, path in wanted.items() if name != LINK}
    links = {name: path for name, path in wanted.items() if name == LINK}
    addresses = [_addresses(item, base) for item in items] if links else []
    return {**choose_paths(items, pairs, values, there), **choose_paths(addresses, pairs, links, there)}


def values_in(item: JSONValue) -> ItemValues:
    """Return the values of an item with their paths: texts, numbers, booleans, and lists of these."""
    return {".".join(path): value for path, value in islice(_leaves(item, ()), MAX_LEAVES)}


def _addresses(values: ItemValues, base: str) -> ItemValues:
    """Return the texts that may be addresses, as absolute ones."""
    texts = {path: value for path, value in values.items() if isinstance(value, str) and " " not in value}
    return {path: absolute(base, text) for path, text in texts.items()}


def is_gone(path: str, data: JSONValue) -> bool:
    """Return whether the key at the end of a dotted path is gone; not if it is there with null."""
    for key in path.split("."):
        if not _NAME.fullmatch(key):
            return False  # an expression, which may rightly give nothing
        if not isinstance(data, dict) or key not in data:
            return True
        data = data[key]
        if data is None:
            return False
    return False


def find_next_path(data: JSONValue, *, is_cursor: bool) -> list[tuple[str, JSONValue]]:
    """Return the paths outside lists that may lead to a next page, with their values; up to three."""
    found = []
    for path, value in values_in(data).items():
        words = set(name_words(path))
        is_address = isinstance(value, str) and value.startswith(("http://", "https://", "/", "?"))
        is_scalar = isinstance(value, str | int) and not isinstance(value, bool) and not is_address
        if (is_cursor and is_scalar and not words.isdisjoint(_CURSOR_WORDS)) or (
            not is_cursor and is_address and not _NEXT_WORDS.isdisjoint((*words, *path.lower().split(".")))
        ):
            found.append((path, value))
    return found[:3]


def data_in_scripts(scripts: Mapping[str, str]) -> dict[str, JSONValue]:
    """Return the data of scripts that are JSON, by their ids."""
    found: dict[str, JSONValue] = {}
    for name, text in scripts.items():
        try:
            found[name] = json.loads(text)
        except (ValueError, RecursionError):
            continue
    return found


def _leaves(value: JSONValue, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], JSONValue]]:
    if isinstance(value, dict):
        if len(path) < MAX_DEPTH:
            for key, part in value.items():
                yield from _leaves(part, (*path, _quoted(key)))
    elif isinstance(value, list):
        if path and value and all(isinstance(one, str | int | float) for one in value):
            yield path, value
    elif path and value is not None:
        yield path, value


def _lists(data: JSONValue, path: str, depth: int) -> Iterator[tuple[str, list[JSONValue]]]:
    """Yield the lists of objects with their paths, those in the items of outer lists joined."""
    if isinstance(data, list):
        inner = [one for one in data if isinstance(one, dict)]
        if inner:
            yield path, data[:MAX_ITEMS]
        if depth < MAX_DEPTH and path:
            for key in dict.fromkeys(key for one in inner[:MAX_ITEMS] for key in one):
                parts = [part for one in inner[:MAX_ITEMS] if isinstance(part := one.get(key), list)]
                if any(isinstance(one, dict) for part in parts for one in part):
                    joined = [one for part in parts for one in part]
                    yield from _lists(joined, f"{path}[].{_quoted(key)}[]", depth + 1)
    elif isinstance(data, dict) and depth < MAX_DEPTH:
        for key, part in data.items():
            yield from _lists(part, f"{path}.{_quoted(key)}" if path else _quoted(key), depth + 1)


def _quoted(key: str) -> str:
    return key if _NAME.fullmatch(key) else json.dumps(key)


def _tokens(value: JSONValue) -> set[str]:
    """Return the texts and numbers in a value that may say which item it is."""
    found: set[str] = set()
    waiting, count = [value], 0
    while waiting and count < MAX_LEAVES:
        one = waiting.pop()
        count += 1
        if isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, str | int | float) and not isinstance(one, bool):
            text = plain(str(one))
            if len(text) >= MIN_TOKEN:
                found.add(text)
    return found
