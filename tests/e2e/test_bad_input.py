"""Bad input and missing servers: one clear message, an exit code, no traceback, nothing half-written."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.commands import run_command
from tests.e2e.conftest import Agentic, environment_of

pytestmark = pytest.mark.e2e

NOBODY = "127.0.0.1:9"  # the discard port: nothing listens there

SPECS = {
    "unknown_actor.yaml": "steps:\n  - actor: fetsh\n    config: {url: 'http://localhost/'}\n",
    "misspelt_key.yaml": "steps:\n  - actor: fetch\n    confg: {url: 'http://localhost/'}\n",
    "loop_over_nothing.yaml": (
        "steps:\n  - actor: fetch\n    config: {url: 'http://localhost/'}\n"
        "  - type: loop\n    source: nothing.here\n    loop_steps: [{actor: fetch}]\n"
    ),
    "not_yaml.yaml": "steps: [\n",
    "empty.yaml": "",
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a project that has an agent: what many of these tests begin with."""
    folder = tmp_path_factory.mktemp("prepared")
    for arguments in (
        ("db", "upgrade"),
        ("projects", "add", "default"),
        ("projects", "add", "theirs"),
        ("agents", "add", "news", "--platform", "hackernews", "--project", "theirs"),
    ):
        done = run_command(arguments, environment_of(folder / "home"), folder)
        assert done.returncode == 0, done.stderr
    return folder / "home"


@pytest.fixture
def agent(prepared: Path, home: Path) -> str:
    """A project with an agent."""
    shutil.copytree(prepared, home)
    return "news"


def complaint(agentic: Agentic, *arguments: str, code: int = 1, **variables: str) -> str:
    """Return what a failing command says, which must be short and no traceback."""
    done = agentic(*arguments, **variables)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.requirement("PL25", "PL39")
@pytest.mark.parametrize(
    ("spec", "needles"),
    [
        ("unknown_actor.yaml", ("fetsh", "fetch")),
        ("misspelt_key.yaml", ("confg", "config")),
        ("loop_over_nothing.yaml", ("'nothing'", "steps[1].source")),
        ("not_yaml.yaml", ("not_yaml.yaml", "line")),
        ("empty.yaml", ("empty.yaml",)),
        ("absent.yaml", ("absent.yaml",)),
    ],
)
def test_pipeline_that_cannot_run_is_refused_before_anything_is_written(
    agentic: Agentic, tmp_path: Path, home: Path, spec: str, needles: tuple[str, ...]
) -> None:
    if spec in SPECS:
        (tmp_path / spec).write_text(SPECS[spec], encoding="utf-8")
    said = complaint(agentic, "run", spec)
    for needle in needles:
        assert needle in said
    assert not (home / "agentic.db").exists()


def test_database_without_tables_is_refused_naming_the_command_that_makes_them(
    agentic: Agentic, home: Path
) -> None:
    said = complaint(agentic, "agents", "list")
    assert "agentic db upgrade" in said
    assert not (home / "agentic.db").exists()


@pytest.mark.requirement("PL42")
def test_agent_of_another_project_is_as_unknown_as_one_that_does_not_exist(
    agentic: Agentic, agent: str
) -> None:
    assert "'news'" in complaint(agentic, "run", agent)
    assert "'nobody'" in complaint(agentic, "run", "nobody", "--project", "theirs")
    assert "'nowhere'" in complaint(agentic, "agents", "list", "--project", "nowhere")


def test_unknown_platform_names_the_known_ones_and_what_to_install(agentic: Agentic, agent: str) -> None:
    said = complaint(agentic, "agents", "add", "x", "--platform", "twiter")
    for needle in ("'twiter'", "langgraph, reddit, web", "pip install agentic-plugin-twiter"):
        assert needle in said


def test_config_that_does_not_fit_names_the_key_and_adds_no_agent(agentic: Agentic, agent: str) -> None:
    said = complaint(agentic, "agents", "add", "x", "--platform", "hackernews", "--config", "limitt=5")
    assert "limitt" in said
    assert agentic("agents", "list", "--json").stdout.strip() == "[]"


@pytest.mark.requirement("PL41")
def test_broker_that_is_down_is_named_without_its_password_and_no_execution_is_left(
    agentic: Agentic, agent: str, home: Path
) -> None:
    url = f"redis://user:hunter2@{NOBODY}/0"
    arguments = ("run", agent, "--project", "theirs", "--dispatcher", "celery")
    said = complaint(agentic, *arguments, code=3, AGENTIC_BROKER_URL=url)
    assert NOBODY in said
    assert "hunter2" not in said
    with sqlite3.connect(home / "agentic.db") as database:
        assert database.execute("select count(*) from executions").fetchone() == (0,)


def test_without_a_broker_celery_is_refused_saying_how_to_get_one(agentic: Agentic, agent: str) -> None:
    said = complaint(agentic, "run", agent, "--project", "theirs", "--dispatcher", "celery", code=3)
    assert "agentic up" in said
    assert "agentic up" in complaint(agentic, "worker", code=3)


def test_events_without_nats_say_how_to_get_it(agentic: Agentic) -> None:
    assert "agentic up" in complaint(agentic, "events", "tail", code=3)
    said = complaint(agentic, "events", "tail", code=3, AGENTIC_NATS_URL=f"nats://u:hunter2@{NOBODY}")
    assert NOBODY in said
    assert "hunter2" not in said


def test_run_goes_on_without_the_nats_server_it_was_told_of(agentic: Agentic, agent: str) -> None:
    set_up = ("agents", "add", "gone", "--platform", "hackernews", "--config", f"base_url=http://{NOBODY}/v0")
    impatient = ("--config", 'allow_private_hosts=["127.0.0.1"]', "--config", "max_wait_s=1")
    assert agentic(*set_up, *impatient).returncode == 0
    said = complaint(agentic, "run", "gone", AGENTIC_NATS_URL=f"nats://{NOBODY}")
    assert f"http://{NOBODY}/v0" in said  # the source is what failed it, not NATS
    listed = agentic("executions", "list", "--json").stdout
    assert '"status": "failed"' in listed


def test_setting_that_cannot_be_used_is_named(agentic: Agentic) -> None:
    assert "AGENTIC_LOG_LEVEL" in complaint(agentic, "plugins", AGENTIC_LOG_LEVEL="loud")


def test_missing_entity_of_each_kind_is_named(agentic: Agentic, agent: str) -> None:
    assert "'abc'" in complaint(agentic, "executions", "show", "abc")
    assert "'abc'" in complaint(agentic, "executions", "retry", "abc")
    assert "'abc'" in complaint(agentic, "graph", "svg", "abc")
