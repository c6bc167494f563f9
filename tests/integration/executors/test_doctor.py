"""``agentic doctor`` on servers that are set up wrongly on purpose."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis
from celery import Celery
from sqlalchemy import make_url
from tests.commands import run_command
from tests.integration.executors.conftest import Place, make_place

from agentic.core.hooks import Finding, Severity
from agentic.core.services import valkey_service
from agentic.core.settings import load_settings
from agentic.executors.celery import make_app
from agentic.executors.checks import look_around
from agentic.executors.checks.broker import broker_findings
from agentic.executors.checks.clocks import clock_findings
from agentic.executors.checks.database import database_findings, journal_findings
from agentic.executors.checks.host import room_findings
from agentic.executors.checks.stores import budget_findings
from agentic.executors.checks.workers import task_findings
from agentic.mappers.catalog.schedules import add_schedule
from agentic.mappers.database.engine import make_engine

pytestmark = pytest.mark.integration

SOUND = {"appendonly": "yes", "appendfsync": "everysec", "maxmemory": "0", "maxmemory-policy": "noeviction"}
DUPLICATE_TASK = """
from agentic.executors.celery import app

@app.task(name="scrape")
def {function}():
    pass
"""
SICK_CONFIG = """
imports = ("first_tasks", "second_tasks")
broker_transport_options = {"visibility_timeout": 60}
"""


@dataclass(frozen=True)
class Broker:
    """A Valkey server of this module's own."""

    url: str
    folder: Path
    client: redis.Redis

    @property
    def app(self) -> Celery:
        return make_app(load_settings(home=self.folder, broker_url=self.url))

    def set(self, **settings: str) -> None:
        for name, value in {**SOUND, **settings}.items():
            self.client.config_set(name.replace("_", "-"), value)

    def save(self, outcome: str) -> None:
        """Have it write all it holds to its disk; wait for the outcome."""
        self.client.bgsave()
        Place.eventually(lambda: self.client.info("persistence")["rdb_last_bgsave_status"] == outcome)


@pytest.fixture(scope="module")
def valkey_of_ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    home = tmp_path_factory.mktemp("broker")
    service = valkey_service(home)
    url = service.urls["broker"]
    process = subprocess.Popen(service.command, stdout=subprocess.DEVNULL)
    with redis.from_url(url, decode_responses=True) as client:
        Place.eventually(lambda: answers(client))
        yield Broker(url, home / "valkey", client)
    process.kill()
    process.wait()


@pytest.fixture
def broker(valkey_of_ours: Broker) -> Broker:
    valkey_of_ours.set()
    return valkey_of_ours


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


def texts(findings: Iterator[Finding], severity: Severity | None = None) -> list[str]:
    return [finding.text for finding in findings if severity in (None, finding.severity)]


class TestBroker:
    def test_a_sound_one_gives_no_cause_for_complaint(self, broker: Broker) -> None:
        assert texts(broker_findings(broker.app)) == []

    @pytest.mark.parametrize(
        ("settings", "severity", "told"),
        [
            ({"appendonly": "no"}, Severity.WARNING, "in memory only (appendonly no)"),
            ({"appendfsync": "no"}, Severity.WARNING, "set `appendfsync everysec`"),
            ({"maxmemory_policy": "allkeys-lru"}, Severity.WARNING, "maxmemory-policy allkeys-lru"),
            (
                {"maxmemory_policy": "allkeys-lru", "maxmemory": "100mb"},
                Severity.FAULT,
                "(maxmemory-policy allkeys-lru, maxmemory 104857600); set `noeviction`",
            ),
        ],
    )
    def test_one_that_loses_messages_is_told_with_the_setting(
        self, broker: Broker, settings: Mapping[str, str], severity: Severity, told: str
    ) -> None:
        broker.set(**settings)

        [finding] = broker_findings(broker.app)

        assert told in finding.text
        assert finding.severity is severity

    def test_one_that_cannot_write_to_its_disk_is_a_fault(self, broker: Broker) -> None:
        in_the_way = broker.folder / "dump.rdb"
        in_the_way.mkdir()
        broker.save("err")

        [finding] = broker_findings(broker.app)

        assert "cannot write to its disk (rdb_last_bgsave_status:err)" in finding.text
        in_the_way.rmdir()
        broker.save("ok")

    def test_one_that_keeps_its_settings_to_itself_is_left_alone(self, broker: Broker) -> None:
        broker.set(appendonly="no")
        broker.client.acl_setuser(
            "guest", enabled=True, nopass=True, keys="*", channels="*", commands=["+@all", "-config"]
        )
        url = broker.url.replace("redis://", "redis://guest:any@")

        assert texts(broker_findings(make_app(load_settings(home=broker.folder, broker_url=url)))) == []

    @pytest.mark.parametrize(
        ("visible_s", "limit_s", "told"),
        [(3600, 21_660, "for 21660 s"), (86_400, None, "without limit (task_time_limit is not set)")],
    )
    def test_a_task_that_may_outlive_its_message_is_a_fault(
        self, broker: Broker, visible_s: int, limit_s: int | None, told: str
    ) -> None:
        app = broker.app
        app.conf.broker_transport_options = {"visibility_timeout": visible_s}
        app.conf.task_time_limit = limit_s

        [finding] = broker_findings(app)

        assert told in finding.text
        assert f"after {visible_s} s" in finding.text

    def test_one_that_is_not_there_is_a_fault(self, tmp_path: Path) -> None:
        found = texts(look_around(load_settings(home=tmp_path, broker_url="redis://127.0.0.1:1/0")))

        assert "redis://127.0.0.1:1/0 cannot be used" in found[0]

    def test_a_budget_of_its_own_that_answers_is_no_fault(self, valkey_of_ours: Broker) -> None:
        settings = load_settings(broker_url="amqp://rabbit.example//", budget_url=valkey_of_ours.url)
        assert list(budget_findings(settings)) == []

    def test_none_is_no_fault(self, place: Place) -> None:
        assert texts(look_around(load_settings(home=place.path / "home")), Severity.FAULT) == []

    def test_one_that_says_nothing_is_given_up(self, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
            began = time.monotonic()
            found = texts(look_around(load_settings(home=tmp_path, broker_url=url)), Severity.FAULT)
            took_s = time.monotonic() - began

        assert f"the Celery broker at {url} cannot be used" in found[0]
        assert took_s < 10


class TestClocks:
    @pytest.mark.parametrize(("skew_s", "told"), [(5.0, "5.0 s behind"), (-60.0, "60.0 s ahead of")])
    def test_one_that_is_off_is_told_with_how_much(self, skew_s: float, told: str) -> None:
        [finding] = clock_findings("the broker", time.time, clock=lambda: time.time() + skew_s)

        assert f"the clock of the broker is {told} this machine's" in finding.text
        assert finding.severity is Severity.WARNING

    def test_a_slow_answer_is_no_skew(self) -> None:
        moments = iter([100.0, 110.0])

        assert list(clock_findings("the broker", lambda: 101.0, clock=lambda: next(moments))) == []

    def test_those_of_database_and_broker_are_compared(self, place: Place, broker: Broker) -> None:
        assert [*database_findings(place.database), *broker_findings(broker.app)] == []


def test_a_file_that_cannot_have_a_write_ahead_log_is_told(tmp_path: Path) -> None:
    # This way of locking files, for drives that know no other, has no shared memory.
    engine = make_engine(make_url(f"sqlite:///file:{tmp_path}/x.db?vfs=unix-dotfile&uri=true"))

    [finding] = journal_findings(engine)
    engine.dispose()

    assert "journal_mode=delete" in finding.text


@pytest.mark.parametrize(
    ("limits", "severity"), [((1e12, 1.0), Severity.WARNING), ((1e12, 1e12), Severity.FAULT)]
)
def test_a_disk_that_is_nearly_full_is_told_also_for_a_folder_to_be_made(
    tmp_path: Path, limits: tuple[float, float], severity: Severity
) -> None:
    little, none = limits

    [finding] = room_findings(tmp_path / "home", little_mib=little, none_mib=none)

    assert "MiB are free on the disk" in finding.text
    assert finding.severity is severity


def test_tasks_that_cannot_be_imported_are_a_fault(tmp_path: Path) -> None:
    app = make_app(load_settings(home=tmp_path))
    app.conf.imports = ("no_such_tasks",)

    [finding] = task_findings(app)

    assert "ModuleNotFoundError: No module named 'no_such_tasks'" in finding.text


@pytest.fixture(scope="module")
def sick(
    tmp_path_factory: pytest.TempPathFactory, empty_database: Path, valkey_of_ours: Broker
) -> Mapping[str, Sequence[str]]:
    """What the command says where much is wrong; it must end with 1."""
    place = make_place(tmp_path_factory.mktemp("sick"), empty_database, valkey_of_ours.url)
    (place.path / "celeryconfig.py").write_text(SICK_CONFIG)
    for name in ("first", "second"):
        (place.path / f"{name}_tasks.py").write_text(DUPLICATE_TASK.format(function=f"scrape_{name}"))
    agent = place.agent()
    with place.database.writing() as session:
        add_schedule(session, agent, "hourly", every_s=3600)
    process = subprocess.run(
        [sys.executable, "-m", "agentic.core.cli", "doctor", "--json"],
        cwd=place.path,
        env={**place.env, "CELERY_CONFIG_MODULE": "celeryconfig"},
        stdout=subprocess.PIPE,
        check=False,
        preexec_fn=allow_few_files,
        timeout=60,
    )
    place.close()
    assert process.returncode == 1
    said: dict[str, list[str]] = json.loads(process.stdout)
    return said


def allow_few_files() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))


@pytest.mark.parametrize(
    ("severity", "told"),
    [
        ("faults", "executors: a task may run for 21660 s"),
        ("faults", "executors: schedules exist, but no beat answers"),
        ("faults", "scrape_second"),
        ("warnings", "executors: a process here may open 256 files"),
        ("warnings", "executors: no worker answers, and 0 messages wait"),
    ],
)
def test_the_command_tells_of_everything_at_once(
    sick: Mapping[str, Sequence[str]], severity: str, told: str
) -> None:
    assert [text for text in sick[severity] if told in text]


def test_the_doctor_does_not_run_a_celeryconfig_that_it_finds(tmp_path: Path) -> None:
    (tmp_path / "celeryconfig.py").write_text("open('was-run', 'w').close()\n")
    env = {**os.environ, "AGENTIC_HOME": str(tmp_path / "home")}
    said = json.loads(run_command(["doctor", "--json"], env, tmp_path).stdout)
    assert not (tmp_path / "was-run").exists()
    assert [text for text in said["warnings"] if f"{tmp_path / 'celeryconfig.py'} is not checked" in text]


def test_the_command_tells_nothing_twice(sick: Mapping[str, Sequence[str]]) -> None:
    assert len(sick["faults"]) == 3
