"""One budget for three processes: whatever is killed, the cap holds, and no spent money is forgotten."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import pytest

from agentic.core.bus.nats.bus import NatsBus
from agentic.core.llm import BudgetAccount, BudgetAmount
from agentic.core.services import ServiceSupervisor, nats_service
from agentic.core.stores.key_value_models import KeyValueBudgetStore

pytestmark = [pytest.mark.faults, pytest.mark.integration, pytest.mark.requirement("LM08")]

CAP_USD = 600
WORKERS = 3
MOST_RESERVED_USD = 16
"""By a call of a worker below: up to 10 tokens of a reply, and its question."""

_WORKER = """
    import asyncio, random, sys
    from agentic.core.bus.nats.bus import NatsBus
    from agentic.core.llm import Budget, BudgetExceededError, BudgetModel, ChatMessage, LLMAdapter
    from agentic.core.llm import ModelReply, ModelRequest, ModelSettings, TokenUsage
    from agentic.core.logging import configure_logging
    from agentic.core.stores.key_value_models import KeyValueBudgetStore

    class Charging(LLMAdapter):
        '''Takes a dollar for a token, up to a multiple of the reservation, and writes each charge down.'''

        name = "some:charging"

        def cost_of(self, usage):
            return float(usage.total_tokens)

        async def complete(self, request):
            share = random.random() * float(sys.argv[4])
            tokens = max(int((request.settings.max_tokens + 1) * share), 1)  # none would be no report
            print(tokens, flush=True)  # from here on the provider wants its money
            await asyncio.sleep(random.random() * 0.01)
            usage = TokenUsage(output_tokens=tokens, requests=1, cost_usd=float(tokens))
            return ModelReply(message=ChatMessage.assistant("x"), usage=usage)

    async def work(model):
        while True:
            request = ModelRequest(
                messages=(ChatMessage.user("x"),), settings=ModelSettings(max_tokens=random.randint(1, 10))
            )
            try:
                await model.complete(request)
            except BudgetExceededError as error:
                if error.needed < 8:  # one of the shortest calls
                    return

    async def main():
        bus = NatsBus(sys.argv[1])
        store = KeyValueBudgetStore(bus.bucket("MODELS", project="shop"))
        model = BudgetModel(Charging(), Budget(max_usd=float(sys.argv[2]), name="run", store=store))
        print("ready", flush=True)
        sys.stdin.readline()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(int(sys.argv[3])):
                tasks.create_task(work(model))
        await bus.aclose()

    configure_logging()
    asyncio.run(main())
"""


@pytest.fixture
async def url(tmp_path: Path) -> AsyncIterator[str]:
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        yield supervisor.urls["nats"]


class Worker:
    """A process whose tasks spend from the budget until it has no room for a short call."""

    def __init__(self, url: str, *, tasks: int, excess: float) -> None:
        arguments = [url, str(CAP_USD), str(tasks), str(excess)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", dedent(_WORKER), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def begin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def first_charges(self, count: int) -> list[int]:
        """Return the charges of the first calls, as soon as they are made."""
        assert self.process.stdout is not None
        return [int(self.process.stdout.readline()) for _ in range(count)]

    def charges(self) -> list[int]:
        """Return the charges of all other calls, after the end of the process."""
        assert self.process.stdout is not None
        return [
            int(line) for line in self.process.stdout.read().splitlines(keepends=True) if line[-1] == "\n"
        ]


@contextmanager
def working(url: str, *, tasks: int, excess: float) -> Iterator[list[Worker]]:
    workers = [Worker(url, tasks=tasks, excess=excess) for _ in range(WORKERS)]
    try:
        for worker in workers:
            worker.begin()
        yield workers
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.communicate()


async def account_of(url: str) -> BudgetAccount:
    bus = NatsBus(url)
    account = await KeyValueBudgetStore(bus.bucket("MODELS", project="shop")).load("run")
    await bus.aclose()
    return account


@pytest.mark.slow
async def test_three_processes_never_spend_more_than_their_cap(url: str) -> None:
    with working(url, tasks=4, excess=1.0) as workers:
        charged = [await asyncio.to_thread(worker.charges) for worker in workers]
    account = await account_of(url)
    assert all(charged), "each got a share"
    assert account.reserved == BudgetAmount()
    assert account.spent.usd == sum(map(sum, charged))
    assert CAP_USD - MOST_RESERVED_USD * 4 * WORKERS < account.spent.usd <= CAP_USD


@pytest.mark.slow
async def test_calls_that_cost_more_than_reserved_exceed_the_cap_by_those_in_flight_only(url: str) -> None:
    with working(url, tasks=1, excess=2.0) as workers:
        charged = [await asyncio.to_thread(worker.charges) for worker in workers]
    account = await account_of(url)
    assert account.reserved == BudgetAmount()
    assert account.spent.usd == sum(map(sum, charged)) <= CAP_USD + MOST_RESERVED_USD * WORKERS


async def test_a_killed_process_leaves_its_reservations_so_that_the_cap_holds(url: str) -> None:
    with working(url, tasks=4, excess=1.0) as workers:
        charged = [await asyncio.to_thread(workers[0].first_charges, 20)]
        workers[0].process.kill()
        charged += [await asyncio.to_thread(worker.charges) for worker in workers]
    account = await account_of(url)
    total = sum(map(sum, charged))
    assert 0 <= account.reserved.usd <= MOST_RESERVED_USD * 4
    assert account.spent.usd <= total <= account.spent.usd + account.reserved.usd <= CAP_USD
