"""Where workers keep the turns of hosts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from agentic.core.http import HttpPolicy, ProcessBudget
from agentic.core.http.politeness.redis_budget import RedisBudget
from agentic.core.settings import load_settings
from agentic.executors import project_http
from agentic.executors.celery import make_app
from agentic.executors.checks.stores import budget_findings
from agentic.executors.project_http import own_turns, shared_budget
from agentic.executors.workers.celery_config import broker_in_use

REDIS = "redis://127.0.0.1:1/0"
RABBIT = "amqp://me:secret@rabbit.example:5672//"


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("AGENTIC_BROKER_URL", raising=False)
    monkeypatch.delenv("CELERY_BROKER_URL", raising=False)
    monkeypatch.setitem(sys.modules, "celeryconfig", None)
    monkeypatch.delitem(sys.modules, "celeryconfig")
    project_http._tell_unshared.cache_clear()


def configure(tmp_path: Path, text: str) -> None:
    (tmp_path / "celeryconfig.py").write_text(text)


@pytest.mark.parametrize(
    "given", [f'"{REDIS}"', f'["{REDIS}", "redis://other/0"]', f'"{REDIS};redis://other/0"']
)
def test_the_broker_of_a_celeryconfig_keeps_the_budget(tmp_path: Path, given: str) -> None:
    configure(tmp_path, f"broker_url = {given}\n")
    settings = load_settings(broker_url=RABBIT)
    assert broker_in_use(settings) == REDIS
    assert isinstance(shared_budget(settings), RedisBudget)


@pytest.mark.parametrize("own", ["", f'broker_url = "{REDIS}"'])
@pytest.mark.parametrize("named", ["", RABBIT])
@pytest.mark.parametrize("in_environment", ["", "redis://first/0"])
def test_the_broker_that_is_taken_is_the_one_celery_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, named: str, in_environment: str
) -> None:
    configure(tmp_path, own)
    if in_environment:
        monkeypatch.setenv("CELERY_BROKER_URL", in_environment)
    settings = load_settings(broker_url=named)
    assert make_app(settings).conf.broker_url == broker_in_use(settings)


def test_a_budget_of_its_own_wins_over_the_broker() -> None:
    assert isinstance(shared_budget(load_settings(broker_url=RABBIT, budget_url=REDIS)), RedisBudget)


def test_that_workers_share_no_budget_is_told_once_without_a_password() -> None:
    with capture_logs() as logs:
        for _ in range(2):
            assert isinstance(shared_budget(load_settings(broker_url=RABBIT)), ProcessBudget)
    [told] = logs
    assert (told["event"], told["url"]) == ("budget.unshared", "amqp://rabbit.example:5672//")


def test_without_a_broker_and_with_redis_there_is_nothing_to_tell() -> None:
    with capture_logs() as logs:
        assert isinstance(shared_budget(load_settings()), ProcessBudget)
    assert logs == []
    assert list(budget_findings(load_settings())) == []
    assert list(budget_findings(load_settings(broker_url=REDIS))) == []


def test_a_celeryconfig_that_cannot_be_read_is_told_and_hinders_nobody(tmp_path: Path) -> None:
    configure(tmp_path, "import nothing_of_that_name\n")
    with capture_logs() as logs:
        assert broker_in_use(load_settings(broker_url=REDIS)) == REDIS
    assert [entry["event"] for entry in logs] == ["celeryconfig.unreadable"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"broker_url": RABBIT}, "workers share no host budget because the broker (amqp://rabbit.example"),
        ({"budget_url": RABBIT}, "AGENTIC_BUDGET_URL (amqp://rabbit.example:5672//) is not a Redis URL"),
        (
            {"budget_url": "redis://me:s3cret@h:notaport/0"},
            "AGENTIC_BUDGET_URL (redis://h:notaport/0) is not a Redis address",
        ),
        ({"budget_url": "redis://[h/0"}, "AGENTIC_BUDGET_URL (redis://[h/0) is not a Redis address"),
        ({"budget_url": REDIS}, "so nothing is fetched; see AGENTIC_BUDGET_URL"),
    ],
)
def test_the_doctor_tells_of_a_budget_that_is_not_shared(given: dict[str, str], text: str) -> None:
    [finding] = budget_findings(load_settings(**given))
    assert text in finding.text
    assert "s3cret" not in finding.text


@pytest.mark.parametrize(
    "policy", [{"proxy": "http://127.0.0.1:3128"}, {"proxies": ["http://127.0.0.1:3128", "${secrets.EU}"]}]
)
async def test_a_proxy_of_one_project_blocks_no_host_for_another(policy: dict[str, object]) -> None:
    budget = ProcessBudget()
    proxied = HttpPolicy.model_validate(policy)
    await own_turns(budget, "one", proxied, "").block("h:80", 60)
    assert (await own_turns(budget, "one", proxied, "").take("h:80", 0)).blocked_s > 0
    for project, other in (("other", proxied), ("one", HttpPolicy()), ("other", HttpPolicy())):
        assert (await own_turns(budget, project, other, "").take("h:80", 0)).wait_s == 0


async def test_what_a_host_says_itself_counts_for_all_projects() -> None:
    budget = ProcessBudget()
    await own_turns(budget, "one", HttpPolicy(), "").block("h:80", 60)
    assert (await own_turns(budget, "other", HttpPolicy(), "").take("h:80", 0)).blocked_s > 0
