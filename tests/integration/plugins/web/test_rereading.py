"""Stored pages of a crawl that are read again with other rules: commands, on SQLite and on PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import select
from structlog.testing import capture_logs
from tests.commands import invoke
from tests.databases import only_sqlite

from agentic.core.cli.main import build_app
from agentic.executors.testing import Site
from agentic.mappers import Database, FrontierModel
from agentic.mappers.tables.core import DeadLetterModel
from agentic.plugins.web.models import ItemModel, WebContentModel, WebPageModel

pytestmark = [pytest.mark.integration]

PRODUCTS = 12
WRONG, RIGHT = ".old", ".price"
HTML = {"Content-Type": "text/html; charset=iso-8859-1"}

SPEC = """
name: shop
http: {{allow_private_hosts: ["127.0.0.1"]}}
error_handling: {{selector_missing: {{then: dead_letter}}}}
limits: {{partial_above: 100%}}
steps:
  - type: crawl
    start: "{url}/"
    links: {{actor: extract_list, config: {{item_selector: "{links}"}}}}
    detail: {{match: ["/p/*"], config: {{schema: {{title: h1, price: "{price}"}}}}}}
    store: {store}
    max_pages: {max_pages}
"""


@pytest.fixture
def site() -> Iterator[Site]:
    """A shop in Latin-1: each product has an old and a new price, and a link to a page about it."""
    with Site() as served:
        links = "".join(f"<a href='/p/{n}'>{n}</a>" for n in range(PRODUCTS))
        served.serve("/", links.encode("latin-1"), headers=HTML)
        for n in range(PRODUCTS):
            markup = (
                f"<h1>L\xe4mp {n}</h1><b class=old>1</b><i class=price>{n}.5</i><a class=more href=/more/{n}>"
            )
            served.serve(f"/p/{n}", markup.encode("latin-1"), headers=HTML)
            served.serve(f"/more/{n}", "<h1>More</h1>", headers={"Content-Type": "text/html"})
        yield served


@pytest.fixture
def database(whole_url: str) -> Iterator[Database]:
    opened = Database(whole_url)
    yield opened
    opened.dispose()


@pytest.fixture(autouse=True)
def _home(whole_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AGENTIC_DATABASE_URL", whole_url)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


class Ran:
    """A command that has ended."""

    def __init__(self, *words: str) -> None:
        with capture_logs():
            result = invoke(build_app(), words)
        self.stdout = result.stdout
        self.stderr = result.stderr
        self.error = str(result.exception) if result.exception else ""
        self.code = 1 if self.error and not self.error.isdigit() else result.exit_code


def told(*words: str) -> Any:
    ran = Ran(*words, "--json")
    assert ran.stdout, ran.error
    return json.loads(ran.stdout)


def written(
    site: Site,
    price: str,
    *,
    links: str = "a:not(.more)",
    store: str = "{html: true}",
    max_pages: int = 1_000,
    name: str = "shop.yaml",
) -> str:
    text = SPEC.format(url=site.url, price=price, links=links, store=store, max_pages=max_pages)
    Path(name).write_text(text, encoding="utf-8")
    return name


def crawled(site: Site, price: str = WRONG, **rules: Any) -> str:
    """Crawl the shop, forget what was requested, and return the id of the execution."""
    ran = told("run", written(site, price, **rules))
    assert ran["status"] == "succeeded", ran
    site.requests.clear()
    return str(ran["execution_id"])


def replaced(spec: str) -> None:
    """Give the agent the pipeline of a file, without running it."""
    config = {"pipeline": yaml.safe_load(Path(spec).read_text(encoding="utf-8"))}
    Path("config.json").write_text(json.dumps(config), encoding="utf-8")
    told("agents", "add", "shop", "--platform", "web", "--config", "@config.json", "--replace")


def changed(ran: dict[str, Any]) -> tuple[int, int]:
    counts = ran["counts"]
    return counts["inserted"], counts["updated"]


def prices(database: Database) -> dict[str, object]:
    with database.reading() as session:
        return {item.data["title"]: item.data["price"] for item in session.scalars(select(ItemModel))}  # type: ignore[misc] # a text


def test_a_corrected_selector_changes_the_rows_without_a_request(site: Site, database: Database) -> None:
    crawled(site)
    assert set(prices(database).values()) == {"1"}
    ran = told("run", written(site, RIGHT), "--resume", "--reread")
    assert ran["status"] == "succeeded"
    assert ran["reread"] == {"pages": PRODUCTS + 1, "unstored": 0}
    assert changed(ran) == (0, PRODUCTS)
    assert prices(database) == {f"L\xe4mp {n}": f"{n}.5" for n in range(PRODUCTS)}
    assert site.requests == []


def test_nothing_changes_if_the_rules_are_the_same(site: Site) -> None:
    execution_id = crawled(site)
    ran = told("executions", "retry", execution_id, "--reread")
    assert (changed(ran), ran["reread"]["pages"], site.requests) == ((0, 0), PRODUCTS + 1, [])
    assert ran["counts"]["unchanged"] == 2 * (PRODUCTS + 1) + PRODUCTS


@only_sqlite
def test_the_command_says_how_many_pages_were_read_again(site: Site) -> None:
    crawled(site)
    ran = Ran("run", written(site, RIGHT), "--resume", "--reread")
    assert "    reread  13 read again from storage\n" in ran.stdout
    assert "12 updated" in ran.stdout
    newest = str(told("executions", "list")[0]["id"])
    assert "    reread  13 read again from storage\n" in Ran("executions", "show", newest).stdout
    assert told("executions", "show", newest)["result"]["pages"]["reread"] == PRODUCTS + 1
    decided = told("audit", "--kind", "pages.reread")
    assert [one["details"]["pages"] for one in decided] == [PRODUCTS + 1]


def test_new_links_are_known_and_are_fetched_once_the_crawl_is_resumed(
    site: Site, database: Database
) -> None:
    execution_id = crawled(site)
    agent = ("run", written(site, WRONG, links="a"))
    assert told(*agent, "--resume", "--reread")["reread"]["pages"] == PRODUCTS + 1
    assert sorted(set(site.requests) - {"/robots.txt"}) == sorted(f"/more/{n}" for n in range(PRODUCTS))
    site.requests.clear()

    ran = told("executions", "retry", execution_id, "--reread")
    assert site.requests == []
    assert any("12 known pages were not fetched" in warning for warning in ran["warnings"])
    told("executions", "retry", str(ran["execution_id"]), "--reread", "--failed")
    assert len(set(site.requests) - {"/robots.txt"}) == PRODUCTS
    with database.reading() as session:
        newest = told("executions", "list")[0]["id"]
        states = session.scalars(select(FrontierModel.state).where(FrontierModel.run == newest)).all()
    assert [str(state) for state in states] == ["done"] * (2 * PRODUCTS + 1)


def test_failed_pages_stay_failed_and_their_dead_letters_with_them(site: Site, database: Database) -> None:
    site.serve("/p/3", "<i class=price>3</i>", headers=HTML)
    execution_id = crawled(site, "h7")
    with database.reading() as session:
        before = len(session.scalars(select(DeadLetterModel)).all())
    ran = told("executions", "retry", execution_id, "--reread")
    assert (ran["counts"]["failed"], changed(ran)) == (0, (0, 0))
    with database.reading() as session:
        assert len(session.scalars(select(DeadLetterModel)).all()) == before


def test_a_page_whose_reading_fails_now_is_failed_and_keeps_its_row(site: Site, database: Database) -> None:
    site.serve("/p/3", b"<h1>Odd</h1><b class=old>1</b>", headers=HTML)
    execution_id = crawled(site)
    Path("shop.yaml").write_text(
        SPEC.format(url=site.url, links="a", store="{html: true}", max_pages=99, price="PRICE").replace(
            '"PRICE"', "{selector: .price, required: true}"
        ),
        encoding="utf-8",
    )
    ran = told("run", "shop.yaml", "--resume", "--reread")
    assert (ran["counts"]["failed"], changed(ran)[1]) == (1, PRODUCTS - 1)
    assert prices(database)["Odd"] == "1"
    assert execution_id != ran["execution_id"]


def test_a_page_that_is_not_stored_is_counted_and_left_as_it_is(site: Site, database: Database) -> None:
    execution_id = crawled(site)
    site.serve("/p/0", "<h1>New</h1><b class=old>7</b>", headers=HTML)
    told("run", written(site, WRONG, store="{pages: true}", max_pages=2))  # newer rows, nothing stored
    site.requests.clear()
    written(site, RIGHT)
    replaced("shop.yaml")
    ran = told("executions", "retry", execution_id, "--reread")
    assert ran["reread"] == {"pages": PRODUCTS - 1, "unstored": 2}
    assert any("2 pages were left unchanged" in warning for warning in ran["warnings"])
    assert (changed(ran), site.requests) == ((0, PRODUCTS - 1), [])
    assert prices(database)["New"] == "7"


def test_a_later_crawl_of_another_agent_keeps_its_rows_and_no_page_from_being_read_again(
    site: Site, database: Database
) -> None:
    execution_id = crawled(site)
    site.serve("/p/0", "<title>T</title><h1>New</h1><b class=old>7</b>", headers=HTML)
    other = Path(written(site, WRONG, store="{pages: true}", name="other.yaml"))
    other.write_text(other.read_text(encoding="utf-8").replace("name: shop", "name: other"), encoding="utf-8")
    told("run", "other.yaml")
    site.requests.clear()
    written(site, RIGHT)
    replaced("shop.yaml")
    ran = told("executions", "retry", execution_id, "--reread")
    assert ran["reread"] == {"pages": PRODUCTS + 1, "unstored": 0}
    assert (changed(ran), site.requests) == ((0, PRODUCTS), [])
    with database.reading() as session:
        row = session.scalars(select(WebPageModel).where(WebPageModel.url == f"{site.url}/p/0")).one()
    assert row.title == "T"


def test_an_execution_that_stored_no_page_is_refused(site: Site, database: Database) -> None:
    execution_id = crawled(site, store="{text: true}")
    for words in (
        ("executions", "retry", execution_id, "--reread"),
        ("run", written(site, RIGHT), "--resume", "--reread"),
    ):
        ran = Ran(*words)
        assert ran.code == 1
        assert "`store: {html: true}`" in ran.error
    assert len(told("executions", "list")) == 1


@only_sqlite
def test_what_cannot_be_read_again_is_refused(site: Site) -> None:
    spec = written(site, RIGHT)
    assert "has none; leave --reread out" in Ran("run", spec, "--resume", "--reread").error
    assert "--reread needs --resume" in Ran("run", spec, "--reread").error
    assert told("executions", "list") == []


def test_rows_of_a_page_that_is_gone_stay_marked(site: Site, database: Database) -> None:
    execution_id = crawled(site)
    site.fail("/p/4", status=404, times=9)
    told("run", written(site, WRONG))
    told("executions", "retry", execution_id, "--reread")
    with database.reading() as session:
        row = session.scalars(select(WebPageModel).where(WebPageModel.url == f"{site.url}/p/4")).one()
    assert (row.status, row.gone_at is not None) == (404, True)


OWN = """
from agentic.core.actors import Page


def facts(page: Page) -> dict:
    return {{"url": page.final_url, "page": page.model_dump(mode="json"), "again": {again}}}
"""
EVERY_KIND = """
name: kinds
http: {{allow_private_hosts: ["127.0.0.1"]}}
steps:
  - type: crawl
    start: "{url}/"
    detail: {{match: ["*"], actor: "./own.py:facts"}}
    store: {{html: true}}
"""


def test_a_page_is_read_again_as_it_was_read_the_first_time(site: Site, database: Database) -> None:
    """Addresses, charset, type, status and headers, for markup and for JSON."""
    names = ("moved", "rest", "data.json", "odd.json", "short", "robots", "none")
    site.serve("/", "".join(f"<a href='/{name}'>x</a>" for name in names), headers=HTML)
    site.serve("/moved", "", status=302, headers={"Location": "/deep/there?q=1"})
    site.serve("/deep/there", "<h1>\xc4</h1><a href='next'>n</a>".encode("utf-16"), headers=dict(HTML))
    site.serve("/deep/next", "<h1>n</h1>", headers={"Content-Type": "application/xhtml+xml"})
    site.serve("/rest", b"<meta http-equiv=refresh content='40; url=/late'><h1>r</h1>", headers=HTML)
    site.serve("/late", "<h1>l</h1>", headers={"Content-Type": "text/html", "Link": "</p/1>; rel=next"})
    site.serve("/short", b"<meta http-equiv=refresh content='0; url=/target'>", headers=HTML)
    site.serve("/target", "<h1>t</h1>", headers={"Content-Type": "text/html"})
    site.serve("/robots", "<h1>r</h1>", headers={"Content-Type": "text/html", "X-Robots-Tag": "noarchive"})
    site.serve("/data.json", [{"url": "/a", "price": 1.5, "name": "\xe9\u20ac"}])
    site.serve("/odd.json", '{"a": [1, 2]}', headers={"Content-Type": "application/problem+json"})
    site.serve("/none", "<h1>\xe9</h1>".encode("cp1252"), headers={"Content-Type": "text/html"})
    own, spec = Path("own.py"), Path("kinds.yaml")
    own.write_text(OWN.format(again=False), encoding="utf-8")
    spec.write_text(EVERY_KIND.format(url=site.url), encoding="utf-8")
    ran = told("run", "kinds.yaml")
    first = pages_of(database, again=False)
    assert ran["counts"]["failed"] == 0
    assert len(first) >= len(names)
    site.requests.clear()

    own.write_text(OWN.format(again=True), encoding="utf-8")
    ran = told("executions", "retry", str(ran["execution_id"]), "--reread")
    assert ran["counts"]["failed"] == 0
    assert pages_of(database, again=True) == first
    assert site.requests == []


def pages_of(database: Database, *, again: bool) -> dict[str, object]:
    with database.reading() as session:
        items = session.scalars(select(ItemModel)).all()
    assert all(item.data["again"] is again for item in items)
    return {item.key: item.data["page"] for item in items}


def test_a_token_that_a_header_repeats_is_not_stored(site: Site, database: Database) -> None:
    link = {"Content-Type": "text/html", "Link": '</p/1?token=hunter2hunter2>; rel="next"'}
    site.serve("/", "<h1>x</h1>", headers={**link, "X-Robots-Tag": "hunter2hunter2"})
    spec = Path(written(site, RIGHT))
    spec.write_text(spec.read_text().replace(f"{site.url}/", f"{site.url}/?token=hunter2hunter2"))
    told("run", "shop.yaml")
    with database.reading() as session:
        stored = session.scalars(select(WebContentModel)).all()
    assert stored
    assert all("hunter2" not in json.dumps([row.head, row.html, row.url]) for row in stored)


@only_sqlite
def test_a_command_says_first_what_is_read_and_what_is_fetched(site: Site) -> None:
    execution_id = crawled(site, max_pages=5)
    plan = f"pages of execution {execution_id[:12]}: 5 to read from storage"
    resumed = Ran("run", written(site, RIGHT, max_pages=7), "--resume", "--reread")
    assert f"{plan}, 8 to fetch\n" in resumed.stderr
    assert f"{plan}\n" in Ran("executions", "retry", execution_id, "--reread").stderr


def required(site: Site, selector: str) -> str:
    """Write a pipeline whose pages fail without a price."""
    text = SPEC.format(url=site.url, links="a:not(.more)", store="{html: true}", max_pages=99, price="PRICE")
    rule = f"{{selector: {selector}, required: true}}"
    Path("shop.yaml").write_text(text.replace('"PRICE"', rule), encoding="utf-8")
    return "shop.yaml"


def test_stored_pages_that_could_not_be_read_are_read_again(site: Site, database: Database) -> None:
    crawled(site)
    told("run", required(site, ".none"), "--resume", "--reread")
    ran = told("run", required(site, RIGHT), "--resume", "--reread")
    assert (ran["counts"]["failed"], changed(ran), site.requests) == (0, (0, PRODUCTS), [])
    with database.reading() as session:
        assert session.scalars(select(DeadLetterModel)).all() == []


def test_a_second_correction_needs_no_request_either(site: Site, database: Database) -> None:
    execution_id = crawled(site)
    for selector, failed in ((".none", PRODUCTS), (RIGHT, 0)):
        replaced(required(site, selector))
        ran = told("executions", "retry", execution_id, "--reread")
        with database.reading() as session:
            letters = session.scalars(select(DeadLetterModel)).all()
        assert (ran["counts"]["failed"], ran["reread"]["pages"], len(letters)) == (
            failed,
            PRODUCTS + 1,
            failed,
        )
        assert (changed(ran), site.requests) == ((0, PRODUCTS - failed), [])
        execution_id = ran["execution_id"]


def test_items_of_another_agent_are_not_overwritten_by_older_values(site: Site, database: Database) -> None:
    execution_id = crawled(site)
    site.serve("/p/0", "<h1>New</h1><b class=old>7</b><i class=price>7</i>", headers=HTML)
    config = {
        "pipeline": yaml.safe_load(Path(written(site, WRONG, store="{pages: true}")).read_text("utf-8"))
    }
    Path("config.json").write_text(json.dumps(config), encoding="utf-8")
    told("agents", "add", "other", "--platform", "web", "--config", "@config.json")
    told("run", "other")
    written(site, RIGHT)
    replaced("shop.yaml")
    told("executions", "retry", execution_id, "--reread")
    with database.reading() as session:
        items = [row.data for row in session.scalars(select(ItemModel))]
    assert [item["title"] for item in items if str(item["url"]).endswith("/p/0")] == ["New"]
