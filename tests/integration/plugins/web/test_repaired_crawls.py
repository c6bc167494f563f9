"""A shop that is redesigned in mid-crawl: its pipeline is repaired, and no row is lost or wrong."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.commands import invoke, start_command, start_program

from agentic.core.bus import open_questions
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.cli.main import build_app
from agentic.core.services import ServiceSupervisor, nats_service
from agentic.core.types import JSONValue
from agentic.executors.commands.runs.views import untyped
from agentic.executors.testing.sites import Site
from agentic.fakes.redesign.orders import Redesign
from agentic.fakes.server import FakeServer

pytestmark = [pytest.mark.integration]

SPEC = """
http: {allow_private_hosts: ["127.0.0.1"]}
name: shop
steps:
  - type: crawl
    start: "URL/category/lamps"
    follow: {include: ["*/product/*"]}
    commit_pages: 4
    max_parallel: 2
    store: {pages: false}
    repair: POLICY
    detail:
      match: ["*/product/*"]
      config: {schema: {title: h1.title, price: {selector: .price, type: number}}}
"""
LAMPS = """
name: lamps
http: {allow_private_hosts: ["127.0.0.1"]}
steps:
  - type: crawl
    start: URL/
    detail:
      match: ["*/lamps/*"]
      config: {schema: {title: h1, weight: .weight}}
"""


def show_lamps(site: Site, weight: str) -> None:
    """Serve a list of lamps, and a page for each with its weight."""
    html = {"Content-Type": "text/html"}
    links = "".join(f'<a href="/lamps/{number}">{number}</a>' for number in range(6))
    site.serve("/", f"<html><body>{links}</body></html>", headers=html)
    for number in range(6):
        body = f"<title>Lamp {number}</title><h1>Lamp {number}</h1>{weight.format(700 + 31 * number)}"
        site.serve(f"/lamps/{number}", f"<html><body>{body}</body></html>", headers=html)


RENAMED = Redesign(path="/shop/product/*", changes=("rename_classes",), after=12)


@pytest.fixture(scope="module")
def shop() -> Iterator[FakeServer]:
    with FakeServer(seed=1, stories=1, products=50) as server:
        yield server


@pytest.fixture(scope="module")
def healthy_file(shop: FakeServer, first_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database after a crawl of the whole shop as it was at first."""
    import shutil

    home = tmp_path_factory.mktemp("healthy")
    shutil.copy(first_file, home / "agentic.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTIC_HOME", str(home))
        patch.chdir(home)
        code, output = agentic("run", written(shop, "propose"))
        assert code == 0, output
    return home / "agentic.db"


@pytest.fixture(autouse=True)
def _home(shop: FakeServer, healthy_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    shop.control.reset()
    (tmp_path / "home").mkdir()
    shutil.copy(healthy_file, tmp_path / "home" / "agentic.db")
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AGENTIC_USER", "anna")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


def agentic(*words: str) -> tuple[int, str]:
    """Return the exit code and the output of a command."""
    with capture_logs():
        result = invoke(build_app(), words)
    return result.exit_code, result.stdout or str(result.exception)


def told(*words: str) -> Any:
    return json.loads(agentic(*words, "--json")[1])


def written(shop: FakeServer, policy: str) -> str:
    text = SPEC.replace("URL", shop.shop_url.rstrip("/")).replace("POLICY", policy)
    Path("p.yaml").write_text(text, encoding="utf-8")
    return "p.yaml"


def crawl(shop: FakeServer, policy: str = "propose", redesign: Redesign = RENAMED) -> dict[str, Any]:
    """Crawl the shop while it is redesigned; return the execution."""
    shop.control.redesigns.add(redesign)
    agentic("run", written(shop, policy))
    found: dict[str, Any] = told("executions", "list")[0]
    return found


def rows() -> list[tuple[Any, ...]]:
    """Return title, price and version of each row."""
    query = "SELECT data, pipeline_version FROM items ORDER BY key"
    with closing(sqlite3.connect("home/agentic.db")) as database:
        found = [(json.loads(data), version) for data, version in database.execute(query)]
    return [(data["title"], data["price"], version) for data, version in found]


def values() -> list[tuple[Any, ...]]:
    return [row[:2] for row in rows()]


def ratings() -> list[str | None]:
    with closing(sqlite3.connect("home/agentic.db")) as database:
        found = database.execute("SELECT data FROM items ORDER BY key").fetchall()
    return [json.loads(data)["rating"] for (data,) in found]


def versions() -> set[int | None]:
    return {row[2] for row in rows()}


def kinds_of_decisions() -> list[tuple[str, str]]:
    return [(one["kind"], one["who"]) for one in told("audit") if one["kind"].startswith("repair.")]


def test_a_proposed_repair_is_shown_accepted_once_and_the_crawl_goes_on_with_it(shop: FakeServer) -> None:
    healthy = values()
    row = crawl(shop)
    assert row["state"] == "waiting_input"
    (repair,) = told("repairs", "list")
    assert (repair["state"], repair["fields"]) == ("proposed", "title, price")
    held = agentic("crawls", "held")[1]
    assert f"a repair is proposed: agentic repairs show {repair['repair'][:12]}" in held
    shown = agentic("repairs", "show", repair["repair"][:12])[1]
    assert "8 other pages prove it" in shown
    assert "price: score 1.00, runner-up" in shown
    assert "(as stored) on /shop/product/" in shown
    assert max(map(len, (held + shown).splitlines())) <= 80
    code, output = agentic("repairs", "accept", repair["repair"])
    assert (code, "version 1 of the pipeline of shop" in output, "continues" in output) == (0, True, True)
    assert "continues" not in agentic("repairs", "accept", repair["repair"])[1]
    assert agentic("executions", "retry", row["id"])[0] == 0
    assert told("executions", "list")[0]["status"] == "succeeded"
    assert (values(), versions()) == (healthy, {None, 1})
    assert kinds_of_decisions() == [("repair.proposed", "engine"), ("repair.applied", "anna")]
    agentic("run", "p.yaml")  # the next run begins with the repair, and alarms no more
    assert told("executions", "list")[0]["status"] == "succeeded"
    assert (values(), versions()) == (healthy, {1})
    assert agentic("repairs", "rollback", "shop")[0] == 0
    assert [one["changes"] for one in told("repairs", "versions", "shop")] == [0, 2]
    assert crawl(shop)["state"] == "waiting_input"  # as written again, and broken again


def test_a_value_of_a_page_adds_no_line_to_the_evidence(shop: FakeServer) -> None:
    crawl(shop)
    with closing(sqlite3.connect("home/agentic.db")) as database, database:
        (text,) = database.execute("SELECT request FROM pipeline_repairs").fetchone()
        request = json.loads(text)
        request["repairs"][0]["evidence"][0]["new"] = "A\nagentic repairs reject b0\u2028"
        database.execute("UPDATE pipeline_repairs SET request = ?", [json.dumps(request)])
    (repair,) = told("repairs", "list")
    assert "    A agentic repairs reject b0 (stored" in agentic("repairs", "show", repair["repair"])[1]


async def answer_on_nats(folder: Path, answer: str, by: str) -> JSONValue:
    """Answer the first question that a process beside a worker asks; return the question."""
    async with ServiceSupervisor(folder, [nats_service(folder)]) as supervisor:
        url = supervisor.urls["nats"]
        environment = {**os.environ, "AGENTIC_NATS_URL": url}
        asker = start_command(["reconcile", "--every", "0.5"], environment, folder)
        bus = NatsBus(url)
        try:
            async with open_questions(bus, project="default") as questions, asyncio.timeout(30):
                asked = await anext(aiter(questions))
                await asked.answer(answer, by=by)
                return asked.question.question
        finally:
            await bus.aclose()
            asker.kill()
            await asyncio.to_thread(asker.communicate)


def test_an_answer_on_nats_accepts_a_repair(shop: FakeServer, tmp_path: Path) -> None:
    healthy = values()
    row = crawl(shop)
    (proposed,) = told("repairs", "list")
    question = untyped(asyncio.run(answer_on_nats(tmp_path, "repair", by="ben")))
    assert isinstance(question, dict)
    assert question["repairs"] == [proposed["repair"]]
    assert agentic("executions", "retry", row["id"])[0] == 0
    (repair,) = told("repairs", "list")
    assert (repair["state"], told("executions", "list")[0]["status"]) == ("applied", "succeeded")
    assert (values(), versions()) == (healthy, {None, 1})
    assert {one["who"] for one in told("audit") if one["kind"] == "request.answered"} == {"ben"}


def test_sure_repairs_are_applied_by_policy_and_the_file_of_the_user_wins(shop: FakeServer) -> None:
    healthy = values()
    row = crawl(shop, "auto")
    assert (row["status"], values(), versions()) == ("succeeded", healthy, {None, 1})
    assert kinds_of_decisions() == [("repair.proposed", "engine"), ("repair.applied", "engine")]
    assert not told("requests", "list")
    assert agentic("repairs", "rollback", "shop")[0] == 0
    row = crawl(shop, "auto")  # it finds the repair that was undone, and asks
    assert (row["state"], versions()) == ("waiting_input", {None, 1})
    (repair, _) = told("repairs", "list")
    assert agentic("repairs", "accept", repair["repair"])[0] == 0
    agentic("executions", "retry", row["id"])
    assert values() == healthy
    assert agentic("repairs", "export", "shop", "--out", "mine.yaml")[0] == 0
    shop.control.redesigns.add(RENAMED.model_copy(update={"changes": ("value_to_attribute",)}))
    agentic("run", "mine.yaml")  # a rule of the file that equals a repaired one is watched from its first run
    assert told("executions", "list")[0]["state"] == "waiting_input"
    shop.control.redesigns.reset()
    shop.control.redesigns.add(RENAMED)
    assert agentic("run", "mine.yaml")[0] == 0
    assert (values(), versions()) == (healthy, {None})


def test_of_a_site_with_two_layouts_at_a_time_both_are_read(
    shop: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the shop has the new layout, and a rating that only some products have is no longer found."""
    rated = SPEC.replace("h1.title,", "h1.title, rating: .rating,")
    in_order = rated.replace("max_parallel: 2", "max_parallel: 1")  # the alarm depends on the order
    monkeypatch.setattr(f"{__name__}.SPEC", in_order)
    agentic("run", written(shop, "auto"))
    healthy = ratings()
    assert 5 < healthy.count(None) < len(healthy) / 2
    mixed = RENAMED.model_copy(update={"changes": ("hash_classes", "wrap"), "after": 4, "share": 0.5})
    row = crawl(shop, "auto", mixed)
    assert (row["status"], versions(), ratings()) == ("succeeded", {None, 1}, healthy)


@pytest.mark.parametrize("policy", ["{auto: {min_pages: 9}}", "{auto: {min_score: 1, min_pages: 1}}"])
def test_a_repair_that_is_not_sure_enough_for_the_policy_is_proposed(shop: FakeServer, policy: str) -> None:
    wrapped = RENAMED.model_copy(update={"changes": ("hash_classes", "wrap", "add_decoys")})
    assert crawl(shop, policy, wrapped)["state"] == "waiting_input"
    assert {one["state"] for one in told("repairs", "list")} <= {"proposed", "abstained"}
    assert not told("repairs", "versions", "shop")


def test_fields_that_are_gone_are_not_repaired(shop: FakeServer) -> None:
    row = crawl(shop, "auto", RENAMED.model_copy(update={"changes": ("drop_fields",), "seed": 3}))
    assert row["state"] == "waiting_input"
    (repair,) = told("repairs", "list")
    assert repair["state"] == "abstained"
    code, output = agentic("repairs", "accept", repair["repair"])
    assert (code, "without a proposal" in output) == (1, True)
    assert agentic("crawls", "release", row["id"], "--stop")[0] == 0


def test_a_rejected_repair_is_not_applied_by_the_answer_to_its_question(shop: FakeServer) -> None:
    row = crawl(shop)
    (repair,) = told("repairs", "list")
    assert agentic("repairs", "reject", repair["repair"])[0] == 0
    assert "rejected already" in agentic("repairs", "accept", repair["repair"])[1]
    (asked,) = told("requests", "list")
    agentic("requests", "answer", row["id"], asked["request"], '"repair"')
    agentic("executions", "retry", row["id"])
    assert not told("repairs", "versions", "shop")
    (asked,) = told("requests", "list")  # the crawl asks again, without the repair
    assert asked["expects"] == "DriftAnswer"
    agentic("crawls", "release", row["id"], "--stop")
    agentic("executions", "retry", row["id"])
    assert told("executions", "list")[0]["status"] == "partial"


@pytest.mark.parametrize("decision", ["accept", "reject"])
def test_a_crawl_that_is_told_to_stop_stops_even_if_its_repair_is_decided_afterwards(
    shop: FakeServer, decision: str
) -> None:
    healthy = values()
    row = crawl(shop)
    (repair,) = told("repairs", "list")
    assert agentic("crawls", "release", row["id"], "--stop")[0] == 0
    assert agentic("repairs", decision, repair["repair"])[0] == 0
    agentic("executions", "retry", row["id"])
    assert told("executions", "list")[0]["status"] == "partial"
    assert (values(), versions()) == (healthy, {None})
    assert len(told("repairs", "versions", "shop")) == (decision == "accept")


KILLED = """
    import importlib, os, signal, sys
    from agentic.core.cli.main import main

    place, name, when = sys.argv[1:4]
    del sys.argv[1:4]
    module, _, owner = place.partition(":")
    home = importlib.import_module(module)
    home = getattr(home, owner) if owner else home
    whole = getattr(home, name)

    def killed(*args, **options):
        if when == "after":
            whole(*args, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(home, name, killed)
    main()
    """
STORE = "agentic.executors.agents.repairing.sql_store:SqlRepairStore"
CATALOG = "agentic.mappers.catalog.repairs"
FRONTIER = "agentic.mappers.crawl.frontier:SqlCrawlStore"
KILLS = (
    (STORE, "_store", "before"),  # the repair is found, and not stored
    (CATALOG, "_forget_oldest", "after"),  # stored, and not committed
    (STORE, "_store", "after"),
    (CATALOG, "_add_version", "after"),  # the version is written, and not committed
    (STORE, "_apply", "after"),
    (FRONTIER, "_store_watch", "before"),  # pages are released, and it is not committed
    (FRONTIER, "_release", "after"),
    (FRONTIER, "_exchange", "after"),  # the first page after the release is stored
)


def test_a_crawl_that_is_killed_at_each_point_of_its_repair_is_repaired_once(
    shop: FakeServer, tmp_path: Path
) -> None:
    healthy = values()
    shop.control.redesigns.add(RENAMED)
    words = ["run", written(shop, "auto")]
    for kill in KILLS:
        command = start_program(KILLED, [*kill, *words], os.environ, tmp_path)
        _, errors = command.communicate(timeout=100)
        assert command.returncode == -signal.SIGKILL, (kill, errors)
        (running, *_) = told("executions", "list")
        words = ["executions", "retry", running["id"]]
    assert agentic(*words)[0] == 0
    assert told("executions", "list")[0]["status"] == "succeeded"
    assert (values(), versions()) == (healthy, {None, 1})
    assert kinds_of_decisions() == [("repair.proposed", "engine"), ("repair.applied", "engine")]
    assert len(told("repairs", "list")) == len(told("repairs", "versions", "shop")) == 1


def test_an_agent_is_repaired_by_command_after_a_redesign_between_two_runs(shop: FakeServer) -> None:
    healthy = values()
    shop.control.redesigns.add(RENAMED.model_copy(update={"after": 0}))
    assert {row["state"] for row in told("pipelines", "repair", "shop", "--dry-run")} == {"found"}
    assert not told("repairs", "list")
    code, output = agentic("pipelines", "repair", "shop")
    assert (code, "proposed; see it with: agentic repairs show" in output) == (0, True)
    (repair,) = told("repairs", "list")
    assert agentic("repairs", "accept", repair["repair"])[0] == 0
    assert {row["state"] for row in told("pipelines", "repair", "shop", "--dry-run")} == {"works"}
    agentic("run", written(shop, "propose"))
    assert told("executions", "list")[0]["status"] == "succeeded"
    assert (values(), versions()) == (healthy, {1})
    assert "with --rows, or name its agent" in agentic("pipelines", "repair", "p.yaml")[1]
    # The looks of a repaired pipeline are known, too: a field without any stored value is not said to work.
    with closing(sqlite3.connect("home/agentic.db")) as database, database:
        database.execute("UPDATE items SET data = json_set(data, '$.title', NULL)")
    again = {"changes": ("rename_classes", "change_tags"), "after": 0}
    shop.control.redesigns.add(RENAMED.model_copy(update=again))
    states = {row["field"]: row["state"] for row in told("pipelines", "repair", "shop", "--dry-run")}
    assert states["title"] in {"found", "unsure"}
    assert states["price"] == "works"


def test_a_crawl_whose_agent_was_changed_meanwhile_says_how_its_pages_are_read(shop: FakeServer) -> None:
    healthy = values()
    run = crawl(shop)["id"]
    (repair,) = told("repairs", "list")
    changed = Path("p.yaml").read_text(encoding="utf-8").replace("commit_pages: 4", "commit_pages: 5")
    Path("p.yaml").write_text(changed, encoding="utf-8")
    assert agentic("agents", "edit", "shop", "--config", "pipeline=p.yaml")[0] == 0
    advice = f"`agentic executions retry {run[:12]} --failed`"
    code, output = agentic("crawls", "release", run)
    assert (code, advice in output) == (1, True)
    code, output = agentic("repairs", "accept", repair["repair"])
    assert (code, "version 1 of the pipeline" in output, advice in output) == (0, True, True)
    assert agentic("executions", "cancel", run)[0] == 0
    assert agentic("executions", "retry", run, "--failed")[0] == 0
    assert values() == healthy


def test_without_the_policy_nothing_is_repaired(shop: FakeServer) -> None:
    assert crawl(shop, "never")["state"] == "waiting_input"
    assert not told("repairs", "list")


def test_repair_that_finds_no_sure_place_proposes_nothing_and_says_so(shop: FakeServer) -> None:
    with Site() as site:
        show_lamps(site, '<p>Weight: <b class="weight">{} g</b></p>')
        Path("lamps.yaml").write_text(LAMPS.replace("URL", site.url), encoding="utf-8")
        assert agentic("run", "lamps.yaml")[0] == 0
        show_lamps(site, "")
        code, said = agentic("pipelines", "repair", "lamps", "--allow-private-host", "127.0.0.1")
    assert code == 0, said
    assert said.endswith("nothing is proposed: no broken part has a sure new place\n")
    assert told("repairs", "list") == []
