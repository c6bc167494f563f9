"""Answers of arXiv and Mastodon that their clients recorded, through the plugins of the examples."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree as ET

import pytest
import yaml
from tests.corpora.conftest import Open
from tests.corpora.distributions import source_of

pytestmark = [pytest.mark.corpus, pytest.mark.timeout(600)]
EXAMPLES = Path(__file__).parents[2] / "examples"
ATOM = "{http://www.w3.org/2005/Atom}"
STATUS = frozenset({"uri", "account", "created_at", "visibility", "reblogs_count"})


@pytest.fixture
def arxiv(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES / "agentic-plugin-arxiv" / "src"))
    return import_module("agentic_plugin_arxiv.atom")


@pytest.fixture
def mastodon(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES / "agentic-plugin-mastodon" / "src"))
    return import_module("agentic_plugin_mastodon.mapper")


def test_answers_of_arxiv_are_read(arxiv: Any, line: Open) -> None:
    told = line("arxiv 4.0.2")
    items = import_module("agentic_plugin_arxiv.items")
    for path in sorted((source_of("arxiv", "4.0.2") / "tests" / "fixtures").glob("*.json")):
        told.files += 1
        recorded = json.loads(path.read_bytes())
        try:
            page = arxiv.read_page(recorded["body"].encode(), recorded["url"])
        except import_module("agentic_plugin_arxiv.errors").SearchRefusedError as exc:
            assert recorded["status_code"] == 400
            told.refused[str(exc)] += 1
            continue
        papers = [items.Paper.model_validate(paper) for paper in page.papers]
        entries = list(ET.fromstring(recorded["body"]).iter(f"{ATOM}entry"))
        assert [[paper.id, paper.title, len(paper.authors)] for paper in papers] == [
            [*_told(entry), len(entry.findall(f"{ATOM}author"))] for entry in entries
        ]
        told.read, told.rows = told.read + 1, told.rows + len(papers)


def test_statuses_that_mastodon_py_recorded_become_rows(mastodon: Any, line: Open) -> None:
    told, statuses, pages = line("Mastodon.py 2.3.3"), 0, 0
    items = import_module("agentic_plugin_mastodon.items")
    client = import_module("agentic_plugin_mastodon.client")
    for path in sorted((source_of("Mastodon.py", "2.3.3") / "tests").glob("cassettes*/*.yaml")):
        told.files, told.read = told.files + 1, told.read + 1
        for response in _responses(path):
            for status in _statuses(_body(response)):
                statuses += 1
                rows = list(mastodon.rows_of(items.Status.model_validate(status), "mastodon.example"))
                assert rows[0]["uri"] == status["uri"]
                told.rows += len(rows)
            link = next(iter(_header(response, "link")), "")
            if "max_id=" in link and 'rel="next"' in link:
                pages += 1
                following = urlsplit(link.partition("<")[2].partition(">")[0])
                assert client.next_max_id({"link": link}) == parse_qs(following.query)["max_id"][0]
    told.notes += [f"{statuses} statuses", f"{pages} links to a next page"]
    assert statuses > 800


def _told(entry: ET.Element) -> list[str]:
    name = (entry.findtext(f"{ATOM}id") or "").partition("/abs/")[2]
    return [name.rpartition("v")[0], _mended(" ".join((entry.findtext(f"{ATOM}title") or "").split()))]


def _mended(text: str) -> str:
    """Return a text that was encoded twice as it was meant: arXiv has some, and feedparser mends them."""
    try:
        return text.encode("iso-8859-1").decode()
    except UnicodeError:
        return text


def _responses(path: Path) -> Iterator[dict[str, Any]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C takes a tenth of the time
    with path.open(encoding="utf-8") as file:
        for interaction in yaml.load(file, loader).get("interactions", ()):  # websockets have none
            yield interaction["response"]


def _body(response: dict[str, Any]) -> object:
    body = response["body"].get("string") or b""
    try:
        return json.loads(gzip.decompress(body) if isinstance(body, bytes) and body else body)
    except (TypeError, ValueError):  # a page, a stream, nothing
        return None


def _header(response: dict[str, Any], wanted: str) -> list[str]:
    return next((values for name, values in response["headers"].items() if name.lower() == wanted), [])


def _statuses(value: object) -> Iterator[dict[str, Any]]:
    """Yield each status, wherever it stands: in a timeline, a search, a thread, a notification."""
    if isinstance(value, dict):
        if value.keys() >= STATUS:
            yield value
        yield from (found for inner in value.values() for found in _statuses(inner))
    elif isinstance(value, list):
        yield from (found for inner in value for found in _statuses(inner))
