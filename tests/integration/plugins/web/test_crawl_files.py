"""The files of the pages of a crawl: on the disk, and as rows of ``web_files``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import event, select
from tests.integration.plugins.web.test_download import PNG, png
from tests.integration.plugins.web.test_keeping import crawled

from agentic.core.hooks import get_registry
from agentic.core.settings import load_settings
from agentic.core.types import JSONValue, SaveCounts
from agentic.executors.testing import RunAgent, Site
from agentic.mappers import AgentModel, Database, ExecutionStatus, add_agent, add_project, create_execution
from agentic.migrations.drift import differences
from agentic.plugins.web.mapper import WebResultMapper
from agentic.plugins.web.models import ItemModel, WebFileModel, WebPageModel

pytestmark = pytest.mark.integration

ROOT = "http://a.example/"
PDF = b"%PDF-1.7" + bytes(range(256)) * 100


def file(url: str, content: str = "one", **more: JSONValue) -> Mapping[str, JSONValue]:
    """Return what ``download`` says about a file."""
    sha256 = hashlib.sha256(content.encode()).hexdigest()
    facts: dict[str, JSONValue] = {"url": url, "final_url": url, "path": f"p/{sha256}.png", "sha256": sha256}
    return {**facts, "size_bytes": len(content), "media_type": "image/png", **more}


class TestRows:
    """On SQLite and on PostgreSQL."""

    @pytest.fixture
    def database(self, whole_url: str) -> Iterator[Database]:
        opened = Database(whole_url)
        yield opened
        opened.dispose()

    @pytest.fixture
    def agent(self, database: Database) -> AgentModel:
        with database.writing() as session:
            return add_agent(session, add_project(session, "shops"), "crawler", "web", {})

    @pytest.fixture
    def execution(self, database: Database, agent: AgentModel) -> Callable[[], str]:
        def begin() -> str:
            with database.writing() as session:
                return create_execution(session, agent).id

        return begin

    @pytest.fixture
    def save(self, database: Database, agent: AgentModel) -> Callable[..., SaveCounts]:
        """Store files of pages for an execution: URL of the page -> files."""

        def save(execution_id: str, pages: Mapping[str, list[Mapping[str, JSONValue]]]) -> SaveCounts:
            found = [replace(crawled(url), has_row=False, files=tuple(files)) for url, files in pages.items()]
            with database.joined() as session:
                return WebResultMapper(session, execution_id, agent).save_pages("site", found)

        return save

    def row(self, database: Database) -> WebFileModel:
        with database.reading() as session:
            return session.scalars(select(WebFileModel)).one()

    def test_a_file_of_many_pages_is_one_row_and_is_counted_once_by_a_crawl(
        self, database: Database, execution: Callable[[], str], save: Callable[..., SaveCounts]
    ) -> None:
        logo, pages = file(f"{ROOT}l.png", width=3, height=2), [f"{ROOT}{number}" for number in range(4)]
        first = execution()
        assert save(first, {pages[0]: [logo], pages[1]: [logo]}) == SaveCounts(inserted=1)
        assert save(first, {pages[2]: [logo], pages[3]: [logo]}) == SaveCounts()
        row = self.row(database)
        assert (row.url, row.page_url, row.path) == (logo["url"], pages[0], logo["path"])
        assert (row.sha256, row.size_bytes, row.media_type) == (logo["sha256"], 3, "image/png")
        assert (row.width, row.height) == (3, 2)
        second = execution()
        assert save(second, {pages[2]: [logo]}) == SaveCounts(unchanged=1)
        assert (self.row(database).execution_id, self.row(database).page_url) == (second, pages[2])

    def test_another_content_is_an_update_also_within_a_crawl(
        self, database: Database, execution: Callable[[], str], save: Callable[..., SaveCounts]
    ) -> None:
        url, run = f"{ROOT}l.png", execution()
        save(run, {ROOT: [file(url, width=3, height=2)]})
        assert save(run, {ROOT: [file(url, "two", size_bytes=5 * 2**30)]}) == SaveCounts(updated=1)
        row = self.row(database)
        assert (row.width, row.height, row.size_bytes) == (None, None, 5 * 2**30)
        assert row.sha256 == hashlib.sha256(b"two").hexdigest()

    def test_two_projects_have_files_of_their_own(
        self, database: Database, execution: Callable[[], str], save: Callable[..., SaveCounts]
    ) -> None:
        with database.writing() as session:
            other = add_agent(session, add_project(session, "others"), "crawler", "web", {})
            theirs = create_execution(session, other).id
        save(execution(), {ROOT: [file(f"{ROOT}l.png")]})
        page = replace(crawled(ROOT), has_row=False, files=(file(f"{ROOT}l.png"),))
        with database.joined() as session:
            saved = WebResultMapper(session, theirs, other).save_pages("site", [page])
        assert saved == SaveCounts(inserted=1)

    def test_a_crawl_without_files_costs_no_statement(
        self, database: Database, execution: Callable[[], str], save: Callable[..., SaveCounts]
    ) -> None:
        said: list[str] = []
        run = execution()
        event.listen(database.engine, "before_cursor_execute", lambda *a: said.append(str(a[2])))
        save(run, {ROOT: []})
        assert not [statement for statement in said if "web_files" in statement]

    def test_the_migration_makes_the_table_that_the_model_describes(self, database: Database) -> None:
        assert [found for found in differences(database, get_registry()) if "web_files" in str(found)] == []


class TestACrawl:
    """Of a site with images and documents."""

    @pytest.fixture(autouse=True)
    def home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("AGENTIC_HOME", str(tmp_path / "home"))
        assert load_settings().home == tmp_path / "home"
        return tmp_path / "home"

    @pytest.fixture
    def run_agent(self, agentic_database: Database) -> RunAgent:
        return RunAgent(agentic_database)

    @pytest.fixture
    def site(self, agentic_site: Site) -> Site:
        html = {"Content-Type": "text/html"}
        agentic_site.serve("/", "<img src=/logo.png><a href='/a'>A</a> <a href='/b'>B</a>", headers=html)
        pictures = "<img src='data:x' data-src=/big.png srcset='/small.png 10w, /big.png 90w'>"
        agentic_site.serve(
            "/a", f"<h1>A</h1><img src=/logo.png>{pictures}<a href=/doc.pdf>d</a>", headers=html
        )
        agentic_site.serve(
            "/b", "<h1>B</h1><img src=/logo.png><img src=/none.png><img src=/login.png>", headers=html
        )
        image = {"Content-Type": "image/png"}
        agentic_site.serve("/logo.png", PNG, headers={**image, "ETag": '"1"'})
        agentic_site.serve("/big.png", png(9, 6), headers=image)
        agentic_site.serve("/doc.pdf", PDF, headers={"Content-Type": "application/pdf"})
        agentic_site.serve("/login.png", "<p>Log in", headers=html)
        return agentic_site

    def config(self, site: Site, *, start: str = "", has_detail: bool = True) -> dict[str, JSONValue]:
        detail: JSONValue = {"match": ["*/a", "*/b"], "config": {"schema": {"name": "h1"}}}
        crawl: JSONValue = {
            "type": "crawl",
            "start": start or f"{site.url}/",
            "detail": detail if has_detail else None,
            "files": {"select": "img, a[href$='.pdf']", "types": ["image/*", "application/pdf"]},
        }
        return {
            "pipeline": {"name": "site", "steps": [crawl]},
            "http": {
                "allow_private_hosts": [site.host],
                "obey_robots": False,
                "requests_per_second": 1_000,
            },
        }

    def test_every_file_is_stored_once_with_its_facts(
        self, run_agent: RunAgent, site: Site, home: Path
    ) -> None:
        ran = run_agent("web", self.config(site))
        assert ran.outcome.status is ExecutionStatus.SUCCEEDED, ran.outcome.error
        rows = {row.url.removeprefix(site.url): row for row in ran.rows(WebFileModel)}
        assert {
            url: (row.media_type, row.size_bytes, row.width, row.height) for url, row in rows.items()
        } == {
            "/logo.png": ("image/png", len(PNG), 3, 2),
            "/big.png": ("image/png", len(png(9, 6)), 9, 6),
            "/doc.pdf": ("application/pdf", len(PDF), None, None),
        }
        assert {row.page_url for url, row in rows.items() if url != "/logo.png"} == {f"{site.url}/a"}
        for row in rows.values():
            content = (home / "files" / row.path).read_bytes()
            assert hashlib.sha256(content).hexdigest() == row.sha256
        pages = [row.url.removeprefix(site.url) for row in ran.rows(WebPageModel)]
        assert sorted(pages) == ["/", "/a", "/b"]
        assert [
            site.requests.count(path) for path in ("/logo.png", "/big.png", "/doc.pdf", "/small.png")
        ] == [1, 1, 1, 0]
        assert ran.outcome.counts == SaveCounts(inserted=3 + 2 + 3)

    def test_files_that_fail_are_told_and_fail_nothing(self, run_agent: RunAgent, site: Site) -> None:
        ran = run_agent("web", self.config(site))
        assert ran.outcome.status is ExecutionStatus.SUCCEEDED
        told = [warning for warning in ran.outcome.warnings if "was not downloaded" in warning]
        assert len(told) == 2
        assert any(f"{site.url}/none.png was not downloaded (http_404)" in warning for warning in told)
        assert any("login.png was not downloaded (wrong_type)" in warning for warning in told)
        assert len(ran.rows(ItemModel)) == 2

    def test_a_crawl_for_files_alone_succeeds_with_warnings(self, run_agent: RunAgent, site: Site) -> None:
        store: JSONValue = {"pages": False}
        config = {**self.config(site, has_detail=False), "store": store}
        ran = run_agent("web", config)
        assert ran.outcome.status is ExecutionStatus.SUCCEEDED, ran.outcome.reason
        assert len(ran.outcome.warnings) == 2
        assert ran.outcome.counts == SaveCounts(inserted=3)

    def test_a_file_that_has_not_changed_is_not_sent_again_and_one_that_is_gone_stays(
        self, run_agent: RunAgent, site: Site
    ) -> None:
        config = self.config(site)
        first = run_agent("web", config)
        site.fail("/logo.png", status=304)
        site.fail("/big.png", status=404)
        again = run_agent("web", config)
        asked = [
            headers.get("if-none-match")
            for path, headers in zip(site.requests, site.headers, strict=True)
            if path == "/logo.png"
        ]
        assert asked == [None, '"1"']
        assert [row.sha256 for row in again.rows(WebFileModel)] == [
            row.sha256 for row in first.rows(WebFileModel)
        ]
        assert again.outcome.counts == SaveCounts(unchanged=3 + 2 + 2)
        assert any("big.png was not downloaded (http_404)" in warning for warning in again.outcome.warnings)

    def test_a_changed_file_is_an_update_and_the_old_content_stays(
        self, run_agent: RunAgent, site: Site, home: Path
    ) -> None:
        config = self.config(site)
        before = {row.url: row.path for row in run_agent("web", config).rows(WebFileModel)}
        site.serve("/big.png", png(5, 5), headers={"Content-Type": "image/png"})
        ran = run_agent("web", config)
        changed = [row for row in ran.rows(WebFileModel) if row.path != before[row.url]]
        assert [(row.url, row.width) for row in changed] == [(f"{site.url}/big.png", 5)]
        assert ran.outcome.counts.updated == 1
        assert (home / "files" / before[f"{site.url}/big.png"]).is_file()

    def test_the_password_of_a_site_is_sent_for_its_files_and_stored_nowhere(
        self, run_agent: RunAgent, site: Site, agentic_database: Database
    ) -> None:
        start = f"{site.url}/".replace("://", "://u:pa55word@")
        ran = run_agent("web", self.config(site, start=start))
        sent = {
            path: headers.get("authorization")
            for path, headers in zip(site.requests, site.headers, strict=True)
        }
        assert sent["/logo.png"] == sent["/"] is not None
        assert {row.url for row in ran.rows(WebFileModel)} == {
            f"{site.url}{path}" for path in ("/logo.png", "/big.png", "/doc.pdf")
        }
        assert "pa55word" not in _dump(agentic_database)
        assert "pa55word" not in json.dumps(ran.outcome.warnings)


def _dump(database: Database) -> str:
    """Return all that a database holds about files, as text."""
    with database.reading() as session:
        tables = ("web_files", "web_pages", "frontier", "actor_memory")
        return str([session.connection().exec_driver_sql(f"select * from {table}").all() for table in tables])
