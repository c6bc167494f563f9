"""The graph alone, then a whole agent: file to rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agentic_plugin_quotes.executor import quotes_workflow
from agentic_plugin_quotes.models import QuoteModel

from agentic.core.types import JSONValue
from agentic.executors.testing import MapperContract, MapperSamples, PlatformContract, RunAgent

QUOTES = [
    {"id": "1", "text": "Simplicity is prerequisite for reliability.", "author": "E. W. Dijkstra"},
    {"text": "has no id"},
    {"id": "3", "text": "Anonymous, too."},
]


def found(*quotes: dict[str, object]) -> dict[str, object]:
    """Return what the executor gives that read these quotes."""
    return {"quotes": quotes, "warnings": []}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "quotes.json"
    path.write_text(json.dumps(QUOTES), encoding="utf-8")
    return path


async def test_a_bad_entry_is_a_warning_and_the_others_are_quotes(path: Path) -> None:
    found = (await quotes_workflow().run(path)).output(dict)
    assert [quote["id"] for quote in found["quotes"]] == ["1", "3"]
    assert len(found["warnings"]) == 1
    assert found["warnings"][0].startswith("entry 1: ")


async def test_a_file_that_holds_no_list_says_so(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="is not a list of quotes"):
        await quotes_workflow().run(path)


class TestPlatform(PlatformContract):
    """Quotes is a platform."""

    platform = "quotes"
    model = QuoteModel
    row_count = 2

    @pytest.fixture
    def config(self, path: Path) -> dict[str, JSONValue]:
        """Return the config of an agent that reads the file."""
        return {"path": str(path)}


class TestMapper(MapperContract):
    """Its mapper stores quotes."""

    platform = "quotes"
    samples = MapperSamples(
        results=found({"id": "1", "text": "One", "author": "Ada"}, {"id": "2", "text": "Two"}),
        row_count=2,
        shorter=found({"id": "1", "text": "One"}, {"id": "2", "text": "Two"}),
        with_a_bad_one=found({"id": "1", "text": "One"}, {"text": "has no id"}, {"id": "2", "text": "Two"}),
        with_no_json={
            **found({"id": "1", "text": "One"}, {"id": "2", "text": "Two"}),
            "took_s": float("nan"),
        },
    )


def test_an_agent_stores_the_quotes_of_its_file(path: Path, run_agent: RunAgent) -> None:
    ran = run_agent("quotes", {"path": str(path)})

    assert [row.author for row in ran.rows(QuoteModel)] == ["E. W. Dijkstra", None]
    assert len(ran.outcome.warnings) == 1
