"""Types defined in the file that is started: which processes can go on with a run that holds them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.commands import start_command, start_program

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
    from agentic.core.errors import AgenticError
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


    def finish(*urls):
        for url in urls:
            store = SqlCheckpointStore.open(url)
            answers = {"r:gate.1.0.1": {"approved": True}}
            try:
                print(asyncio.run(flow.resume("r", checkpoints=store, responses=answers)).outputs)
            except AgenticError as exc:
                print(exc)
            store.close()


    def in_child(do, url):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            pool.submit(do, url).result()


    if __name__ == "__main__":
        {"begin": begin, "finish": finish, "begin in child": lambda url: in_child(begin, url)}[sys.argv[1]](
            *sys.argv[2:]
        )
"""

IMPORTING = """
    import sys

    from shop import orders

    getattr(orders, sys.argv[1])(*sys.argv[2:])
"""

BEGUN = {
    "imported": [("module", "begin"), ("module", "begin in child"), ("script", "begin")],
    "module": [("imported", "begin")],
    "script": [("script", "begin"), ("script", "begin in child"), ("module", "begin")],
}
"""How the runs were begun that a process of each way is to finish."""

Finished = Callable[[str], Mapping[tuple[str, str], str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("types")
    (folder / "shop").mkdir()
    (folder / "shop" / "__init__.py").touch()
    (folder / "shop" / "orders.py").write_text(dedent(FLOW), encoding="utf-8")
    upgrade(f"sqlite:///{folder / 'empty.db'}", PluginRegistry([]))
    return folder


def python(folder: Path, way: str, what: str, *databases: Path) -> str:
    """Start a process that works with databases; return what it writes."""
    arguments = [what, *(f"sqlite:///{path}" for path in databases)]
    started: subprocess.Popen[Any]
    if way == "imported":
        started = start_program(IMPORTING, arguments, os.environ, folder)
    elif way == "module":
        started = start_command(arguments, os.environ, folder, module="shop.orders")
    else:
        command = [sys.executable, "shop/orders.py", *arguments]
        pipe = subprocess.PIPE
        started = subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True)
    out, err = started.communicate(timeout=60)
    assert (started.returncode, err) == (0, "")
    return str(out)


@pytest.fixture(scope="module")
def finished(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Finish the runs of a way in one process; return what it says of each. Each was begun once."""

    @cache
    def begun(way: str, what: str) -> Path:
        path = Path(shutil.copy(folder / "empty.db", tmp_path_factory.mktemp("begun") / "data.db"))
        python(folder, way, what, path)
        return path

    @cache
    def finish(way: str) -> Mapping[tuple[str, str], str]:
        copies = [Path(shutil.copy(begun(*how), tmp_path_factory.mktemp("finished"))) for how in BEGUN[way]]
        return dict(zip(BEGUN[way], python(folder, way, "finish", *copies).splitlines(), strict=True))

    return finish


@pytest.mark.slow
@pytest.mark.parametrize(
    ("begun", "what", "way"),
    [
        ("module", "begin", "imported"),
        ("imported", "begin", "module"),
        ("module", "begin in child", "imported"),
        ("script", "begin", "script"),
        ("script", "begin in child", "script"),
    ],
)
def test_run_goes_on_where_its_types_are_the_same(
    finished: Finished, begun: str, what: str, way: str
) -> None:
    assert finished(way)[begun, what] == "('7: True',)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("begun", "way", "names"),
    [
        ("script", "imported", "'__main__.Order', only 'shop.orders.Order'"),
        ("module", "script", "'shop.orders.Order', only '__main__.Order'"),
    ],
)
def test_types_of_a_script_are_refused_elsewhere_with_what_to_do(
    finished: Finished, begun: str, way: str, names: str
) -> None:
    refused = finished(way)[begun, "begin"]
    assert f"declares no type {names}: types of a script have other names" in refused
    assert "define it in a module that every process imports" in refused
