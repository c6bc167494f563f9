"""One change to many agents or executions: said first, each outcome told, none hidden."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from sqlalchemy import QueuePool, update
from tests.commands import CLOSED, start_command
from tests.integration.executors.shells import Shell

from agentic.core.errors import UnknownPlatformError
from agentic.executors.commands.runs.steering import opened_desk
from agentic.executors.commands.shared.bulk import Batch, BulkOptions
from agentic.executors.commands.shared.options import OptionError
from agentic.executors.errors import AgentConfigError, ExecutionNotRunnableError
from agentic.mappers import (
    ExecutionModel,
    ExecutionStatus,
    UnknownAgentError,
    UnknownExecutionError,
    create_execution,
    find_agent,
    find_project,
    utc_now,
)
from agentic.mappers.catalog.execution_choice import ExecutionGoesOnError
from agentic.mappers.errors import AgentDisabledError

pytestmark = [pytest.mark.integration, pytest.mark.requirement("BR08")]

PIPELINE = """
name: {name}
steps:
  - {{id: note, actor: aggregate, config: {{items: [{{url: "http://a.example/"}}]}}}}
"""
BROKEN = """
name: broken
http: {{allow_private_hosts: ["127.0.0.1"], obey_robots: false}}
steps:
  - {{id: page, actor: fetch, config: {{url: "{url}"}}, error_handling: {{"*": {{then: fail}}}}}}
"""

MakeExecution = Callable[..., str]


@pytest.fixture
def three(shell: Shell) -> Shell:
    """Two agents of Hacker News, and one of the web."""
    shell("agents", "add", "top", "--platform", "hackernews", "--config", "limit=5")
    shell("agents", "add", "ask", "--platform", "hackernews", "--config", "list=ask")
    shell("agents", "add", "shop", "--platform", "web", "--config", "@shop.yaml")
    return shell


@pytest.fixture(autouse=True)
def shop_config(bare_shell: Shell) -> None:
    del bare_shell  # which is in its folder by now
    Path("shop.yaml").write_text(
        "pipeline: {name: shop, steps: [{type: crawl, start: 'http://a.example/'}]}\n"
    )


@pytest.fixture
def make_execution(shell: Shell) -> MakeExecution:
    """Make an execution that stands in a given way, without running anything."""

    def make(agent: str, status: ExecutionStatus = ExecutionStatus.QUEUED, age_h: int = 0) -> str:
        with shell.database.writing() as session:
            found = find_agent(session, find_project(session, "default").id, agent)
            made = create_execution(session, found)
            values = {"status": status, "created_at": utc_now() - timedelta(hours=age_h)}
            session.execute(update(ExecutionModel).where(ExecutionModel.id == made.id).values(**values))
        return made.id

    return make


def states(shell: Shell) -> dict[str, str]:
    return {row["name"]: row["state"] for row in shell.json("agents", "list")}


def ids(shell: Shell, *options: str) -> set[str]:
    return {row["id"] for row in shell.json("executions", "list", *options)}


def at_terminal(typed: str, *arguments: str) -> tuple[int, str]:
    """Run a command for somebody who types; return its exit code, and what it said on standard error."""
    ours, theirs = os.openpty()
    try:
        os.write(ours, typed.encode())
        done = start_command(arguments, os.environ, Path(), stdin=theirs)
        _, complaints = done.communicate(timeout=60)
    finally:
        os.close(ours)
        os.close(theirs)
    return done.returncode, complaints


def started_without_standard_input(*arguments: str) -> tuple[int, str]:
    """Run a command as a service does that closes standard input; return its exit code and its words."""
    words = shlex.join([sys.executable, "-m", "agentic.core.cli", *arguments])
    done = subprocess.run(["/bin/sh", "-c", f"{words} <&-"], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def without_standard_input(*arguments: str) -> tuple[int, str]:
    """Do the same with a command that is forked."""
    command = start_command(arguments, os.environ, Path(), stdin=CLOSED)
    _, said = command.communicate(timeout=60)
    return command.returncode, said


class TestBatch:
    @pytest.mark.parametrize("is_json", [True, False])
    def test_one_that_is_broken_off_tells_what_was_done_by_then(
        self, capsys: pytest.CaptureFixture[str], *, is_json: bool
    ) -> None:
        def act(thing: int) -> str:
            if thing == 2:
                raise KeyboardInterrupt
            return "changed"

        chosen = [(f"a{number}", number) for number in (1, 2, 3, 4)]
        batch = Batch(things=("agent", "agents"), verb="change", chosen=chosen, act=act)

        with pytest.raises(KeyboardInterrupt):
            batch.run(BulkOptions(yes=True, as_json=is_json))

        said = capsys.readouterr()
        if is_json:
            assert json.loads(said.out) == [{"name": "a1", "outcome": "changed", "error": None}]
        else:
            assert said.out.splitlines()[-1] == "1 of 4 agents: 1 changed"
        assert "interrupted at agent a2, which may be done or not; the 2 after it are unchanged" in (
            " ".join(said.err.split())
        )

    def test_without_standard_input_nobody_is_asked_and_what_is_lost_needs_a_yes(self, three: Shell) -> None:
        for run in (started_without_standard_input, without_standard_input):
            code, said = run("agents", "remove", "top")
            assert (code, "Traceback" in said) == (1, False)
            assert "--yes" in said
        code, said = without_standard_input("projects", "remove", "default")
        assert (code, "Traceback" in said, "--yes" in said) == (1, False, True)
        code, said = without_standard_input("projects", "import", "-")
        assert (code, "Traceback" in said) == (1, False)
        assert without_standard_input("agents", "disable", "--all")[0] == 0
        assert states(three) == {"ask": "disabled", "shop": "disabled", "top": "disabled"}


class TestAgents:
    def test_several_are_disabled_and_enabled_by_name(self, three: Shell) -> None:
        done = three.json("agents", "disable", "top", "shop")
        assert [(one["name"], one["outcome"]) for one in done] == [("top", "disabled"), ("shop", "disabled")]
        assert states(three) == {"ask": "enabled", "shop": "disabled", "top": "disabled"}

        done = three.json("agents", "enable", "--all")
        assert {one["name"]: one["outcome"] for one in done} == {
            "ask": "was enabled",
            "shop": "enabled",
            "top": "enabled",
        }

    def test_those_of_a_platform_are_chosen_and_counted_first(self, three: Shell) -> None:
        result = three.run("agents", "disable", "--platform", "hackernews")
        assert "2 agents to disable: ask, top" in result.stderr
        assert result.stdout.splitlines()[-1] == "2 agents: 2 disabled"
        assert states(three)["shop"] == "enabled"

    def test_a_disabled_agent_does_not_run(self, three: Shell) -> None:
        three("agents", "disable", "shop")
        error = three.fails("run", "shop")
        assert isinstance(error, AgentDisabledError)
        assert "agentic agents enable shop" in str(error)
        assert three.json("executions", "list") == []

    def test_a_dry_run_changes_nothing(self, three: Shell) -> None:
        assert {one["outcome"] for one in three.json("agents", "remove", "--all", "--dry-run")} == {
            "would remove"
        }
        assert {one["outcome"] for one in three.json("agents", "disable", "--all", "--dry-run")} == {
            "would disable"
        }
        done = three.json("agents", "edit", "top", "ask", "--config", "limit=5", "--dry-run")
        assert [one["outcome"] for one in done] == ["would not change", "would be changed"]
        assert states(three) == {"ask": "enabled", "shop": "enabled", "top": "enabled"}
        assert three.json("agents", "show", "ask")["config"] == {"list": "ask"}

    def test_one_that_fails_is_told_and_the_others_are_changed(self, three: Shell) -> None:
        result = three.run("agents", "edit", "--all", "--config", "limit=7", "--json")
        assert result.exit_code == 1
        done = three.parse(result)
        assert {one["name"]: one["outcome"] for one in done} == {
            "ask": "changed",
            "shop": "failed",
            "top": "changed",
        }
        assert "unknown key 'limit' (known: " in next(one["error"] for one in done if one["error"])
        assert three.json("agents", "show", "top")["config"]["limit"] == 7
        assert "limit" not in three.json("agents", "show", "shop")["config"]

    def test_a_single_one_that_fails_says_why(self, three: Shell) -> None:
        assert isinstance(three.fails("agents", "edit", "shop", "--config", "limit=7"), AgentConfigError)

    def test_an_unknown_name_among_several_changes_none(self, three: Shell) -> None:
        assert isinstance(three.fails("agents", "disable", "top", "nope"), UnknownAgentError)
        assert states(three)["top"] == "enabled"

    @pytest.mark.parametrize(
        "which", [(), ("top", "--all"), ("--all", "--platform", "web"), ("top", "--platform", "web")]
    )
    def test_nobody_knows_which_without_exactly_one_choice(
        self, three: Shell, which: tuple[str, ...]
    ) -> None:
        for command in ("enable", "disable", "remove"):
            assert isinstance(three.fails("agents", command, *which), OptionError)
        assert isinstance(three.fails("agents", "edit", *which, "--goals", "x"), OptionError)

    def test_an_edit_of_nothing_is_refused(self, three: Shell) -> None:
        assert isinstance(three.fails("agents", "edit", "--all"), OptionError)

    def test_removing_needs_a_yes(self, three: Shell) -> None:
        refused = three.run("agents", "remove", "--platform", "hackernews")
        assert refused.exit_code == 1
        assert "Remove these 2 agents and all executions and results?" in refused.stderr
        three("agents", "remove", "--platform", "hackernews", "--yes")
        assert list(states(three)) == ["shop"]

    def test_an_agent_goes_with_its_executions_and_their_runs(self, shell: Shell) -> None:
        Path("good.yaml").write_text(PIPELINE.format(name="good"))
        Path("other.yaml").write_text(PIPELINE.format(name="other"))
        shell("run", "good.yaml")
        shell("run", "good.yaml")
        kept = shell.json("run", "other.yaml")["execution_id"]

        shell("agents", "remove", "good", "--yes")

        assert list(states(shell)) == ["other"]
        assert [row["run_id"] for row in shell.json("runs", "list")] == [kept]
        assert ids(shell) == {kept}

    def test_an_agent_of_which_an_execution_goes_on_stays_whole(
        self, three: Shell, make_execution: MakeExecution
    ) -> None:
        ended, live = make_execution("shop", ExecutionStatus.FAILED), make_execution("shop")
        assert isinstance(three.fails("agents", "remove", "shop", "--yes"), ExecutionGoesOnError)
        told = three.parse(three.run("agents", "remove", "--platform", "web", "--dry-run", "--json"))
        assert [(one["outcome"], live in one["error"]) for one in told] == [("failed", True)]
        assert ids(three) == {ended, live}
        assert states(three)["shop"] == "enabled"

    def test_somebody_at_a_terminal_is_asked_before_many_are_changed(self, three: Shell) -> None:
        code, said = at_terminal("n\n", "agents", "disable", "--all")
        assert (code, "Disable these 3 agents? [y/N]" in said) == (1, True)
        assert set(states(three).values()) == {"enabled"}

        assert at_terminal("y\n", "agents", "disable", "--all")[0] == 0
        assert set(states(three).values()) == {"disabled"}

        for command in (("enable", "--all", "--yes"), ("disable", "top")):
            code, said = at_terminal("", "agents", *command)
            assert (code, "[y/N]" in said) == (0, False)


class TestChosenExecutions:
    def test_they_are_listed_by_agent_platform_status_and_time(
        self, three: Shell, make_execution: MakeExecution
    ) -> None:
        top = make_execution("top", ExecutionStatus.SUCCEEDED)
        old = make_execution("top", ExecutionStatus.FAILED, age_h=5)
        shop = make_execution("shop")
        assert ids(three, "--agent", "top") == {top, old}
        assert ids(three, "--platform", "web") == {shop}
        assert ids(three, "--status", "failed", "--status", "queued") == {old, shop}
        assert ids(three, "--since", "2h") == {top, shop}
        assert ids(three, "--agent", "top", "--since", "2h", "--status", "succeeded") == {top}

    @pytest.mark.parametrize(
        ("options", "error"),
        [
            (("--agent", "nope"), UnknownAgentError),
            (("--platform", "nope"), UnknownPlatformError),
            (("--status", "nope"), OptionError),
            (("--since", "nope"), OptionError),
        ],
    )
    def test_what_nobody_knows_is_refused(
        self, three: Shell, options: tuple[str, ...], error: type[Exception]
    ) -> None:
        for command in ("list", "cancel", "retry", "remove"):
            assert isinstance(three.fails("executions", command, *options), error)

    def test_without_a_choice_nothing_is_done(self, three: Shell) -> None:
        for command in ("cancel", "retry", "remove", "export"):
            assert isinstance(three.fails("executions", command), OptionError)
            assert isinstance(three.fails("executions", command, "abc", "--agent", "top"), OptionError)
            assert isinstance(three.fails("executions", command, "--all", "--agent", "top"), OptionError)


class TestCancel:
    def test_all_that_wait_are_cancelled_and_others_left_alone(
        self, three: Shell, make_execution: MakeExecution
    ) -> None:
        waiting = {make_execution("shop"), make_execution("shop")}
        done = make_execution("shop", ExecutionStatus.SUCCEEDED)
        other = make_execution("top")
        outcomes = three.json("executions", "cancel", "--agent", "shop", "--reason", "not today")
        assert {one["name"]: one["outcome"] for one in outcomes} == dict.fromkeys(waiting, "cancelled")
        assert ids(three, "--status", "cancelled") == waiting
        assert ids(three, "--status", "succeeded") == {done}
        assert ids(three, "--status", "queued") == {other}

    def test_several_named_ones_and_one_that_has_ended_is_told(
        self, three: Shell, make_execution: MakeExecution
    ) -> None:
        first, second = make_execution("shop"), make_execution("shop")
        three("executions", "cancel", first)
        result = three.run("executions", "cancel", first, second, "--json")
        assert result.exit_code == 1
        told = {one["name"]: one for one in three.parse(result)}
        assert told[first]["outcome"] == "failed"
        assert "cancelled" in told[first]["error"]
        assert told[second]["outcome"] == "cancelled"

    def test_an_unknown_one_among_several_cancels_none(
        self, three: Shell, make_execution: MakeExecution
    ) -> None:
        waiting = make_execution("shop")
        assert isinstance(three.fails("executions", "cancel", waiting, "nope"), UnknownExecutionError)
        assert ids(three, "--status", "queued") == {waiting}

    def test_a_dry_run_cancels_nothing(self, three: Shell, make_execution: MakeExecution) -> None:
        waiting = make_execution("shop")
        result = three.run("executions", "cancel", "--all", "--dry-run")
        assert f"1 execution to cancel: {waiting}" in result.stderr
        assert f"{waiting}: would cancel" in result.stdout
        assert ids(three, "--status", "queued") == {waiting}

    def test_each_gives_back_its_connection_so_that_hundreds_can_be_cancelled(
        self, three: Shell, make_execution: MakeExecution
    ) -> None:
        waiting = make_execution("shop")
        three("executions", "cancel", waiting)
        with opened_desk(None) as desk:
            pool = cast("QueuePool", desk.database.engine.pool)
            desk.decide(lambda service: service.handle(waiting).cancel("again"))
            assert pool.checkedout() == 0

    def test_an_empty_id_names_no_execution_even_where_there_is_only_one(
        self, three: Shell, make_execution: MakeExecution
    ) -> None:
        waiting = make_execution("shop")
        assert isinstance(three.fails("executions", "cancel", ""), OptionError)
        assert ids(three, "--status", "queued") == {waiting}

    def test_a_dry_run_tells_what_could_not_be_done(
        self, three: Shell, make_execution: MakeExecution
    ) -> None:
        waiting, done = make_execution("shop"), make_execution("shop", ExecutionStatus.SUCCEEDED)
        for command, fits, fits_not in (
            ("cancel", waiting, done),
            ("remove", done, waiting),
            ("retry", waiting, done),
        ):
            assert three.run("executions", command, fits, "--dry-run").exit_code == 0
            assert three.run("executions", command, fits_not, "--dry-run").exit_code == 1
            result = three.run("executions", command, fits, fits_not, "--dry-run", "--json")
            assert result.exit_code == 1
            told = {one["name"]: one["outcome"] for one in three.parse(result)}
            assert told == {fits: f"would {command}", fits_not: "failed"}


class TestRetry:
    def test_those_that_failed_or_were_cancelled_run_again_and_each_outcome_is_told(
        self, shell: Shell
    ) -> None:
        Path("good.yaml").write_text(PIPELINE.format(name="good"))
        Path("broken.yaml").write_text(BROKEN.format(url="http://127.0.0.1:1/"))
        succeeded = shell.json("run", "good.yaml")["execution_id"]
        assert shell.run("run", "broken.yaml").exit_code == 1
        (failed,) = ids(shell, "--status", "failed")
        with shell.database.writing() as session:
            found = find_agent(session, find_project(session, "default").id, "good")
            waiting = create_execution(session, found).id
        shell("executions", "cancel", waiting)

        result = shell.run("executions", "retry", "--all", "--json")

        assert result.exit_code == 1
        told = {one["name"]: one for one in shell.parse(result)}
        assert told.keys() == {failed, waiting}
        assert told[waiting]["outcome"] == "succeeded"
        assert told[failed]["outcome"] == "failed"
        assert told[failed]["error"]
        assert ids(shell, "--status", "succeeded") == {succeeded, waiting}

    def test_one_that_has_succeeded_is_not_run_again(
        self, three: Shell, make_execution: MakeExecution
    ) -> None:
        done = make_execution("shop", ExecutionStatus.SUCCEEDED)
        assert isinstance(three.fails("executions", "retry", done), ExecutionNotRunnableError)
        result = three.run("executions", "retry", "--status", "succeeded", "--json")
        assert result.exit_code == 1
        assert "it has succeeded" in three.parse(result)[0]["error"]

    @pytest.mark.parametrize("which", [["--all"], []], ids=["all", "one"])
    def test_those_of_a_disabled_agent_wait_until_it_is_enabled(
        self, three: Shell, make_execution: MakeExecution, which: list[str]
    ) -> None:
        failed = make_execution("shop", ExecutionStatus.CANCELLED)
        three("agents", "disable", "shop")
        result = three.run("executions", "retry", *(which or [failed]), "--json")
        assert result.exit_code == 1
        assert ids(three, "--status", "cancelled") == {failed}


class TestRemove:
    def test_an_execution_is_removed_with_its_result_and_run_and_its_rows_stay(self, shell: Shell) -> None:
        Path("good.yaml").write_text(PIPELINE.format(name="good"))
        first = shell.json("run", "good.yaml")["execution_id"]
        second = shell.json("run", "good.yaml")["execution_id"]

        shell("executions", "remove", first, "--yes")

        assert ids(shell) == {second}
        assert [row["run_id"] for row in shell.json("runs", "list")] == [second]
        assert isinstance(shell.fails("executions", "show", first), UnknownExecutionError)
        (decision,) = shell.json("audit", "--kind", "execution.removed")
        assert (decision["subject"], decision["details"]) == (first, {"agent": "good"})

    def test_those_that_have_not_ended_stay(self, three: Shell, make_execution: MakeExecution) -> None:
        waiting, done = make_execution("shop"), make_execution("shop", ExecutionStatus.FAILED)
        assert isinstance(three.fails("executions", "remove", waiting, "--yes"), ExecutionGoesOnError)
        outcomes = three.json("executions", "remove", "--agent", "shop", "--yes")
        assert [(one["name"], one["outcome"]) for one in outcomes] == [(done, "removed")]
        assert ids(three) == {waiting}

    def test_it_asks_first(self, three: Shell, make_execution: MakeExecution) -> None:
        done = make_execution("shop", ExecutionStatus.FAILED)
        refused = three.run("executions", "remove", done)
        assert refused.exit_code == 1
        assert f"Remove execution {done} and" in refused.stderr
        assert ids(three) == {done}

    def test_one_whose_events_are_to_be_published_yet_is_held(
        self, shell: Shell, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Path("good.yaml").write_text(PIPELINE.format(name="good"))
        done = shell.json("run", "good.yaml")["execution_id"]
        monkeypatch.setenv("AGENTIC_NATS_URL", "nats://127.0.0.1:1")
        error = shell.fails("executions", "remove", done, "--yes")
        assert "are not published yet" in str(error)
        shell("executions", "remove", done, "--yes", "--unpublished")
        assert ids(shell) == set()


class TestExport:
    def test_each_of_several_is_a_file_of_a_folder(self, shell: Shell) -> None:
        Path("good.yaml").write_text(PIPELINE.format(name="good"))
        done = [shell.json("run", "good.yaml")["execution_id"] for _ in range(2)]

        outcomes = shell.json(
            "executions", "export", "--agent", "good", "--to", "rows", "--format", "jsonl.gz"
        )

        assert {one["name"] for one in outcomes} == set(done)
        assert {path.name for path in Path("rows").iterdir()} == {f"good-{one}.jsonl.gz" for one in done}
        assert all("wrote" in one["outcome"] for one in outcomes)
        for path in Path("rows").iterdir():
            gzip.decompress(path.read_bytes())

    def test_a_single_one_tells_of_its_file_as_json(self, shell: Shell) -> None:
        Path("good.yaml").write_text(PIPELINE.format(name="good"))
        done = shell.json("run", "good.yaml")["execution_id"]
        told = shell.json("executions", "export", done, "--out", "rows.jsonl")
        assert (told["execution_id"], told["file"]) == (done, "rows.jsonl")
        assert told["row_count"] == len(Path("rows.jsonl").read_text().splitlines())

    def test_where_rows_and_json_would_mix_or_files_have_no_folder_is_refused(
        self, three: Shell, make_execution: MakeExecution
    ) -> None:
        done = make_execution("shop", ExecutionStatus.SUCCEEDED)
        for options in ((done, "--json"), ("--all",), ("--all", "--out", "x.jsonl"), (done, done[:12] + "x")):
            assert isinstance(three.fails("executions", "export", *options), OptionError)
