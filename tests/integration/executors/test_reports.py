"""Rows written to files, and what is told of a run: crawls of the fake shop, by the commands people use."""

from __future__ import annotations

import csv
import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow.parquet
import pytest
import typer
from structlog.testing import capture_logs
from tests.commands import agentic_app, invoke
from typer.testing import Result

from agentic.core.errors import AgenticError
from agentic.executors.commands.shared.options import OptionError
from agentic.executors.errors import ExecutionFailedError
from agentic.executors.exports.errors import ExportError, UnknownTableError
from agentic.executors.reports.changes import NoEarlierCrawlError
from agentic.fakes.control import Fault
from agentic.fakes.server import FakeServer

pytestmark = pytest.mark.integration

SHOP = """
name: shop
http: {{allow_private_hosts: ["127.0.0.1"], requests_per_second: 500, timeout_s: 5}}
error_handling:
  http_5xx: {{retry_count: 1, backoff_s: 0}}
steps:
  - id: pages
    type: crawl
    start: "{url}"
    detail:
      match: ["*/product/*"]
      config: {{schema: {{title: {{selector: "h1.title"}}, price: {{selector: ".price", type: number}}}}}}
"""
PRODUCTS = 30


@dataclass
class Shell:
    """A command line in a folder of its own; ``shop`` is a file that crawls the fake shop."""

    folder: Path
    app: typer.Typer
    shop: str

    def run(self, *arguments: str) -> Result:
        with capture_logs():  # standard output is the command's
            return invoke(self.app, arguments)

    def __call__(self, *arguments: str) -> str:
        """Run a command that succeeds; return its output."""
        result = self.run(*arguments)
        if result.exception is not None:
            raise result.exception
        return result.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json"))

    def fails(self, *arguments: str) -> AgenticError:
        """Run a command that is refused; return why."""
        error = self.run(*arguments).exception
        assert isinstance(error, AgenticError)
        return error

    def crawl(self) -> str:
        """Crawl the shop; return the id of the execution."""
        return str(self.json("run", self.shop)["execution_id"])

    def lines(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]


@pytest.fixture(scope="module")
def fakes() -> Iterator[FakeServer]:
    with FakeServer(seed=1, stories=1, products=PRODUCTS) as server:
        yield server


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fakes: FakeServer, empty_database: Path
) -> Iterator[Shell]:
    monkeypatch.chdir(tmp_path)
    for name in ("AGENTIC_BROKER_URL", "AGENTIC_NATS_URL", "AGENTIC_PROJECT", "AGENTIC_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    shutil.copy(empty_database, tmp_path / "home" / "agentic.db")
    (tmp_path / "shop.yaml").write_text(SHOP.format(url=fakes.shop_url))
    yield Shell(folder=tmp_path, app=agentic_app(), shop="shop.yaml")
    fakes.control.reset()


class TestRun:
    def test_items_are_written_as_json_lines(self, shell: Shell) -> None:
        said = shell("run", shell.shop, "--out", "items.jsonl")
        rows = shell.lines("items.jsonl")
        assert len(rows) == PRODUCTS
        assert {type(row["price"]) for row in rows} == {float}
        assert f"written  {PRODUCTS} rows of items to items.jsonl" in said

    def test_items_are_written_as_parquet_and_into_a_table(self, shell: Shell) -> None:
        shell("run", shell.shop, "--out", "items.parquet")
        found = pyarrow.parquet.read_table(shell.folder / "items.parquet")
        assert (found.num_rows, str(found.schema.field("price").type)) == (PRODUCTS, "double")
        said = shell("run", shell.shop, "--out", "sqlite:///mine.db#shop_items")
        assert f"written  {PRODUCTS} rows of items" in said
        with closing(sqlite3.connect(shell.folder / "mine.db")) as mine:
            [counted] = mine.execute("SELECT count(*), count(DISTINCT _key), max(_source) FROM shop_items")
        assert counted == (PRODUCTS, PRODUCTS, "shop")

    def test_standard_output_is_for_rows_alone_when_they_go_there(self, shell: Shell) -> None:
        result = shell.run("run", shell.shop, "--out", "-")
        assert len([json.loads(line) for line in result.stdout.splitlines()]) == PRODUCTS
        assert "succeeded" in result.stderr

    def test_a_quiet_run_says_nothing(self, shell: Shell) -> None:
        result = shell.run("run", shell.shop, "--quiet")
        assert (result.exit_code, result.output) == (0, "")

    def test_a_file_that_cannot_be_written_is_told_before_anything_runs(self, shell: Shell) -> None:
        assert isinstance(shell.fails("run", shell.shop, "--out", "missing/items.csv"), ExportError)
        assert isinstance(
            shell.fails("run", shell.shop, "--out", "x.csv", "--table", "missing"), UnknownTableError
        )
        assert shell.json("executions", "list") == []

    def test_a_run_that_fails_writes_no_file(self, shell: Shell, fakes: FakeServer) -> None:
        (shell.folder / "items.csv").write_text("as before")
        fakes.control.add(Fault(path="/shop/*", status=404, times=None))
        result = shell.run("run", shell.shop, "--out", "items.csv")
        assert isinstance(result.exception, ExecutionFailedError)
        assert "items.csv was not written because the execution is failed" in result.stderr.replace("\n", "")
        assert (shell.folder / "items.csv").read_text() == "as before"

    @pytest.mark.parametrize(
        "options",
        [
            ["--out", "x.csv", "--dispatcher", "celery"],
            ["--out", "-", "--json"],
            ["--out", "x.jsonl", "--excel-safe"],
            ["--out", "sqlite:///x.db#t", "--excel-safe"],
            ["--table", "items"],
        ],
    )
    def test_options_that_contradict_each_other_are_refused(self, shell: Shell, options: list[str]) -> None:
        assert isinstance(shell.fails("run", shell.shop, *options), OptionError)


class TestExport:
    def test_a_table_can_be_chosen_and_packed(self, shell: Shell) -> None:
        shell("executions", "export", shell.crawl(), "--out", "pages.csv.gz", "--table", "web_pages")
        with gzip.open(shell.folder / "pages.csv.gz", "rt", newline="") as file:
            rows = list(csv.DictReader(file))
        assert {row["status"] for row in rows} == {"200"}
        assert all(row["fetched_at"].endswith("+00:00") for row in rows)
        assert "url_key" not in rows[0]

    def test_several_executions_are_files_in_a_folder(self, shell: Shell) -> None:
        shell.crawl()
        shell("executions", "export", "--all", "--to", "sheets", "--format", "xlsx", "--yes")
        [file] = (shell.folder / "sheets").iterdir()
        assert file.name.startswith("shop-")
        [page] = openpyxl.load_workbook(file).worksheets
        assert page["A1"].value == "url"
        assert page.max_row == PRODUCTS + 1

    def test_what_is_known_of_rows_besides_can_be_added(self, shell: Shell) -> None:
        execution_id = shell.crawl()
        shell("executions", "export", execution_id, "--out", "items.jsonl", "--meta")
        [meta] = {
            (row["_meta"]["execution_id"], row["_meta"]["pipeline"]) for row in shell.lines("items.jsonl")
        }
        assert meta == (execution_id, "shop")

    def test_rows_that_a_later_execution_gave_again_are_that_ones(self, shell: Shell) -> None:
        first = shell.crawl()
        shell.crawl()
        shell("executions", "export", first, "--out", "items.jsonl")
        assert shell.lines("items.jsonl") == []

    def test_a_reader_that_goes_away_is_no_error(self, shell: Shell) -> None:
        execution_id = shell.crawl()
        reader, writer = os.pipe()
        os.close(reader)
        command = [sys.executable, "-m", "agentic.core.cli", "executions", "export", execution_id]
        with os.fdopen(writer) as stdout:
            done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


class TestChanges:
    def test_pages_that_are_gone_since_the_last_time_are_told(self, shell: Shell, fakes: FakeServer) -> None:
        first = shell.crawl()
        fakes.control.add(Fault(path="/shop/product/7", status=404, times=None))
        second = shell.crawl()
        found = shell.json("executions", "changes", second)
        assert found["against_id"] == first
        assert (found["counts"]["gone"], found["counts"]["new"]) == (1, 0)
        assert found["pages"]["gone"] == [{"url": f"{fakes.shop_url}product/7", "reason": "http_404"}]
        assert f"gone  {fakes.shop_url}product/7  (http_404)" in shell("executions", "changes", second[:12])

    def test_an_execution_can_be_named_to_compare_with(self, shell: Shell) -> None:
        first, second = shell.crawl(), shell.crawl()
        assert (
            shell.json("executions", "changes", first, "--against", second)["counts"]["unchanged"] > PRODUCTS
        )

    def test_the_first_crawl_has_nothing_to_be_compared_with(self, shell: Shell) -> None:
        assert isinstance(shell.fails("executions", "changes", shell.crawl()), NoEarlierCrawlError)


class TestReport:
    def test_a_page_tells_of_a_crawl(self, shell: Shell, fakes: FakeServer) -> None:
        shell.crawl()
        fakes.control.add(Fault(path="/shop/product/7", status=404, times=None))
        fakes.control.add(Fault(path="/shop/product/9", status=503, times=1))
        shell("executions", "report", shell.crawl(), "--out", "report.html")
        text = (shell.folder / "report.html").read_text()
        for said in (
            "succeeded", "http_404", "product/7", "retried by fetch", "http_503", "Since the last crawl",
            "Time by step", "agentic-graph", f"items · 10 of {PRODUCTS - 1}", "robots_denied",
        ):  # fmt: skip
            assert said in text, said
        assert len(text) < 300_000

    def test_titles_of_pages_stay_text(self, shell: Shell) -> None:
        shell("executions", "report", shell.crawl(), "--out", "report.html")
        text = (shell.folder / "report.html").read_text()
        assert "&lt;Tiny&gt;" in text
        assert "<Tiny>" not in text

    def test_an_execution_that_failed_has_a_page_too(self, shell: Shell, fakes: FakeServer) -> None:
        fakes.control.add(Fault(path="/shop/*", status=404, times=None))
        shell.run("run", shell.shop)
        [execution] = shell.json("executions", "list")
        shell("executions", "report", execution["id"])
        text = (shell.folder / "report.html").read_text()
        assert 'class="pill bad"' in text
        assert "no page of the crawl could be fetched" in text

    def test_an_agent_without_a_pipeline_has_a_page_too(self, shell: Shell, fakes: FakeServer) -> None:
        hosts = ("--config", 'allow_private_hosts=["127.0.0.1"]')
        config = ("--config", f"base_url={fakes.hackernews_url}", *hosts)
        shell("agents", "add", "news", "--platform", "hackernews", *config)
        execution_id = shell.json("run", "news")["execution_id"]
        shell("executions", "report", execution_id, "--out", "news.html")
        assert "hn_items" in (shell.folder / "news.html").read_text()

    def test_a_folder_that_is_not_there_is_told(self, shell: Shell) -> None:
        execution_id = shell.crawl()
        assert isinstance(
            shell.fails("executions", "report", execution_id, "--out", "no/r.html"), ExportError
        )
