"""A small arXiv: papers that follow from numbers, and an API that finds them.

Written after https://info.arxiv.org/help/api/user-manual.html; the package ``arxiv`` reads it in
``test_library.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from xml.sax.saxutils import escape

from agentic.fakes.control import Control

Query = Mapping[str, str]

ATOM = "application/atom+xml; charset=utf-8"
FIRST = datetime(2026, 1, 1, 12, tzinfo=UTC)
WORDS = ("graphs", "lattices", "agents", "queues")
AUTHORS = ("Ada Lovelace", "Évariste Galois", "Emmy Noether")
CATEGORIES = ("cs.CL", "math.CO", "stat.ML", "hep-th", "cs.DC")
MAX_RESULTS = 2_000
SORTS = ("relevance", "lastUpdatedDate", "submittedDate")

_TOKEN = re.compile(r'\s*(\(|\)|(?:[A-Za-z]+:)?"[^"]*"|[^\s()]+)')
_NEW_ID = re.compile(r"\d{4}\.\d{4,5}(?:v\d+)?")
_OLD_ID = re.compile(r"[a-z-]+(?:\.[A-Z]{2})?/\d{7}(?:v\d+)?")


@dataclass(frozen=True)
class Answer:
    """What is said to one request."""

    body: str
    status: int = 200
    content_type: str = ATOM
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Paper:
    """A paper; all of it follows from its number and its version."""

    number: int
    version: int

    @property
    def name(self) -> str:
        """The id without a version: every tenth is of the old kind."""
        n = self.number
        return f"hep-th/99{n // 1000 + 1:02}{n % 1000:03}" if n % 10 == 0 else f"2601.{n:05}"

    @property
    def title(self) -> str:
        """A title with what has to be escaped."""
        word, other = WORDS[self.number % 4], WORDS[self.number // 4 % 4]
        return f"On {word} & {other} < {self.number}"

    @property
    def summary(self) -> str:
        """An abstract of two lines."""
        return f"  We study {WORDS[self.number % 4]}.\nThey are number {self.number}. "

    @property
    def authors(self) -> tuple[str, ...]:
        """One to three of them."""
        return AUTHORS[: self.number % 3 + 1]

    @property
    def categories(self) -> tuple[str, ...]:
        """The first is the primary one."""
        found = (CATEGORIES[self.number % 5], CATEGORIES[self.number % 3])
        return tuple(dict.fromkeys(found))

    @property
    def published(self) -> datetime:
        """When its first version came: a higher number later."""
        return FIRST + timedelta(hours=self.number)

    @property
    def updated(self) -> datetime:
        """When its version came: of a second one, a hundred days after the first."""
        return self.published + timedelta(days=100 * (self.version - 1))


class RefusedError(Exception):
    """A request that makes no sense."""


class Library:
    """Papers, each fourth of them in its second version.

    Args:
        count: How many there are.
        control: Faults to inject.
    """

    def __init__(self, count: int = 60, control: Control | None = None) -> None:
        self.control = control or Control()
        self.url = ""
        self.host = ""
        self.count = count
        self.requests: list[dict[str, str]] = []
        self._faults: list[Answer | None] = []

    def papers(self) -> list[Paper]:
        """Return each paper in its newest version."""
        return [Paper(number, 2 if number % 4 == 0 else 1) for number in range(1, self.count + 1)]

    def fail(self, status: int, times: int = 1) -> None:
        """Answer the next requests with an error; with 200, as arXiv at times does, with an empty page."""
        busy = Answer("Rate exceeded.", status, "text/plain", {"Retry-After": "0"})
        self._faults += [None if status == 200 else busy] * times

    def answer(self, path: str, query: Query) -> Answer:
        """Say what a request gets."""
        self.requests.append(dict(query))
        if path.rstrip("/") != "/api/query":
            return Answer("not found", 404, "text/plain")
        fault = self._faults.pop(0) if self._faults else Answer("")
        if fault is not None and fault.status != 200:
            return fault
        try:
            start, size = number_of(query, "start", 0), number_of(query, "max_results", 10)
            if size > MAX_RESULTS * 15:
                raise RefusedError("max_results must not exceed 30000")
            found = self._found(query)
        except RefusedError as refusal:
            return Answer(refused(str(refusal)), 400)
        page = found[start : start + min(size, MAX_RESULTS)] if fault is not None else []
        return Answer(feed(query, page, total=len(found), start=start, size=size))

    def _found(self, query: Query) -> list[Paper]:
        ids = [name.strip() for name in query.get("id_list", "").split(",") if name.strip()]
        for name in ids:
            if not (_NEW_ID.fullmatch(name) or _OLD_ID.fullmatch(name)):
                raise RefusedError(f"incorrect id format for {name}")
        text = query.get("search_query", "").strip()
        fits = search_of(text) if text else lambda paper: bool(ids)
        papers = self._named(ids) if ids else self.papers()
        return ordered([paper for paper in papers if fits(paper)], query)

    def _named(self, ids: Sequence[str]) -> list[Paper]:
        """Return papers by their ids, each in the version that is asked for: unknown ones are left out."""
        newest = {paper.name: paper for paper in self.papers()}
        found = []
        for name in ids:
            bare, _, version = name.partition("v") if re.search(r"v\d+$", name) else (name, "", "")
            paper = newest.get(bare)
            if paper is not None and int(version or 1) <= paper.version:
                found.append(Paper(paper.number, int(version) if version else paper.version))
        return found


def number_of(query: Query, name: str, default: int) -> int:
    """Return a number of a query."""
    text = query.get(name, str(default))
    if not re.fullmatch(r"-?\d+", text):
        raise RefusedError(f"{name} must be an integer")
    if int(text) < 0:
        raise RefusedError(f"{name} must be non-negative")
    return int(text)


def ordered(found: list[Paper], query: Query) -> list[Paper]:
    """Return papers in the order that a query asks for; what fits best is what has the lowest number."""
    by, way = query.get("sortBy", "relevance"), query.get("sortOrder", "descending")
    if by not in SORTS:
        raise RefusedError(f"sortBy must be in: {', '.join(SORTS)}")
    if way not in ("ascending", "descending"):
        raise RefusedError("sortOrder must be in: ascending, descending")
    keys: dict[str, Callable[[Paper], datetime | int]] = {
        "relevance": lambda paper: -paper.number,
        "lastUpdatedDate": lambda paper: paper.updated,
        "submittedDate": lambda paper: paper.published,
    }
    return sorted(found, key=keys[by], reverse=way == "descending")


def search_of(text: str) -> Callable[[Paper], bool]:
    """Return what a query is true of: terms with AND, OR, ANDNOT and brackets, from left to right."""
    tokens = [found[1] for found in _TOKEN.finditer(text)]
    fits, rest = _either(tokens)
    if rest:
        raise RefusedError(f"the query ends before {rest[0]}")
    return fits


def _either(tokens: list[str]) -> tuple[Callable[[Paper], bool], list[str]]:
    left, tokens = _term(tokens)
    while tokens and tokens[0] in ("AND", "OR", "ANDNOT"):
        word, (right, rest) = tokens[0], _term(tokens[1:])
        left, tokens = _joined(word, left, right), rest
    return left, tokens


def _joined(
    word: str, left: Callable[[Paper], bool], right: Callable[[Paper], bool]
) -> Callable[[Paper], bool]:
    if word == "OR":
        return lambda paper: left(paper) or right(paper)
    return lambda paper: left(paper) and right(paper) is (word == "AND")


def _term(tokens: list[str]) -> tuple[Callable[[Paper], bool], list[str]]:
    if not tokens:
        raise RefusedError("the query ends too early")
    if tokens[0] == "(":
        inner, rest = _either(tokens[1:])
        if rest[:1] != [")"]:
            raise RefusedError("a bracket is not closed")
        return inner, rest[1:]
    where, _, wanted = tokens[0].rpartition(":")
    phrase = wanted.strip('"').lower().replace("_", " ")
    return (lambda paper: any(phrase in text.lower() for text in texts(paper, where))), tokens[1:]


def texts(paper: Paper, where: str) -> Iterator[str]:
    """Yield what a prefix of a query looks at; ``all`` and none at everything."""
    told = {"ti": [paper.title], "abs": [paper.summary], "au": paper.authors, "cat": paper.categories}
    if where in ("", "all"):
        yield from (text for group in told.values() for text in group)
    elif where not in told:
        raise RefusedError(f"unknown prefix {where}")
    else:
        yield from told[where]


def feed(query: Query, page: Sequence[Paper], *, total: int, start: int, size: int) -> str:
    """Return a page of results as arXiv writes it."""
    asked = f"search_query={query.get('search_query', '')}&id_list={query.get('id_list', '')}"
    return f"""<?xml version='1.0' encoding='UTF-8'?>
<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:arxiv="http://arxiv.org/schemas/atom"
  xmlns="http://www.w3.org/2005/Atom">
  <id>https://arxiv.org/api/cHxbiOdZaP56ODnBPIenZhzg5f8</id>
  <title>arXiv Query: {escape(asked)}</title>
  <updated>2026-04-12T22:09:26Z</updated>
  <opensearch:itemsPerPage>{size}</opensearch:itemsPerPage>
  <opensearch:totalResults>{total}</opensearch:totalResults>
  <opensearch:startIndex>{start}</opensearch:startIndex>{"".join(map(entry, page))}
</feed>
"""


def entry(paper: Paper) -> str:
    """Return a paper as arXiv writes it; each third says more than others do."""
    name = f"{paper.name}v{paper.version}"
    more = ""
    if paper.number % 3 == 0:
        more = f"""
    <arxiv:comment>{paper.number} pages</arxiv:comment>
    <arxiv:journal_ref>J. of X {paper.number} (2026)</arxiv:journal_ref>
    <arxiv:doi>10.1000/{paper.number}</arxiv:doi>"""
    authors = "".join(f"\n    <author><name>{name}</name></author>" for name in paper.authors)
    terms = "".join(
        f'\n    <category term="{term}" scheme="http://arxiv.org/schemas/atom"/>' for term in paper.categories
    )
    return f"""
  <entry>
    <id>http://arxiv.org/abs/{name}</id>
    <title>{escape(paper.title)}</title>
    <updated>{iso(paper.updated)}</updated>
    <link href="https://arxiv.org/abs/{name}" rel="alternate" type="text/html"/>
    <link href="https://arxiv.org/pdf/{name}" rel="related" type="application/pdf" title="pdf"/>
    <summary>{escape(paper.summary)}</summary>{terms}
    <published>{iso(paper.published)}</published>
    <arxiv:primary_category term="{paper.categories[0]}"/>{more}{authors}
  </entry>"""


def refused(reason: str) -> str:
    """Return how arXiv says what is wrong with a request: as an entry of a feed."""
    where = f"https://arxiv.org/api/errors#{reason.replace(' ', '_')}"
    return f"""<?xml version='1.0' encoding='UTF-8'?>
<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns="http://www.w3.org/2005/Atom">
  <id>https://arxiv.org/</id>
  <title>arXiv Search Results</title>
  <updated>2026-04-12T22:59:06Z</updated>
  <opensearch:itemsPerPage>1</opensearch:itemsPerPage>
  <opensearch:totalResults>1</opensearch:totalResults>
  <opensearch:startIndex>0</opensearch:startIndex>
  <entry>
    <id>{escape(where)}</id>
    <title>Error</title>
    <updated>2026-04-12T22:59:06Z</updated>
    <link href="{escape(where, {'"': "&quot;"})}" rel="alternate" type="text/html"/>
    <summary>{escape(reason)}</summary>
    <author><name>arXiv api core</name></author>
  </entry>
</feed>
"""


def iso(moment: datetime) -> str:
    """Return a moment as arXiv writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
