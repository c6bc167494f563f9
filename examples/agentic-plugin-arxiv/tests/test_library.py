"""The package arxiv, unchanged, against the library of these tests; and what the platform reads beside it."""

from __future__ import annotations

import arxiv
import pytest
from agentic.core.types import JSONValue
from agentic.executors.testing import RunAgent
from agentic.fakes.control import Fault
from library import Library, Paper

from agentic_plugin_arxiv.models import ArxivPaperModel

Config = dict[str, JSONValue]


@pytest.fixture
def client(library: Library) -> arxiv.Client:
    """Give a client of the library that waits for nothing."""
    return client_of(library)


def client_of(library: Library, page_size: int = 10, num_retries: int = 0) -> arxiv.Client:
    """Return a client of the library."""
    client = arxiv.Client(page_size=page_size, delay_seconds=0, num_retries=num_retries)
    client.query_url_format = f"{library.url}/api/query?{{}}"
    return client


@pytest.fixture
def config(library: Library) -> Config:
    """Give the config of an agent that reads all papers of the library."""
    return {
        "base_url": f"{library.url}/api",
        "query": "all:study",
        "limit": 1000,
        "per_page": 25,
        "requests_per_second": 50,
        "allow_private_hosts": [library.host],
    }


def ids(client: arxiv.Client, query: str = "", **options: object) -> list[str]:
    """Return the ids of what a search finds, with their versions."""
    return [found.get_short_id() for found in client.results(arxiv.Search(query, **options))]


def names(papers: list[Paper]) -> list[str]:
    """Return the ids of papers, with their versions."""
    return [f"{paper.name}v{paper.version}" for paper in papers]


def test_a_paper_is_read_with_all_that_is_said_of_it(client: arxiv.Client) -> None:
    (found,) = client.results(arxiv.Search(id_list=["2601.00012"]))
    assert (found.get_short_id(), found.title) == ("2601.00012v2", "On graphs & queues < 12")
    assert (found.published.isoformat(), found.updated.isoformat()) == (
        "2026-01-02T00:00:00+00:00",
        "2026-04-12T00:00:00+00:00",
    )
    assert [author.name for author in found.authors] == ["Ada Lovelace"]
    assert (found.primary_category, found.categories) == ("stat.ML", ["stat.ML", "cs.CL"])
    assert (found.doi, found.comment, found.journal_ref) == ("10.1000/12", "12 pages", "J. of X 12 (2026)")
    assert found.pdf_url == "https://arxiv.org/pdf/2601.00012v2"
    assert "They are number 12." in found.summary


def test_a_search_is_read_page_by_page(client: arxiv.Client, library: Library) -> None:
    wanted = names(library.papers())
    assert ids(client, "study", max_results=None) == wanted
    assert [query["start"] for query in library.requests] == ["0", "10", "20", "30", "40", "50"]
    assert ids(client, "study", max_results=15) == wanted[:15]
    rest = client.results(arxiv.Search("study", max_results=None), offset=55)
    assert [found.get_short_id() for found in rest] == wanted[55:]


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        ("cat:cs.CL", lambda paper: "cs.CL" in paper.categories),
        ('au:"Emmy Noether"', lambda paper: len(paper.authors) == 3),
        ("au:emmy_noether AND ti:graphs", lambda p: len(p.authors) == 3 and "graphs" in p.title),
        ("ti:graphs ANDNOT cat:cs.CL", lambda p: "graphs" in p.title and "cs.CL" not in p.categories),
        ("cat:cs.DC AND (abs:agents OR abs:queues)", lambda p: p.number % 5 == 4 and p.number % 4 > 1),
        ("ti:nothing", lambda paper: False),
    ],
)
def test_a_query_finds_what_it_says(client: arxiv.Client, library: Library, query: str, fits: object) -> None:
    assert callable(fits)
    assert ids(client, query) == names([paper for paper in library.papers() if fits(paper)])


def test_results_come_in_the_order_asked_for(client: arxiv.Client, library: Library) -> None:
    newest = {"max_results": 3, "sort_by": arxiv.SortCriterion.SubmittedDate}
    assert ids(client, "study", **newest) == names(library.papers()[-1:-4:-1])
    oldest = {**newest, "sort_order": arxiv.SortOrder.Ascending}
    assert ids(client, "study", **oldest) == names(library.papers()[:3])
    changed = ids(client, "study", max_results=3, sort_by=arxiv.SortCriterion.LastUpdatedDate)
    assert all(name.endswith("v2") for name in changed)


def test_papers_are_read_by_their_ids_and_versions(client: arxiv.Client) -> None:
    wanted = ["2601.00004v1", "hep-th/9901010", "2601.00003"]
    assert sorted(ids(client, id_list=wanted)) == ["2601.00003v1", "2601.00004v1", "hep-th/9901010v1"]
    assert ids(client, "ti:queues", id_list=wanted) == ["2601.00003v1"]
    assert ids(client, id_list=["2601.99999", "2601.00003v7"]) == []


@pytest.mark.parametrize("name", ["abc", "2601.1", "hep-th/1"])
def test_an_id_that_is_none_is_refused(client: arxiv.Client, name: str) -> None:
    with pytest.raises(arxiv.HTTPError) as caught:
        ids(client, id_list=[name])
    assert caught.value.status == 400


def test_a_page_that_is_empty_for_a_moment_is_asked_for_again(library: Library) -> None:
    results = client_of(library).results(arxiv.Search("study", max_results=None))
    for _ in range(10):
        next(results)
    library.fail(200)
    with pytest.raises(arxiv.UnexpectedEmptyPageError):
        next(results)
    patient = client_of(library, num_retries=1).results(arxiv.Search("study", max_results=20))
    first = [next(patient) for _ in range(10)]
    library.fail(200)
    assert len([*first, *patient]) == 20


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again(library: Library, status: int) -> None:
    library.fail(status)
    with pytest.raises(arxiv.HTTPError) as caught:
        ids(client_of(library), "study")
    assert caught.value.status == status
    library.fail(status, times=2)
    assert len(ids(client_of(library, num_retries=2), "study", max_results=5)) == 5


def test_the_platform_reads_what_arxiv_py_reads(
    client: arxiv.Client, config: Config, run_agent: RunAgent
) -> None:
    by = arxiv.SortCriterion.SubmittedDate
    wanted = {found.get_short_id(): found for found in client.results(arxiv.Search("study", None, None, by))}

    ran = run_agent("arxiv", config)

    assert (ran.outcome.error, ran.outcome.warnings) == (None, ())
    rows = {f"{row.id}v{row.version}": row for row in ran.rows(ArxivPaperModel)}
    assert set(rows) == set(wanted)
    for name, row in rows.items():
        paper = wanted[name]
        assert (row.title, row.summary) == (paper.title, paper.summary.strip())
        assert row.authors == [author.name for author in paper.authors]
        assert (row.primary_category, row.categories) == (paper.primary_category, paper.categories)
        assert (row.published, row.updated) == (paper.published, paper.updated)
        told = (paper.doi, paper.journal_ref, paper.comment, paper.pdf_url)
        assert (row.doi, row.journal_ref, row.comment, row.pdf_url) == told


@pytest.mark.parametrize("query", ["cat:cs.CL AND ti:graphs", 'au:"Emmy Noether" ANDNOT cat:cs.DC'])
def test_the_platform_finds_what_arxiv_py_finds(
    client: arxiv.Client, config: Config, run_agent: RunAgent, query: str
) -> None:
    rows = run_agent("arxiv", {**config, "query": query}).rows(ArxivPaperModel)
    assert sorted(f"{row.id}v{row.version}" for row in rows) == sorted(ids(client, query))


def test_the_platform_reads_on_behind_an_empty_page_and_a_busy_server(
    library: Library, config: Config, run_agent: RunAgent
) -> None:
    library.fail(200)
    library.fail(429)
    ran = run_agent("arxiv", config)
    assert (ran.outcome.error, ran.outcome.counts.inserted) == (None, library.count)


def test_the_platform_is_told_what_is_wrong_with_a_query(
    library: Library, config: Config, run_agent: RunAgent
) -> None:
    ran = run_agent("arxiv", {**config, "query": "title:graphs"})
    assert "unknown prefix title" in str(ran.outcome.error)
    assert len(library.requests) == 1


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"status": 403}, "http_403"),
        ({"html_instead_of_json": 403}, "blocked"),
        ({"close": "before"}, "connect"),
        ({"close": "within"}, "connect"),
    ],
)
def test_the_platform_says_what_went_wrong(
    library: Library, config: Config, run_agent: RunAgent, fault: dict[str, object], expected: str
) -> None:
    library.control.add(Fault.model_validate({"path": "/api/*", "times": None, **fault}))
    assert f"({expected}" in str(run_agent("arxiv", config).outcome.error)


def test_the_platform_tries_again_what_passes(library: Library, config: Config, run_agent: RunAgent) -> None:
    library.control.add(Fault(path="/api/*", close="within"))
    ran = run_agent("arxiv", config)
    assert (ran.outcome.error, ran.outcome.counts.inserted) == (None, library.count)
