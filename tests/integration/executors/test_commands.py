"""The commands against a real database file, in this process; pipelines read the fake shop."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.executors.shells import Shell

from agentic.core.errors import UnknownPlatformError
from agentic.executors.commands.shared.options import OptionError
from agentic.executors.errors import (
    AgentConfigError,
    BrokerUnavailableError,
    ExecutionFailedError,
    ExecutionNotRunnableError,
)
from agentic.fakes.control import Fault
from agentic.fakes.server import FakeServer
from agentic.mappers import (
    DatabaseNotMigratedError,
    DuplicateAgentError,
    UnknownAgentError,
    UnknownExecutionError,
    UnknownProjectError,
    add_agent,
    create_execution,
    find_agent,
    find_project,
)

pytestmark = [pytest.mark.integration, pytest.mark.requirement("BR08")]

SHOP = """
name: shop
inputs: {{start_url: {{default: "{url}"}}, limit: {{type: integer, default: 3}}}}
http: {{allow_private_hosts: ["127.0.0.1"], obey_robots: false}}
steps:
  - {{id: pages, type: crawl, start: "${{inputs.start_url}}", max_pages: "${{inputs.limit}}"}}
"""


@pytest.fixture(scope="module")
def fakes() -> Iterator[FakeServer]:
    with FakeServer(seed=1, stories=30, products=30) as server:
        yield server


@pytest.fixture
def shop(tmp_path: Path, fakes: FakeServer) -> str:
    path = tmp_path / "shop.yaml"
    path.write_text(SHOP.format(url=fakes.shop_url))
    return str(path)


class TestProjects:
    def test_an_added_project_is_listed(self, shell: Shell) -> None:
        shell("projects", "add", "news")

        assert [row["name"] for row in shell.json("projects", "list")] == ["default", "news"]

    def test_a_limit_can_be_set_and_taken_away(self, shell: Shell) -> None:
        shell("projects", "limit", "default", "--max-running", "3")
        assert [row["max_running"] for row in shell.json("projects", "list")] == [3]
        shell("projects", "limit", "default")
        assert [row["max_running"] for row in shell.json("projects", "list")] == [None]

    def test_the_first_command_that_writes_makes_the_database(self, bare_shell: Shell) -> None:
        bare_shell("projects", "add", "news")

        assert [row["name"] for row in bare_shell.json("projects", "list")] == ["news"]

    def test_a_command_that_reads_makes_none(self, bare_shell: Shell) -> None:
        assert isinstance(bare_shell.fails("projects", "list"), DatabaseNotMigratedError)
        assert not bare_shell.home.exists()

    def test_a_database_without_tables_is_refused_and_left_alone(self, bare_shell: Shell) -> None:
        bare_shell.home.mkdir()
        (bare_shell.home / "agentic.db").touch()

        error = bare_shell.fails("projects", "add", "news")

        assert isinstance(error, DatabaseNotMigratedError)
        assert "agentic db upgrade" in str(error)
        assert isinstance(bare_shell.fails("projects", "list"), DatabaseNotMigratedError)


class TestAgents:
    def test_an_added_agent_is_shown_with_what_it_was_given(self, shell: Shell) -> None:
        config = ("--config", "limit=5", "--config", "list=best")
        shell("agents", "add", "top", "--platform", "hackernews", *config, "--goals", "a,b")

        shown = shell.json("agents", "show", "top")

        assert shown["config"] == {"limit": 5, "list": "best"}
        assert (shown["platform"], shown["goals"]) == ("hackernews", "a,b")
        assert [row["name"] for row in shell.json("agents", "list")] == ["top"]

    def test_a_config_can_come_from_a_file_and_be_changed_on_the_way(self, shell: Shell) -> None:
        Path("top.yaml").write_text("limit: 7\nlist: new\n")
        config = ("--config", "@top.yaml", "--config", "limit=8")

        shell("agents", "add", "top", "--platform", "hackernews", *config)

        assert shell.json("agents", "show", "top")["config"] == {"limit": 8, "list": "new"}

    @pytest.mark.requirement("PL25")
    def test_a_config_that_does_not_fit_adds_nothing(self, shell: Shell) -> None:
        error = shell.fails("agents", "add", "top", "--platform", "hackernews", "--config", "limt=5")

        assert isinstance(error, AgentConfigError)
        assert "limt" in str(error)
        assert shell.json("agents", "list") == []

    def test_an_unknown_platform_is_refused_and_makes_no_database(self, bare_shell: Shell) -> None:
        error = bare_shell.fails("agents", "add", "x", "--platform", "nope")

        assert isinstance(error, UnknownPlatformError)
        assert "hackernews, " in str(error)
        assert not bare_shell.home.exists()

    def test_a_name_is_taken_once_unless_the_agent_is_to_be_replaced(self, shell: Shell) -> None:
        add = ("agents", "add", "top", "--platform", "hackernews")
        shell(*add, "--goals", "kept")

        assert isinstance(shell.fails(*add), DuplicateAgentError)
        shell(*add, "--replace", "--config", "limit=9")

        shown = shell.json("agents", "show", "top")
        assert (shown["config"], shown["goals"]) == ({"limit": 9}, "kept")

    @pytest.mark.requirement("PL42")
    def test_an_agent_of_another_project_is_not_seen(self, shell: Shell) -> None:
        shell("projects", "add", "other")
        shell("agents", "add", "top", "--platform", "hackernews", "--project", "other")

        assert isinstance(shell.fails("agents", "show", "top"), UnknownAgentError)
        assert isinstance(shell.fails("run", "top"), UnknownAgentError)

    def test_an_unknown_project_is_named_with_those_that_are_known(self, shell: Shell) -> None:
        error = shell.fails("agents", "list", "--project", "nope")

        assert isinstance(error, UnknownProjectError)
        assert "known: default" in str(error)

    def test_an_agent_is_removed_when_asked_twice(self, shell: Shell) -> None:
        shell("agents", "add", "top", "--platform", "hackernews")

        assert shell.run("agents", "remove", "top").exit_code == 1
        shell("agents", "remove", "top", "--yes")

        assert shell.json("agents", "list") == []

    @pytest.mark.parametrize("value", ["limit", "=5", "@missing.yaml", "@broken.yaml", "@list.yaml"])
    def test_a_value_that_cannot_be_read_is_refused_without_being_shown(
        self, shell: Shell, value: str
    ) -> None:
        Path("broken.yaml").write_text("{s3cret")
        Path("list.yaml").write_text("- s3cret")

        error = shell.fails("agents", "add", "x", "--platform", "hackernews", "--config", value)

        assert isinstance(error, OptionError)
        assert "s3cret" not in str(error)


class TestAgentFiles:
    def test_exported_agents_are_imported_elsewhere_as_they_were(self, shell: Shell) -> None:
        shell("agents", "add", "top", "--platform", "hackernews", "--config", "limit=5", "--goals", "news")
        shell("agents", "add", "ask", "--platform", "hackernews", "--config", "list=ask")
        Path("agents.yaml").write_text(shell("agents", "export"))

        shell("projects", "add", "other")
        shell("agents", "import", "agents.yaml", "--project", "other")

        rows = [
            [{name: row[name] for name in ("name", "platform", "goals", "config")} for row in listed]
            for listed in (shell.json("agents", "list"), shell.json("agents", "list", "--project", "other"))
        ]
        assert rows[0] == rows[1]
        assert len(rows[0]) == 2

    def test_all_agents_of_a_file_are_imported_or_none(self, shell: Shell) -> None:
        Path("agents.yaml").write_text(
            "agents: [{name: a, platform: hackernews}, {name: b, platform: hackernews, config: {limit: 0}}]"
        )

        error = shell.fails("agents", "import", "agents.yaml")

        assert isinstance(error, AgentConfigError)
        assert "limit" in str(error)
        assert shell.json("agents", "list") == []

    def test_agents_that_are_there_are_changed_only_when_asked(self, shell: Shell) -> None:
        Path("agents.yaml").write_text("agents: [{name: a, platform: hackernews, config: {limit: 5}}]")
        shell("agents", "import", "agents.yaml")

        assert isinstance(shell.fails("agents", "import", "agents.yaml"), DuplicateAgentError)
        Path("agents.yaml").write_text("agents: [{name: a, platform: hackernews, config: {limit: 6}}]")
        shell("agents", "import", "agents.yaml", "--replace")

        assert shell.json("agents", "show", "a")["config"] == {"limit": 6}

    def test_a_file_that_does_not_say_whether_an_agent_is_disabled_leaves_it_as_it_is(
        self, shell: Shell
    ) -> None:
        shell("agents", "add", "a", "--platform", "hackernews")
        for text, command, state in (
            ("{name: a, platform: hackernews}", "disable", "disabled"),
            ("{name: a, platform: hackernews}", "enable", "enabled"),
            ("{name: a, platform: hackernews, disabled: false}", "disable", "enabled"),
            ("{name: a, platform: hackernews, disabled: true}", "enable", "disabled"),
        ):
            shell("agents", command, "a", "--yes")
            Path("agents.yaml").write_text(f"agents: [{text}]")

            shell("agents", "import", "agents.yaml", "--replace")

            assert shell.json("agents", "show", "a")["state"] == state

    def test_an_exported_agent_says_whether_it_is_disabled(self, shell: Shell) -> None:
        shell("agents", "add", "a", "--platform", "hackernews")
        assert "disabled: false" in shell("agents", "export")

        shell("agents", "disable", "a", "--yes")
        assert "disabled: true" in shell("agents", "export")

    def test_a_dry_run_checks_and_writes_nothing(self, shell: Shell) -> None:
        Path("agents.yaml").write_text("agents: [{name: a, platform: hackernews}]")

        assert "1 agents would be imported" in shell("agents", "import", "agents.yaml", "--dry-run")
        assert shell.json("agents", "list") == []

    def test_secrets_are_not_exported_and_a_masked_one_is_not_imported(self, shell: Shell) -> None:
        with shell.database.writing() as session:
            add_agent(session, find_project(session, "default"), "s", "uninstalled", {"token": "s3cret"})
        told = shell("agents", "export", "s")
        Path("agents.yaml").write_text(told)

        error = shell.fails("agents", "import", "agents.yaml", "--replace")

        assert "s3cret" not in told
        assert isinstance(error, OptionError)
        assert "config.token of agent 's' is **********" in str(error)

    @pytest.mark.parametrize(
        ("text", "fault"),
        [
            ("{s3cret", "cannot be read as YAML or JSON"),
            ("- s3cret", "is not a file of `agentic agents export`"),
            ("agents: [{name: a}]", "agents.0.platform: Field required"),
            ("agents: [{name: a, platform: web, conf: s3cret}]", "agents.0.conf: Extra inputs"),
            ("agents: [{name: a, platform: web}, {name: a, platform: web}]", "has the agent 'a' twice"),
        ],
    )
    def test_what_is_no_file_of_agents_is_refused_without_being_shown(
        self, shell: Shell, text: str, fault: str
    ) -> None:
        Path("agents.yaml").write_text(text)

        error = shell.fails("agents", "import", "agents.yaml")

        assert fault in str(error)
        assert "s3cret" not in str(error)
        assert "missing.yaml cannot be read" in str(shell.fails("agents", "import", "missing.yaml"))

    def test_a_part_of_a_config_is_changed_and_checked(self, shell: Shell) -> None:
        shell(
            "agents", "add", "top", "--platform", "hackernews", "--config", "limit=5", "--config", "list=ask"
        )

        shell("agents", "edit", "top", "--config", "limit=6", "--unset", "list", "--goals", "more")

        shown = shell.json("agents", "show", "top")
        assert (shown["config"], shown["goals"]) == ({"limit": 6}, "more")
        assert isinstance(shell.fails("agents", "edit", "top", "--config", "limit=0"), AgentConfigError)
        assert shell.json("agents", "show", "top")["config"] == {"limit": 6}


def test_platforms_are_listed_with_the_keys_of_their_config(bare_shell: Shell) -> None:
    rows = {row["name"]: row for row in bare_shell.json("platforms", "list")}

    assert {"hackernews", "web"} <= rows.keys()
    assert "limit" in rows["hackernews"]["config"]


class TestRun:
    def test_a_pipeline_file_runs_without_any_set_up(self, bare_shell: Shell, shop: str) -> None:
        outcome = bare_shell.json("run", shop)

        assert (outcome["status"], outcome["agent"], outcome["project"]) == ("succeeded", "shop", "default")
        assert outcome["counts"]["inserted"] == outcome["tables"]["web_pages"]["total"] == 3
        assert outcome["superstep_count"] > 3

    def test_the_same_pipeline_run_again_changes_no_row(self, shell: Shell, shop: str) -> None:
        shell("run", shop)

        counts = shell.json("run", shop)["counts"]

        assert counts == {"inserted": 0, "updated": 0, "unchanged": 3, "rejected": 0, "failed": 0}
        assert len(shell.json("agents", "list")) == 1

    def test_a_pipeline_that_is_kept_runs_in_the_version_that_is_named(self, shell: Shell, shop: str) -> None:
        shell("pipelines", "add", shop)
        Path(shop).write_text(Path(shop).read_text().replace("default: 3", "default: 2"))
        shell("pipelines", "add", shop)
        Path(shop).unlink()

        runs = [shell.json("run", target) for target in ("shop@1", "shop@2", "shop@")]

        assert {run["agent"] for run in runs} == {"shop"}
        assert [run["tables"]["web_pages"]["total"] for run in runs] == [3, 2, 2]

    def test_it_prints_rows_counts_and_where_they_are(self, shell: Shell, shop: str) -> None:
        output = shell("run", shop)

        assert "web_pages (3)" in output
        assert "3 inserted" in output
        assert f"{shell.home}/agentic.db" in output

    def test_inputs_are_checked_and_stay_with_the_agent(self, bare_shell: Shell, shop: str) -> None:
        refused = bare_shell.fails("run", shop, "--input", "limit=many")
        assert "'limit' is not a valid integer" in str(refused)
        assert not bare_shell.home.exists()

        assert bare_shell.json("run", shop, "--input", "limit=2")["counts"]["inserted"] == 2
        assert bare_shell.json("run", "shop")["counts"]["unchanged"] == 2
        assert bare_shell.json("run", "shop", "--input", "limit=3")["counts"]["inserted"] == 1

    def test_a_missing_file_is_refused_before_anything_is_made(self, bare_shell: Shell) -> None:
        assert "it cannot be read" in str(bare_shell.fails("run", "missing.yaml"))
        assert not bare_shell.home.exists()

    def test_a_pipeline_does_not_take_the_place_of_another_kind_of_agent(
        self, shell: Shell, shop: str
    ) -> None:
        shell("agents", "add", "shop", "--platform", "hackernews")

        assert "give the pipeline another `name`" in str(shell.fails("run", shop))
        assert shell.json("agents", "show", "shop")["platform"] == "hackernews"

    def test_inputs_for_an_agent_that_is_no_pipeline_are_refused(self, shell: Shell) -> None:
        shell("agents", "add", "top", "--platform", "hackernews")

        assert isinstance(shell.fails("run", "top", "--input", "limit=3"), OptionError)

    def test_a_failed_run_is_an_error_and_stays_on_record(self, shell: Shell, shop: str) -> None:
        error = shell.fails("run", shop, "--input", "start_url=http://127.0.0.1:1/")

        assert isinstance(error, ExecutionFailedError)
        [row] = shell.json("executions", "list")
        assert row["status"] == "failed"
        assert row["error"] == str(error)

    def test_one_that_failed_goes_on_under_its_id_when_it_is_resumed(self, shell: Shell, shop: str) -> None:
        unreachable = ("run", shop, "--input", "start_url=http://127.0.0.1:1/")
        shell.fails(*unreachable)
        shell.fails(*unreachable, "--resume")

        assert [row["attempts"] for row in shell.json("executions", "list")] == [2]

    def test_pages_that_fail_in_passing_are_fetched_all_the_same(
        self, shell: Shell, shop: str, fakes: FakeServer
    ) -> None:
        for path, status in [("/", 429), ("/product/1", 503), ("/category/*", 503)]:
            wait_s = 1 if status == 429 else None
            fakes.control.add(Fault(path=f"/shop{path}", status=status, retry_after_s=wait_s))

        told = shell.json("run", shop, "--input", "limit=20")

        assert (told["status"], told["counts"]["inserted"]) == ("succeeded", 20)
        assert all("max_pages" in warning for warning in told["warnings"])

    def test_pages_that_were_given_up_make_a_run_partial(
        self, shell: Shell, shop: str, fakes: FakeServer, request: pytest.FixtureRequest
    ) -> None:
        request.addfinalizer(fakes.control.reset)
        fakes.control.add(Fault(path="/shop/category/*", status=410, times=None))

        result = shell.run("run", shop, "--input", "limit=10")

        assert result.exit_code == 4

        [row] = shell.json("executions", "list")
        warnings = shell.json("executions", "show", row["id"])["warnings"]
        [warning] = [one for one in warnings if "max_pages" not in one]
        assert row["status"] == "partial"
        assert " of 10 pages failed: gone " in warning
        assert row["reason"] == warning
        assert result.stdout.count(warning) == 1

    def test_one_whose_agent_was_changed_since_is_not_resumed(self, shell: Shell, shop: str) -> None:
        shell.fails("run", shop, "--input", "start_url=http://127.0.0.1:1/")
        error = shell.fails("run", shop, "--resume")

        assert isinstance(error, ExecutionNotRunnableError)
        assert "run without --resume" in str(error)

    def test_with_nothing_to_resume_one_is_begun(self, shell: Shell, shop: str) -> None:
        shell("run", shop, "--resume")
        shell("run", shop, "--resume")

        assert [row["status"] for row in shell.json("executions", "list")] == ["succeeded", "succeeded"]

    def test_what_workers_are_to_run_is_not_resumed_here(self, shell: Shell, shop: str) -> None:
        error = shell.fails("run", shop, "--resume", "--dispatcher", "celery")

        assert isinstance(error, OptionError)
        assert "continue killed executions by themselves" in str(error)

    def test_without_a_broker_nothing_is_queued(self, shell: Shell, shop: str) -> None:
        error = shell.fails("run", shop, "--dispatcher", "celery")

        assert isinstance(error, BrokerUnavailableError)
        assert error.exit_code == 3
        assert "agentic up" in str(error)
        assert (shell.json("agents", "list"), shell.json("executions", "list")) == ([], [])

    def test_a_broker_that_is_down_is_named_without_its_password(
        self, shell: Shell, shop: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AGENTIC_BROKER_URL", "redis://user:s3cret@127.0.0.1:1/0")

        error = str(shell.fails("run", shop, "--dispatcher", "celery"))

        assert "redis://127.0.0.1:1/0" in error
        assert "s3cret" not in error
        assert shell.json("executions", "list") == []

    @pytest.mark.parametrize("url", ["carrier-pigeon://loft", "redis://127.0.0.1:many/0"])
    def test_a_broker_url_that_makes_no_sense_is_refused(
        self, shell: Shell, shop: str, monkeypatch: pytest.MonkeyPatch, url: str
    ) -> None:
        monkeypatch.setenv("AGENTIC_BROKER_URL", url)

        assert isinstance(shell.fails("run", shop, "--dispatcher", "celery"), BrokerUnavailableError)


class TestWorker:
    def test_without_a_broker_it_does_not_start(self, shell: Shell) -> None:
        assert isinstance(shell.fails("worker"), BrokerUnavailableError)

    def test_without_tables_it_does_not_start(self, bare_shell: Shell) -> None:
        assert isinstance(bare_shell.fails("worker"), DatabaseNotMigratedError)


class TestExecutions:
    @pytest.fixture
    def execution(self, shell: Shell, shop: str) -> str:
        return str(shell.json("run", shop)["execution_id"])

    def test_an_execution_is_shown_with_its_result(self, shell: Shell, execution: str) -> None:
        shown = shell.json("executions", "show", execution[:12])

        assert (shown["id"], shown["status"], shown["attempts"]) == (execution, "succeeded", 1)
        assert shown["result"]["pipeline"] == "shop"
        assert "shop" in shell("executions", "show", execution)

    def test_an_unknown_execution_is_refused(self, shell: Shell) -> None:
        assert isinstance(shell.fails("executions", "show", "nope"), UnknownExecutionError)

    @pytest.mark.requirement("PL42")
    def test_an_execution_of_another_project_is_not_seen(self, shell: Shell, execution: str) -> None:
        shell("projects", "add", "other")

        error = shell.fails("executions", "show", execution, "--project", "other")

        assert isinstance(error, UnknownExecutionError)

    def test_the_beginning_of_an_id_must_tell_one_from_the_others(
        self, shell: Shell, shop: str, execution: str
    ) -> None:
        shell("run", shop)

        assert "the id is empty" in str(shell.fails("executions", "show", ""))

    def test_one_that_has_succeeded_is_not_run_again(self, shell: Shell, execution: str) -> None:
        error = shell.fails("executions", "retry", execution)

        assert isinstance(error, ExecutionNotRunnableError)
        assert "agentic run" in str(error)

    @pytest.mark.usefixtures("execution")  # which makes the agent
    def test_one_that_was_cancelled_goes_on_under_its_id(self, shell: Shell) -> None:
        with shell.database.writing() as session:
            agent = find_agent(session, find_project(session, "default").id, "shop")
            waiting = create_execution(session, agent).id

        shell("executions", "cancel", waiting[:12])
        assert shell.json("executions", "show", waiting)["state"] == "cancelled"
        outcome = shell.json("executions", "retry", waiting)

        assert (outcome["execution_id"], outcome["status"]) == (waiting, "succeeded")


def test_secrets_of_a_platform_that_is_gone_are_not_shown(shell: Shell) -> None:
    with shell.database.writing() as session:
        add_agent(session, find_project(session, "default"), "x", "uninstalled", {"token": "s3cret"})

    assert "s3cret" not in shell("agents", "show", "x")
    assert shell.json("agents", "show", "x")["config"] == {"token": "**********"}
