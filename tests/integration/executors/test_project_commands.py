"""``agentic projects``: described, limited, shown, removed, and carried about as one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.integration.executors.shells import Shell

from agentic.core.pipeline.repairs.proposals import SpecChange
from agentic.core.types import JSONValue
from agentic.core.wrappers import Wrapper
from agentic.executors.agents.redaction import MASK
from agentic.executors.commands.shared.options import OptionError
from agentic.executors.projects.files import ProjectFileError
from agentic.mappers import (
    ExecutionStatus,
    UnknownProjectError,
    create_execution,
    find_agent,
    find_project,
    finish_execution,
)
from agentic.mappers.catalog.repairs import changes_of, import_changes, newest_version
from agentic.mappers.crawl.wrappers import list_wrappers, save_wrappers
from agentic.mappers.errors import ProjectBusyError
from agentic.mappers.vault.keys import SecretKeys
from agentic.mappers.vault.vault import set_secret
from agentic.plugins.hackernews.models import HackerNewsItemModel

pytestmark = [pytest.mark.integration, pytest.mark.requirement("BR08")]

SHOP = """
name: shop
inputs: {start_url: {default: "http://a.example/"}}
steps:
  - {id: pages, type: crawl, start: "${inputs.start_url}"}
"""
LAMPS = """
name: lamps
steps:
  - type: crawl
    start: "http://a.example/"
    detail: {match: ["*/lamp/*"], config: {schema: {title: h1}}}
"""
HOOK = """
name: hook
steps:
  - {actor: webhook, config: {url: "http://a.example/", payload: {}, secret: "${secrets.signature}"}}
"""


@pytest.fixture
def full(shell: Shell) -> Shell:
    """The project ``default`` with some of everything."""
    shell("agents", "add", "top", "--platform", "hackernews", "--config", "limit=5", "--goals", "news")
    shell("agents", "add", "ask", "--platform", "hackernews", "--config", "list=ask")
    shell("agents", "disable", "ask")
    for text, name in ((SHOP, "shop.yaml"), (HOOK, "hook.yaml")):
        Path(name).write_text(text)
        shell("pipelines", "add", name)
    shell("schedules", "add", "hourly", "--agent", "top", "--every", "1h", "--jitter", "30")
    zone = ("--timezone", "Europe/Berlin", "--catch-up", "none")
    shell("schedules", "add", "nightly", "--agent", "ask", "--cron", "0 3 * * *", *zone)
    shell("schedules", "pause", "nightly")
    shell("projects", "edit", "default", "--description", "what is new", "--max-running", "4")
    with shell.database.writing() as session:
        keys = SecretKeys(SecretKeys.new_key())
        owner = find_project(session, "default").id
        set_secret(session, owner, keys, "login", "s3cret")
        save_wrappers(session, owner, "shop", {"a" * 32: Wrapper("price", examples={"1": "4.50 €"})})
    return shell


def run_once(shell: Shell, agent: str = "top") -> str:
    """Give an agent an execution that has succeeded, and a row in a table of its platform."""
    with shell.database.writing() as session:
        found = find_agent(session, find_project(session, "default").id, agent)
        execution = create_execution(session, found)
        finish_execution(session, found.project_id, execution.id, ExecutionStatus.SUCCEEDED)
        now = execution.created_at
        session.add(
            HackerNewsItemModel(
                project_id=found.project_id,
                id=1,
                type="story",
                first_seen_at=now,
                last_seen_at=now,
                execution_id=execution.id,
                agent_id=found.id,
                content_hash="0" * 64,
            )
        )
    return execution.id


def outcomes(changes: list[dict[str, Any]]) -> dict[str, str]:
    return {f"{change['kind']} {change['name']}": change["outcome"] for change in changes}


class TestShow:
    def test_a_project_is_shown_with_all_it_owns_and_secrets_by_name_only(self, full: Shell) -> None:
        run_once(full)
        shown = full.json("projects", "show", "default")

        assert (shown["description"], shown["max_running"]) == ("what is new", 4)
        assert shown["agents"] == ["ask", "top"]
        assert shown["pipelines"] == ["hook@1", "shop@1"]
        assert shown["schedules"] == ["hourly", "nightly"]
        assert shown["secrets"] == ["login"]
        assert shown["executions"] == {"succeeded": 1}
        assert shown["rows"] == {"hn_items": 1}
        assert "s3cret" not in json.dumps(shown) + full("projects", "show", "default")

    def test_an_unknown_project_is_refused(self, shell: Shell) -> None:
        assert isinstance(shell.fails("projects", "show", "nope"), UnknownProjectError)


class TestNames:
    @pytest.mark.parametrize("name", ["", "  ", "n" * 201, "two\nlines", "a\0b"])
    def test_what_no_database_or_listing_can_take_is_no_name(self, shell: Shell, name: str) -> None:
        Path("project.yaml").write_text("project: {name: a}\n")
        for words in (
            ("projects", "add", name),
            ("projects", "import", "project.yaml", "--as", name),
            ("agents", "add", name, "--platform", "hackernews"),
        ):
            assert isinstance(shell.fails(*words), OptionError)
        assert [row["name"] for row in shell.json("projects", "list")] == ["default"]
        assert shell.json("agents", "list") == []

    def test_a_file_names_nothing_by_them(self, shell: Shell) -> None:
        Path("project.yaml").write_text('project: {name: "a\\0b"}\n')
        assert isinstance(shell.fails("projects", "import", "project.yaml"), ProjectFileError)


class TestEdit:
    def test_what_is_not_named_stays_as_it_is(self, full: Shell) -> None:
        full("projects", "edit", "default", "--max-running", "2")
        assert full.json("projects", "show", "default")["description"] == "what is new"
        full("projects", "edit", "default", "--no-limit", "--description", "")
        shown = full.json("projects", "show", "default")
        assert (shown["description"], shown["max_running"]) == (None, None)

    @pytest.mark.parametrize("options", [(), ("--max-running", "2", "--no-limit")])
    def test_nothing_or_a_contradiction_is_refused(self, shell: Shell, options: tuple[str, ...]) -> None:
        assert isinstance(shell.fails("projects", "edit", "default", *options), OptionError)

    def test_a_change_is_a_decision(self, full: Shell) -> None:
        said = [decision["details"] for decision in full.json("audit", "--kind", "project.changed")]
        assert {"description": [None, "what is new"]} in said
        assert {"max_running": [None, 4]} in said


class TestRemove:
    def test_it_says_what_goes_along_and_asks(self, full: Shell) -> None:
        run_once(full)
        dry = full.json("projects", "remove", "default", "--dry-run")
        assert dry["removed"] == {
            "agents": 2,
            "pipelines": 2,
            "schedules": 2,
            "secrets": 1,
            "executions": 1,
            "rows": 1,
        }
        refused = full.run("projects", "remove", "default")
        assert refused.exit_code == 1
        assert "with 2 agents, 2 pipelines, 2 schedules, 1 secrets, 1 executions, 1 rows?" in refused.stderr
        assert [row["name"] for row in full.json("projects", "list")] == ["default"]

    def test_nothing_of_it_is_left(self, full: Shell) -> None:
        run_once(full)
        full("projects", "remove", "default", "--yes")
        assert full.json("projects", "list") == []
        with full.database.reading() as session:
            assert session.query(HackerNewsItemModel).count() == 0

    def test_while_something_goes_on_it_is_refused(self, full: Shell) -> None:
        with full.database.writing() as session:
            create_execution(session, find_agent(session, find_project(session, "default").id, "top"))
        error = full.fails("projects", "remove", "default", "--yes")
        assert isinstance(error, ProjectBusyError)
        assert isinstance(full.fails("projects", "remove", "default", "--dry-run"), ProjectBusyError)
        assert [row["name"] for row in full.json("projects", "list")] == ["default"]


class TestFiles:
    def test_an_exported_project_becomes_the_same_elsewhere(self, full: Shell) -> None:
        text = full("projects", "export", "default")
        Path("project.yaml").write_text(text)

        done = full.json("projects", "import", "project.yaml", "--as", "copy")

        assert set(outcomes(done["changes"]).values()) == {"added"}
        copy = full("projects", "export", "copy")
        assert yaml.safe_load(copy)["project"].pop("name") == "copy"
        # The secret that is stored here is not there.
        expected = text.replace("name: default", "name: copy").replace("- login\n", "")
        assert copy == expected
        assert full.json("agents", "show", "ask", "--project", "copy")["state"] == "disabled"

    def test_imported_again_it_changes_nothing(self, full: Shell) -> None:
        Path("project.yaml").write_text(full("projects", "export", "default"))
        before = full.json("audit", "--limit", "100")
        for _ in range(2):
            done = full.json("projects", "import", "project.yaml")
            assert set(outcomes(done["changes"]).values()) == {"unchanged"}
        assert full.json("audit", "--limit", "100") == before

    def test_what_differs_is_changed_and_named(self, full: Shell) -> None:
        found = yaml.safe_load(full("projects", "export", "default"))
        found["project"]["description"] = "what is newer"
        top = next(agent for agent in found["agents"] if agent["name"] == "top")
        top["config"]["limit"] = 9
        next(one for one in found["schedules"] if one["name"] == "hourly")["every"] = "2h"
        next(one for one in found["schedules"] if one["name"] == "nightly")["paused"] = False
        found["pipelines"][1]["description"] = "another one"
        Path("project.yaml").write_text(yaml.safe_dump(found))

        done = full.json("projects", "import", "project.yaml")

        changed = {change["name"]: change["changed"] for change in done["changes"] if change["changed"]}
        assert changed == {
            "default": ["description"],
            "top": ["config.limit"],
            "hourly": ["every_s"],
            "nightly": ["paused"],
        }
        assert outcomes(done["changes"])["pipeline shop@2"] == "changed"
        assert full.json("agents", "show", "top")["config"] == {"limit": 9}
        times = {row["name"]: (row["times"], row["state"]) for row in full.json("schedules", "list")}
        assert times["hourly"] == ("every 2h", "active")
        assert times["nightly"][1] == "active"

    def test_looks_of_fields_in_the_file_take_the_place_of_the_stored_ones(self, full: Shell) -> None:
        found = yaml.safe_load(full("projects", "export", "default"))
        (part,) = found["wrappers"]
        newer = {**json.loads(part["data"]), "pages": 7}
        found["wrappers"] = [{**part, "data": json.dumps(newer)}]
        Path("project.yaml").write_text(yaml.safe_dump(found))
        done = full.json("projects", "import", "project.yaml")
        assert outcomes(done["changes"])["wrappers of shop"] == "changed"
        assert "wrappers of shop: added" in full("projects", "import", "project.yaml", "--as", "copy")
        with full.database.reading() as session:
            (one,) = list_wrappers(session, find_project(session, "default").id)
        assert (one.wrapper.name, one.wrapper.pages) == ("price", 7)

    def test_accepted_repairs_go_with_their_agents(self, full: Shell) -> None:
        Path("lamps.yaml").write_text(LAMPS)
        full("agents", "add", "lamps", "--platform", "web", "--config", "pipeline=lamps.yaml")
        place = ("steps", 0, "detail", "config", "schema", "title")
        change = SpecChange(place=place, old="h1", new={"selector": ["h2", "h1"]}).marked(
            yaml.safe_load(LAMPS)
        )
        with full.database.writing() as session:
            agent = find_agent(session, find_project(session, "default").id, "lamps")
            assert import_changes(session, agent, [change], who="ann")
        Path("project.yaml").write_text(full("projects", "export", "default"))
        assert "repairs of lamps: added" in full("projects", "import", "project.yaml", "--as", "copy")
        assert "0 changes" in full("projects", "import", "project.yaml")
        with full.database.reading() as session:
            copied = find_agent(session, find_project(session, "copy").id, "lamps")
            assert changes_of(newest_version(session, copied)) == (change,)
        kinds = [one["kind"] for one in full.json("audit", "--project", "copy")]
        assert kinds.count("repair.applied") == 1

    @pytest.mark.parametrize(
        ("agent", "new", "why"),
        [
            ("lamps", 5, "the pipeline of 'lamps' is not valid"),
            ("top", {}, "has no pipeline"),
            ("none", {}, "does not exist"),
        ],
    )
    def test_repairs_that_fit_no_pipeline_are_refused(
        self, full: Shell, agent: str, new: JSONValue, why: str
    ) -> None:
        Path("lamps.yaml").write_text(LAMPS)
        full("agents", "add", "lamps", "--platform", "web", "--config", "pipeline=lamps.yaml")
        found = yaml.safe_load(full("projects", "export", "default"))
        change = {
            "place": ["steps", 0, "detail"],
            "old": yaml.safe_load(LAMPS)["steps"][0]["detail"],
            "new": new,
        }
        found["repairs"] = [{"agent": agent, "changes": [change]}]
        Path("project.yaml").write_text(yaml.safe_dump(found))
        assert why in str(full.fails("projects", "import", "project.yaml"))

    def test_a_dry_run_says_what_would_change_and_writes_nothing(self, full: Shell) -> None:
        Path("project.yaml").write_text(full("projects", "export", "default"))
        done = full.json("projects", "import", "project.yaml", "--as", "copy", "--dry-run")
        assert outcomes(done["changes"])["agent top"] == "added"
        assert done["dry_run"] is True
        assert "nothing was written; the import makes" in full(
            "projects", "import", "project.yaml", "--as", "copy", "--dry-run"
        )
        assert [row["name"] for row in full.json("projects", "list")] == ["default"]

    def test_agents_that_the_file_does_not_name_stay_and_of_what_it_names_all_is_as_it_says(
        self, full: Shell
    ) -> None:
        new = "project: {name: default}\nagents: [{name: new, platform: hackernews}]"
        Path("project.yaml").write_text(new)
        done = full.json("projects", "import", "project.yaml")
        assert [row["name"] for row in full.json("agents", "list")] == ["ask", "new", "top"]
        assert done["changes"][0]["changed"] == ["description", "max_running"]
        shown = full.json("projects", "show", "default")
        assert (shown["description"], shown["max_running"]) == (None, None)

    def test_secrets_are_named_and_never_told(self, full: Shell) -> None:
        text = full("projects", "export", "default")
        assert "s3cret" not in text
        assert yaml.safe_load(text)["secrets"] == ["login", "signature"]
        Path("project.yaml").write_text(text)
        done = full.json("projects", "import", "project.yaml", "--as", "copy")
        assert done["missing_secrets"] == ["login", "signature"]

    def test_every_fault_is_told_with_its_line_and_nothing_is_written(self, shell: Shell) -> None:
        Path("bad.yaml").write_text(
            "project: {name: bad}\n"
            "agents:\n"
            "  - name: a\n"
            "    platform: hackernews\n"
            "    config:\n"
            "      limit: 0\n"
            "  - {name: b, platform: nope}\n"
            "  - {name: c, platform: hackernews}\n"
            "pipelines:\n"
            "  - name: p\n"
            "    steps:\n"
            "      - {actor: fetsch, config: {}}\n"
            "schedules:\n"
            "  - {name: s, agent: zz, every: 1h}\n"
            "  - {name: t, agent: c, cron: '99 * * * *'}\n"
        )
        error = shell.fails("projects", "import", "bad.yaml")

        assert isinstance(error, ProjectFileError)
        said = [(fault.line, fault.column) for fault in error.faults]
        assert said == [(6, 7), (7, 15), (12, 10), (14, 15), (15, 25)]
        assert "unknown actor 'fetsch'" in str(error)
        assert [row["name"] for row in shell.json("projects", "list")] == ["default"]

    @pytest.mark.parametrize(
        ("text", "fault"),
        [
            ("", "it is empty"),
            ("# only words\n", "it is empty"),
            ("{s3cret", "line 1 column 8: it is not valid YAML"),
            ("- s3cret", "Input should be a valid dictionary"),
            ("project: {name: a, limt: s3cret}", "project.limt, line 1 column 20: Extra inputs"),
            ("project: {name: a, max_running: 0}", "project.max_running, line 1 column 20: Input should be"),
            ("project: {name: a}\nproject: {name: b}", "line 2 column 1: duplicate key"),
            (
                "project: {name: a}\npipelines: [{steps: []}]",
                "line 2 column 13: a pipeline needs a name",
            ),
            (
                "project: {name: a}\nwrappers: [{pipeline: s, key: " + "a" * 32 + ", data: s3cret}]",
                "it is not a wrapper as an export writes it; leave the part out",
            ),
            (
                "project: {name: a}\nwrappers: [{pipeline: s, key: s3cret, data: '{}'}]",
                "String should match pattern",
            ),
            (
                "project: {name: a}\nagents:\n- {name: x, platform: web}\n- {name: x, platform: web}",
                "line 4 column 3: 'x' exists twice",
            ),
            (
                "project: {name: a}\nschedules: [{name: x, agent: y, every: 1h, cron: '* * * * *'}]",
                "a schedule has either cron or every",
            ),
        ],
    )
    def test_what_is_no_project_is_refused_without_being_shown(
        self, shell: Shell, text: str, fault: str
    ) -> None:
        Path("project.yaml").write_text(text)
        error = shell.fails("projects", "import", "project.yaml")
        assert isinstance(error, ProjectFileError)
        assert fault in str(error)
        assert "s3cret" not in str(error)

    def test_a_masked_secret_leaves_the_agents_own_and_is_refused_where_there_is_none(
        self, shell: Shell
    ) -> None:
        spec = {"steps": [{"type": "crawl", "start": "http://a.example/"}], "name": "own"}
        config = {"pipeline": spec, "http": {"proxy": "http://user:s3cret@proxy.example:3128"}}
        Path("config.yaml").write_text(yaml.safe_dump(config))
        shell("agents", "add", "shop", "--platform", "web", "--config", "@config.yaml")
        text = shell("projects", "export", "default")
        assert "s3cret" not in text
        assert MASK in text
        Path("project.yaml").write_text(text)

        done = shell.json("projects", "import", "project.yaml")

        assert outcomes(done["changes"])["agent shop"] == "unchanged"
        error = shell.fails("projects", "import", "project.yaml", "--as", "copy")
        assert isinstance(error, ProjectFileError)
        assert error.faults[0].place == ("agents", 0, "config", "http", "proxy")
        assert "the agent has none there yet" in str(error)

    def test_a_secret_within_a_pipeline_is_masked_and_left_as_it_is(self, shell: Shell) -> None:
        Path("site.yaml").write_text(
            "name: site\n"
            "steps:\n"
            "  - actor: fetch\n"
            "    config:\n"
            "      url: http://me:s3cret-of-url@a.example/\n"
            "      headers: {Authorization: Bearer s3cret-of-header}\n"
        )
        shell("pipelines", "add", "site.yaml")
        text = shell("projects", "export", "default")
        assert "s3cret" not in text
        assert "s3cret" not in shell("projects", "export", "default", "--json")
        Path("project.yaml").write_text(text)

        done = shell.json("projects", "import", "project.yaml")

        assert outcomes(done["changes"])["pipeline site@1"] == "unchanged"
        error = shell.fails("projects", "import", "project.yaml", "--as", "copy")
        assert isinstance(error, ProjectFileError)
        step = ("pipelines", 0, "steps", 0, "config")
        assert {fault.place for fault in error.faults} == {
            (*step, "url"),
            (*step, "headers", "Authorization"),
        }

    def test_a_mask_is_never_stored_for_the_secret(self, shell: Shell) -> None:
        """Where the text around it was changed, nobody knows any more what it stands for."""
        Path("hook.yaml").write_text(HOOK.replace("http://a.example/", "http://me:s3cret@a.example/"))
        shell("pipelines", "add", "hook.yaml")
        text = shell("projects", "export", "default")
        assert f"http://me:{MASK}@a.example/" in text
        Path("project.yaml").write_text(text.replace("@a.example", "@b.example"))

        error = shell.fails("projects", "import", "project.yaml")

        assert isinstance(error, ProjectFileError)
        assert error.faults[0].place == ("pipelines", 0, "steps", 0, "config", "url")

    def test_a_fault_of_a_platform_that_names_no_key_is_told_at_the_config(self, shell: Shell) -> None:
        Path("project.yaml").write_text(
            "project: {name: a}\nagents:\n- {name: x, platform: web, config: {}}\n"
        )
        error = shell.fails("projects", "import", "project.yaml")
        assert isinstance(error, ProjectFileError)
        assert {fault.place for fault in error.faults} == {("agents", 0, "config")}
