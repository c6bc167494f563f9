"""Completion by a real shell: names come from the database, and nothing but names is printed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from tests.commands import agentic_app, run_command
from tests.integration.executors.shells import Shell

from agentic.mappers import create_execution, find_agent, find_project

pytestmark = [
    pytest.mark.integration,
    pytest.mark.requirement("BR08"),
    pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash"),
]

SCRIPT = """
set -e
eval "$AGENTIC_COMPLETION"
COMP_WORDS=("$@")
COMP_CWORD=$(( $# - 1 ))
_agentic_completion agentic
printf '%s\\n' "${COMPREPLY[@]}"
"""


@cache
def completion() -> str:
    """Return what a shell reads once, when it starts."""
    return bash("_AGENTIC_COMPLETE=source_bash agentic")


def offered(*words: str) -> list[str]:
    """Return what the command offers a bash for the last word; that and nothing else is printed."""
    asked = {"COMP_WORDS": " ".join(["agentic", *words]), "COMP_CWORD": str(len(words))}
    return answer("complete_bash", **asked).split()


def answer(wanted: str, **variables: str) -> str:
    """Return what the command prints for a shell, which is asked for by variables."""
    done = run_command([], {**os.environ, **variables, "_AGENTIC_COMPLETE": wanted}, Path())
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def complete(*words: str) -> list[str]:
    """Return what bash offers for the last word; whatever is said on standard error fails the test."""
    return bash(SCRIPT, "agentic", *words, AGENTIC_COMPLETION=completion()).split()


def bash(script: str, *words: str, **variables: str) -> str:
    scripts = Path(sys.executable).parent
    done = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", *words],
        env={**os.environ, **variables, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.fixture
def known(shell: Shell, known_database: Path) -> Shell:
    """Two projects with an agent or two, a pipeline, a schedule."""
    shutil.copy(known_database, shell.home / "agentic.db")
    return shell


@pytest.fixture(scope="module")
def known_database(
    tmp_path_factory: pytest.TempPathFactory, empty_database: Path, monkeypatch_module: pytest.MonkeyPatch
) -> Path:
    """Return the database of that, to be copied."""
    home = tmp_path_factory.mktemp("known")
    shutil.copy(empty_database, home / "agentic.db")
    shell = Shell(home=home, app=agentic_app())
    (home / "shop.yaml").write_text("name: shop\nsteps: [{type: crawl, start: 'http://a.example/'}]\n")
    with monkeypatch_module.context() as patch:
        for name in ("AGENTIC_BROKER_URL", "AGENTIC_NATS_URL", "AGENTIC_PROJECT", "AGENTIC_DATABASE_URL"):
            patch.delenv(name, raising=False)
        patch.setenv("AGENTIC_HOME", str(home))
        shell("agents", "add", "top", "--platform", "hackernews")
        shell("agents", "add", "ask", "--platform", "hackernews")
        shell("projects", "add", "other")
        shell("agents", "add", "theirs", "--platform", "hackernews", "--project", "other")
        shell("pipelines", "add", str(home / "shop.yaml"))
        shell("schedules", "add", "hourly", "--agent", "top", "--every", "1h")
    return home / "agentic.db"


@pytest.mark.slow
@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("agents", "show", ""), ["ask", "top"]),
        (("agents", "show", "t"), ["top"]),
        (("agents", "disable", "ask", ""), ["ask", "top"]),
        (("agents", "show", "--project", "other", ""), ["theirs"]),
        (("agents", "list", "--project", ""), ["default", "other"]),
        (("projects", "show", "o"), ["other"]),
        (("platforms", "show", "h"), ["hackernews"]),
        (("executions", "list", "--platform", "we"), ["web"]),
        (("executions", "list", "--status", "s"), ["succeeded"]),
        (("executions", "cancel", "--agent", "a"), ["ask"]),
        (("pipelines", "show", ""), ["shop@1"]),
        (("schedules", "pause", ""), ["hourly"]),
        (("run", ""), ["ask", "top", "shop@1"]),
        (("agents", "en"), ["enable"]),
        (("agents", "remove", "--dry"), ["--dry-run"]),
    ],
)
def test_values_are_completed_from_the_database(words: tuple[str, ...], found: list[str]) -> None:
    assert offered(*words) == found


@pytest.mark.usefixtures("known")
def test_a_shell_is_offered_values_and_options() -> None:
    assert complete("agents", "show", "t") == ["top"]
    assert complete("agents", "remove", "--dry") == ["--dry-run"]


def test_ids_of_executions_are_completed(known: Shell) -> None:
    with known.database.writing() as session:
        made = create_execution(session, find_agent(session, find_project(session, "default").id, "top"))
    assert offered("executions", "show", "") == [made.id]
    assert offered("executions", "cancel", made.id[:5]) == [made.id]


def test_without_a_database_nothing_is_completed_and_none_is_made(bare_shell: Shell) -> None:
    assert complete("agents", "show", "") == []
    assert offered("projects", "show", "") == []
    assert not bare_shell.home.exists()


def test_a_database_that_is_none_or_a_project_nobody_knows_completes_nothing(known: Shell) -> None:
    assert offered("agents", "show", "--project", "nope", "") == []
    for content in (b"no database", b""):  # of which the second one has no tables, which is logged elsewhere
        for path in known.home.glob("agentic.db*"):
            path.unlink()
        (known.home / "agentic.db").write_bytes(content)
        assert offered("agents", "show", "") == []


@pytest.mark.slow
@pytest.mark.parametrize("shell_name", ["zsh", "fish"])
@pytest.mark.usefixtures("known")
def test_other_shells_are_told_the_same(shell_name: str) -> None:
    asked = {"_TYPER_COMPLETE_ARGS": "agentic agents show t", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    said = answer(f"complete_{shell_name}", **asked)
    assert "top" in said
    assert "hackernews" in said  # words beside the name
    assert "ask" not in said
    assert f"_AGENTIC_COMPLETE=complete_{shell_name}" in answer(f"source_{shell_name}")
