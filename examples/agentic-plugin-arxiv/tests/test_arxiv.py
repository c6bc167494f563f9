"""The platform against an API of the tests' own, held to the contract of all platforms."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import pytest
from agentic.core.graph import RetryPolicy
from agentic.core.http import UnexpectedAnswerError, open_fetcher
from agentic.core.types import JSONValue
from agentic.executors.testing import (
    ExecutorContract,
    MapperContract,
    MapperSamples,
    PlatformContract,
    RunAgent,
    Site,
)
from pydantic import ValidationError

from agentic_plugin_arxiv.atom import read_page
from agentic_plugin_arxiv.client import ArxivClient
from agentic_plugin_arxiv.executor import ReadFirst
from agentic_plugin_arxiv.items import Search, Slice
from agentic_plugin_arxiv.models import ArxivPaperModel
from agentic_plugin_arxiv.settings import ArxivSettings

QUERY = "/api/query"
Config = dict[str, JSONValue]


def entry(name: str, more: str = "") -> str:
    """Return a paper as arXiv writes it."""
    return f"""
  <entry>
    <id>http://arxiv.org/abs/{name}</id>
    <title>A title that is
  broken in two</title>
    <updated>2026-02-02T12:00:00Z</updated>
    <published>2026-01-31T17:59:59Z</published>
    <link href="https://arxiv.org/abs/{name}" rel="alternate" type="text/html"/>
    <link href="https://arxiv.org/pdf/{name}" rel="related" type="application/pdf" title="pdf"/>
    <summary>  We show that 1 &lt; 2.
 It is so.
</summary>
    <category term="cs.CL" scheme="http://arxiv.org/schemas/atom"/>
    <category term="stat.ML" scheme="http://arxiv.org/schemas/atom"/>
    <arxiv:primary_category term="cs.CL"/>
    <author><name>Ada Lovelace</name><arxiv:affiliation>London</arxiv:affiliation></author>
    <author><name>Évariste Galois</name></author>{more}
  </entry>"""


def feed(names: Sequence[str] = (), total: int | None = None, more: str = "") -> str:
    """Return an answer."""
    return f"""<?xml version='1.0' encoding='UTF-8'?>
<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:arxiv="http://arxiv.org/schemas/atom"
  xmlns="http://www.w3.org/2005/Atom">
  <id>https://arxiv.org/api/cHxbiOdZaP56ODnBPIenZhzg5f8</id>
  <title>arXiv Query: search_query=cat:cs.CL</title>
  <updated>2026-02-03T00:00:00Z</updated>
  <opensearch:itemsPerPage>{len(names)}</opensearch:itemsPerPage>
  <opensearch:totalResults>{len(names) if total is None else total}</opensearch:totalResults>
  <opensearch:startIndex>0</opensearch:startIndex>{"".join(map(entry, names))}{more}
</feed>"""


def starts(site: Site) -> list[str]:
    """Return where each request began."""
    return [parse_qs(urlsplit(target).query)["start"][0] for target in site.requests]


@pytest.fixture
def config(agentic_site: Site) -> Config:
    """The config of an agent whose API is served by this test, and needs less rest than arXiv."""
    agentic_site.serve(f"{QUERY}?start=0", feed(["2601.00003v2", "2601.00002v1"], 3))
    agentic_site.serve(f"{QUERY}?start=2", feed(["hep-th/9901001v1"], 3))
    return {
        "base_url": f"{agentic_site.url}/api",
        "query": 'cat:cs.CL AND ti:"a title"',
        "per_page": 2,
        "requests_per_second": 50,
        "allow_private_hosts": [agentic_site.host],
    }


class TestPlatform(PlatformContract):
    """ArXiv is a platform."""

    platform = "arxiv"
    model = ArxivPaperModel
    row_count = 3


def paper(name: str, **more: JSONValue) -> dict[str, JSONValue]:
    """Return a paper as the executor gives it."""
    return {"id": name, "version": 1, "title": "A title", "raw": {"id": name}, **more}


def found(*papers: JSONValue) -> dict[str, object]:
    """Return what the executor gives that read these papers."""
    return {"papers": papers, "warnings": []}


class TestMapper(MapperContract):
    """Its mapper stores papers."""

    platform = "arxiv"
    samples = MapperSamples(
        results=found(paper("2601.00001", doi="10.1000/182", comment="3 figures"), paper("2601.00002")),
        row_count=2,
        shorter=found(paper("2601.00001"), paper("2601.00002")),
        with_a_bad_one=found(paper("2601.00001"), {"title": "has no id"}, paper("2601.00002")),
        with_no_json=found(paper("2601.00001", raw={"odd": float("nan")}), paper("2601.00002")),
    )


class TestReadFirst(ExecutorContract):
    """The first node of its graph is an executor."""

    @pytest.fixture
    async def executor(self, config: Config, agentic_site: Site) -> AsyncIterator[ReadFirst]:
        """Give one that asks the API of this test."""
        policy = ArxivSettings.model_validate(config).policy()
        async with open_fetcher(policy) as fetcher:
            yield ReadFirst(ArxivClient(f"{agentic_site.url}/api", fetcher), RetryPolicy())

    @pytest.fixture
    def message(self) -> Search:
        """Give a search for three papers, two a page."""
        return Search(query="cat:cs.CL", sort="relevance", limit=3, per_page=2)

    @pytest.fixture
    def outputs(self, message: Search) -> list[object]:
        """Give its two slices, the first of them read."""
        body = feed(["2601.00003v2", "2601.00002v1"], 3).encode()
        first = Slice(search=message, count=2, papers=read_page(body, "").papers)
        return [[first, Slice(search=message, start=2, count=1)]]


def test_a_paper_becomes_a_row_with_all_that_is_said_of_it(
    config: Config, agentic_site: Site, run_agent: RunAgent
) -> None:
    told = """
    <arxiv:comment>12 pages,
 3 figures</arxiv:comment>
    <arxiv:journal_ref>J. of X 1 (2026)</arxiv:journal_ref>
    <arxiv:doi>10.1000/182</arxiv:doi>
    <link title="doi" href="http://dx.doi.org/10.1000/182" rel="related"/>"""
    agentic_site.serve(f"{QUERY}?start=0", feed(total=1, more=entry("2601.00001v3", told)))

    (row,) = run_agent("arxiv", {**config, "per_page": 3, "limit": 3}).rows(ArxivPaperModel)

    assert (row.id, row.version, row.title) == ("2601.00001", 3, "A title that is broken in two")
    assert row.summary == "We show that 1 < 2.\n It is so."
    assert row.authors == ["Ada Lovelace", "Évariste Galois"]
    assert (row.primary_category, row.categories) == ("cs.CL", ["cs.CL", "stat.ML"])
    assert row.published == datetime(2026, 1, 31, 17, 59, 59, tzinfo=UTC)
    assert row.updated == datetime(2026, 2, 2, 12, tzinfo=UTC)
    assert (row.doi, row.journal_ref) == ("10.1000/182", "J. of X 1 (2026)")
    assert (row.comment, row.pdf_url) == ("12 pages, 3 figures", "https://arxiv.org/pdf/2601.00001v3")
    assert isinstance(row.raw, dict)
    assert row.raw["arxiv_affiliation"] == "London"


def test_it_is_asked_as_its_manual_says(config: Config, agentic_site: Site, run_agent: RunAgent) -> None:
    run_agent("arxiv", {**config, "sort": "lastUpdatedDate"})

    queries = [parse_qs(urlsplit(target).query) for target in agentic_site.requests]
    assert queries[0] == {
        "search_query": ['cat:cs.CL AND ti:"a title"'],
        "start": ["0"],
        "max_results": ["2"],
        "sortBy": ["lastUpdatedDate"],
        "sortOrder": ["descending"],
    }
    assert [(query["start"], query["max_results"]) for query in queries[1:]] == [(["2"], ["1"])]
    assert "agentic" in agentic_site.headers[0]["user-agent"].lower()


def test_no_more_is_read_than_wanted(config: Config, agentic_site: Site, run_agent: RunAgent) -> None:
    ran = run_agent("arxiv", {**config, "limit": 2})

    assert (starts(agentic_site), ran.outcome.counts.inserted) == (["0"], 2)


def test_a_new_version_is_an_update_of_its_row(
    config: Config, agentic_site: Site, run_agent: RunAgent
) -> None:
    run_agent("arxiv", config)
    agentic_site.serve(f"{QUERY}?start=2", feed(["hep-th/9901001v2"], 3))

    ran = run_agent("arxiv", config)

    assert (ran.outcome.counts.updated, ran.outcome.counts.unchanged) == (1, 2)
    assert {row.id: row.version for row in ran.rows(ArxivPaperModel)}["hep-th/9901001"] == 2


def test_requests_keep_their_distance(config: Config, agentic_site: Site, run_agent: RunAgent) -> None:
    begun = time.monotonic()

    run_agent("arxiv", {**config, "per_page": 1, "limit": 3, "requests_per_second": 4})

    assert len(agentic_site.requests) >= 3
    assert time.monotonic() - begun >= 0.5


@pytest.mark.parametrize("times", [1, 2, 4])
def test_a_page_that_is_empty_for_a_while_is_asked_for_until_it_is_full(
    config: Config, agentic_site: Site, run_agent: RunAgent, times: int
) -> None:
    for _ in range(times):
        agentic_site.fail(QUERY, status=200, content=feed(total=3))

    ran = run_agent("arxiv", config)

    assert starts(agentic_site) == [*["0"] * (times + 1), "2"]
    assert (ran.outcome.counts.inserted, ran.outcome.warnings) == (3, ())


@pytest.mark.parametrize("said_total", [0, 3])
def test_an_empty_page_is_asked_for_once_more(
    config: Config, agentic_site: Site, run_agent: RunAgent, said_total: int
) -> None:
    agentic_site.fail(QUERY, status=200, content=feed(total=said_total))

    ran = run_agent("arxiv", config)

    assert starts(agentic_site) == ["0", "0", "2"]
    assert ran.outcome.counts.inserted == 3


def test_a_page_that_stays_empty_is_a_warning_and_the_others_are_kept(
    config: Config, agentic_site: Site, run_agent: RunAgent
) -> None:
    agentic_site.serve(f"{QUERY}?start=2", feed(total=3))

    ran = run_agent("arxiv", config)

    assert ran.outcome.counts.inserted == 2
    assert "results 3 to 3 were not read" in "".join(ran.outcome.warnings)


def test_a_page_with_less_than_was_asked_for_is_a_warning(
    config: Config, agentic_site: Site, run_agent: RunAgent
) -> None:
    agentic_site.serve(f"{QUERY}?start=0", feed(["2601.00003v2"], 3))

    ran = run_agent("arxiv", config)

    assert "results 1 to 2: arXiv gave 1 of 2" in "".join(ran.outcome.warnings)


def test_nothing_found_is_no_failure(config: Config, agentic_site: Site, run_agent: RunAgent) -> None:
    agentic_site.serve(f"{QUERY}?start=0", feed())

    ran = run_agent("arxiv", config)

    assert (ran.outcome.error, ran.outcome.warnings, ran.rows(ArxivPaperModel)) == (None, (), [])


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_is_too_busy_is_asked_again(
    config: Config, agentic_site: Site, run_agent: RunAgent, status: int
) -> None:
    agentic_site.fail(QUERY, status=status)

    assert run_agent("arxiv", config).outcome.counts.inserted == 3


@pytest.mark.parametrize("status", [200, 400])
def test_what_arxiv_says_is_wrong_with_a_search_is_told(
    config: Config, agentic_site: Site, run_agent: RunAgent, status: int
) -> None:
    said = """
  <entry>
    <id>https://arxiv.org/api/errors#incorrect_id_format_for_abc</id>
    <title>Error</title>
    <summary>incorrect id format for abc</summary>
  </entry>"""
    agentic_site.serve(f"{QUERY}?start=0", feed(total=1, more=said), status=status)

    ran = run_agent("arxiv", config)

    assert "arXiv refuses the search: incorrect id format for abc" in str(ran.outcome.error)
    assert len(agentic_site.requests) == 1


def test_a_search_that_is_refused_is_not_tried_again(
    config: Config, agentic_site: Site, run_agent: RunAgent
) -> None:
    agentic_site.serve(f"{QUERY}?start=0", "bad request", status=400)

    ran = run_agent("arxiv", config)

    assert "correct the agent's query" in str(ran.outcome.error)
    assert len(agentic_site.requests) == 1


def test_an_entry_that_is_no_paper_is_a_warning_and_the_others_are_kept(
    config: Config, agentic_site: Site, run_agent: RunAgent
) -> None:
    agentic_site.serve(f"{QUERY}?start=2", feed(total=3, more="<entry><title>has no id</title></entry>"))

    ran = run_agent("arxiv", config)

    assert ran.outcome.counts.inserted == 2
    assert "paper 2 was rejected: id" in "".join(ran.outcome.warnings)


BOMB = "".join(
    f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "x" * 100}">' for n in range(9)
)  # ten billion characters
ANSWER = feed(["2601.00001v1"]).partition("?>")[2].replace("A title", "&e8;")


@pytest.mark.parametrize(
    "body",
    [
        f"<?xml version='1.0'?><!DOCTYPE feed [{BOMB}]>{ANSWER}".encode(),
        f"<?xml version='1.0' encoding='utf-16'?><!DOCTYPE feed [{BOMB}]>{ANSWER}".encode("utf-16"),
        f"<?xml version='1.0' encoding='utf-16'?>\n<!DOCTYPE feed [\n{BOMB}\n]>{ANSWER}".encode("utf-16"),
        feed(["2601.00001v1"]).encode()[:-20],
        b"<html><body>Rate exceeded.</body></html>",
        b'<feed xmlns="http://www.w3.org/2005/Atom"><title>another feed</title></feed>',
        b"",
    ],
    ids=["bomb", "bomb-utf-16", "bomb-utf-16-lines", "cut-off", "html", "other-feed", "empty"],
)
def test_what_is_no_answer_of_arxiv_is_refused_at_once(body: bytes) -> None:
    begun = time.process_time()

    with pytest.raises(UnexpectedAnswerError):
        read_page(body, "https://export.arxiv.org/api/query")

    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"query": ""},
        {"query": "cat:cs.CL", "limit": 0},
        {"query": "cat:cs.CL", "per_page": 2001},
        {"query": "cat:cs.CL", "sort": "title"},
        {"query": "cat:cs.CL", "requests_per_second": 1},
        {"query": "cat:cs.CL", "requests_per_second": None},
    ],
)
def test_a_config_that_makes_no_sense_or_breaks_the_rules_of_arxiv_is_refused(wrong: Config) -> None:
    with pytest.raises(ValidationError):
        ArxivSettings.model_validate(wrong)


def test_arxiv_is_asked_once_in_three_seconds_over_one_connection() -> None:
    policy = ArxivSettings(query="cat:cs.CL").policy()

    assert policy.requests_per_second == pytest.approx(1 / 3)
    assert policy.max_connections_per_host == 1
