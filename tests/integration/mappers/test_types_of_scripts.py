"""Types defined in the file that is started: which processes can go on with a run that holds them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from agentic.core.hooks import PluginRegistry
from agentic.migrations import upgrade

pytestmark = pytest.mark.integration

FLOW = """
    import asyncio
    import multiprocessing
    import sys
    from concurrent.futures import ProcessPoolExecutor
    from dataclasses import dataclass

    from pydantic import BaseModel

    from agentic.core import WorkflowBuilder, WorkflowContext, executor
    from agentic.mappers import SqlCheckpointStore


    @dataclass(frozen=True)
    class Order:
        number: int


    class Approval(BaseModel):
        approved: bool


    @executor(id="pick")
    async def pick(orders: list[Order]) -> Order:
        return orders[0]


    @executor(id="gate")
    async def gate(order: Order, ctx: WorkflowContext) -> str:
        return f"{order.number}: {(await ctx.request_info(order, Approval)).approved}"


    flow = WorkflowBuilder("orders").set_start(pick).add_edge(pick, gate).build()


    def begin(url):
        store = SqlCheckpointStore.open(url)
        asyncio.run(flow.run([Order(7)], run_id="r", checkpoints=store))
        store.close()


    def finish(url):
        store = SqlCheckpointStore.open(url)
        answers = {"r:gate.1.0.1": {"approved": True}}
        print(asyncio.run(flow.resume("r", checkpoints=store, responses=answers)).outputs)
        store.close()


    def in_child(do, url):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            pool.submit(do, url).result()


    if __name__ == "__main__":
        {"begin": begin, "finish": finish, "begin in child": lambda url: in_child(begin, url)}[sys.argv[1]](
            sys.argv[2]
        )
"""

WAYS = {
    "imported": ("-c", "import sys; from shop import orders; getattr(orders, sys.argv[1])(sys.argv[2])"),
    "module": ("-m", "shop.orders"),
    "script": ("shop/orders.py",),
}


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("migrated") / "data.db"
    upgrade(f"sqlite:///{path}", PluginRegistry([]))
    return path


@pytest.fixture
def folder(tmp_path: Path, migrated: Path) -> Path:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    (tmp_path / "shop" / "orders.py").write_text(dedent(FLOW), encoding="utf-8")
    shutil.copy(migrated, tmp_path / "data.db")
    return tmp_path


def python(folder: Path, way: str, what: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *WAYS[way], what, f"sqlite:///{folder / 'data.db'}"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("begun", "what", "finished"),
    [
        ("module", "begin", "imported"),
        ("imported", "begin", "module"),
        ("module", "begin in child", "imported"),
        ("script", "begin", "script"),
        ("script", "begin in child", "script"),
    ],
)
def test_run_goes_on_where_its_types_are_the_same(folder: Path, begun: str, what: str, finished: str) -> None:
    assert python(folder, begun, what).stderr == ""
    done = python(folder, finished, "finish")
    assert (done.stderr, done.stdout) == ("", "('7: True',)\n")


@pytest.mark.parametrize(
    ("begun", "finished", "names"),
    [
        ("script", "imported", "'__main__.Order', only 'shop.orders.Order'"),
        ("module", "script", "'shop.orders.Order', only '__main__.Order'"),
    ],
)
def test_types_of_a_script_are_refused_elsewhere_with_what_to_do(
    folder: Path, begun: str, finished: str, names: str
) -> None:
    assert python(folder, begun, "begin").stderr == ""
    refused = python(folder, finished, "finish").stderr
    assert f"declares no type {names}: types of a script have other names" in refused
    assert "define it in a module that every process imports" in refused
