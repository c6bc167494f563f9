"""Functions of one's own in pipelines: in steps, for the items of a crawl, on a worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from agentic.core.hooks import get_registry
from agentic.core.pipeline import load_spec
from agentic.core.types import JSONValue
from agentic.executors.testing.sites import Site
from agentic.mappers import Database, ExecutionStatus
from agentic.plugins.web.models import ItemModel

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent, RunAgent

pytestmark = pytest.mark.integration

CODE = """
from agentic.core.actors import Page

def clean(item: dict, page: Page) -> dict | None:
    if item["name"] == "Lamp 2":
        return None
    return {**item, "name": item["name"].upper(), "size": len(page.text)}

def both(page: Page) -> list[dict]:
    return [{"url": f"{page.final_url}?n={n}", "n": n} for n in range(2)]

def numbers(upto: int = 3) -> list[dict]:
    return [{"url": f"http://a.example/{n}", "n": n} for n in range(upto)]

def doubled(items: list[dict]) -> list[dict]:
    return [{**item, "n": item["n"] * 2} for item in items]
"""


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as served:
        links = "".join(f'<a href="/product/{n}">{n}</a>' for n in range(4))
        served.serve("/", links, headers={"Content-Type": "text/html"})
        for n in range(4):
            served.serve(f"/product/{n}", f"<h1>Lamp {n}</h1>", headers={"Content-Type": "text/html"})
        yield served


def agent_of(folder: Path, text: str) -> JSONValue:
    (folder / "shop.py").write_text(CODE)
    (folder / "shop.yaml").write_text(text)
    spec = load_spec(folder / "shop.yaml", get_registry().actors, runs_code=True)
    return spec.model_dump(mode="json", exclude_unset=True, by_alias=True)


def items(database: Database) -> list[dict[str, JSONValue]]:
    with database.reading() as session:
        return sorted(session.scalars(select(ItemModel.data)), key=lambda item: str(item["url"]))


async def test_steps_may_be_functions(
    make_agent: MakeAgent, run_agent: RunAgent, database: Database, tmp_path: Path
) -> None:
    text = "steps: [{actor: ./shop.py:numbers, config: {upto: 2}}, {actor: ./shop.py:doubled}]"
    outcome = await run_agent(make_agent(pipeline=agent_of(tmp_path, text), inputs={}))
    assert outcome.status is ExecutionStatus.SUCCEEDED, outcome.error
    assert [item["n"] for item in items(database)] == [0, 2]


CRAWL = """
steps:
  - type: crawl
    start: {url}/
    detail: {{match: ["/product/*"], {detail}}}
"""


async def test_a_function_changes_and_leaves_out_items_of_a_crawl(
    make_agent: MakeAgent, run_agent: RunAgent, database: Database, tmp_path: Path, site: Site
) -> None:
    detail = "config: {schema: {name: h1}}, python: ./shop.py:clean"
    text = CRAWL.format(url=site.url, detail=detail)
    outcome = await run_agent(make_agent(pipeline=agent_of(tmp_path, text), inputs={}))
    assert outcome.status is ExecutionStatus.SUCCEEDED, outcome.error
    assert items(database) == [
        {"url": f"{site.url}/product/{n}", "name": f"LAMP {n}", "size": 15} for n in (0, 1, 3)
    ]


async def test_a_function_reads_the_pages_of_a_crawl(
    make_agent: MakeAgent, run_agent: RunAgent, database: Database, tmp_path: Path, site: Site
) -> None:
    text = CRAWL.format(url=site.url, detail="actor: ./shop.py:both")
    outcome = await run_agent(make_agent(pipeline=agent_of(tmp_path, text), inputs={}))
    assert outcome.status is ExecutionStatus.SUCCEEDED, outcome.error
    assert len(items(database)) == 8


async def test_a_worker_finds_the_functions_by_the_module_path(
    make_agent: MakeAgent,
    run_agent: RunAgent,
    database: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "shop.py").write_text(CODE)
    stored: JSONValue = {"name": "shop", "steps": [{"actor": "./shop.py:numbers"}]}
    agent = make_agent(pipeline=stored, inputs={})
    refused = await run_agent(agent)
    assert refused.status is ExecutionStatus.FAILED
    assert "AGENTIC_MODULE_PATH" in str(refused.error)
    monkeypatch.setenv("AGENTIC_MODULE_PATH", f'["{tmp_path}"]')
    outcome = await run_agent(agent)
    assert outcome.status is ExecutionStatus.SUCCEEDED, outcome.error
    assert len(items(database)) == 3
