"""One budget for a run of nested agents on three workers."""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from pathlib import Path

import pytest
from tests.commands import start_command
from tests.databases import only_sqlite
from tests.integration.executors.durable.spending import CAP_USD, LOG, RESERVED_USD, RUN, WORKERS

from agentic.core.bus.nats.bus import NatsBus
from agentic.core.llm import BudgetAmount
from agentic.core.stores.key_value_models import KeyValueBudgetStore
from agentic.mappers import Database, add_project

pytestmark = pytest.mark.integration


@only_sqlite  # of what a database does, nothing depends on the budget
@pytest.mark.requirement("LM08")
async def test_nested_agents_on_three_workers_exceed_their_cap_by_the_calls_in_flight_only(
    migrated_database: Database, migrated_url: str, tmp_path: Path, bus: NatsBus
) -> None:
    with migrated_database.writing() as session:
        project_id = add_project(session, "shop").id
    module = "tests.integration.executors.durable.spending"
    words = [migrated_url, project_id, os.environ["AGENTIC_NATS_URL"]]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}
    workers = [start_command(words, environment, tmp_path, module=module) for _ in range(WORKERS)]
    for worker in workers:
        _, errors = await asyncio.to_thread(worker.communicate)
        assert worker.returncode == 0, errors
    spent: dict[str, int] = defaultdict(int)
    kinds = set()
    for line in (tmp_path / LOG).read_text().splitlines():
        process, model, usd = line.split()
        spent[process] += int(usd)
        kinds.add(model.rstrip("0123456789"))
    assert len(spent) == WORKERS, "each worker got a share"
    assert kinds == {"charging:boss", "charging:helper", "charging:clerk"}
    account = await KeyValueBudgetStore(bus.bucket("MODELS", project="shop")).load(f"run {RUN}")
    assert account.reserved == BudgetAmount()
    assert account.spent.usd == sum(spent.values())
    assert CAP_USD - RESERVED_USD * WORKERS < account.spent.usd <= CAP_USD + RESERVED_USD * WORKERS
