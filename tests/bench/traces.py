"""How far one message, one row and one page travel through the code: ``python -m tests.bench.traces``.

Counts Python calls into the files of this project; a hop is a call from one of its files into another. Calls
of the main thread and of threads that start meanwhile count. A call is passed on by a function that does
nothing but call another with what it was given.
"""

from __future__ import annotations

import ast
import asyncio
import json
import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Self

from tests.bench.crawls import crawl_pipeline, prepared
from tests.bench.engine import loop
from tests.bench.ledger import opened
from tests.bench.measuring import scratch

from agentic.core.ledger import ActivationId
from agentic.core.settings import load_settings
from agentic.core.types import ExecutorId, JSONValue
from agentic.executors.agents.local import run_locally
from agentic.executors.commands.shared.database import (
    ensured_project,
    ready_database,
)
from agentic.executors.commands.shared.database import (
    opened as opened_database,
)
from agentic.executors.durable import Submission, WorkflowCatalog
from agentic.executors.durable.runs.local import LocalDispatcher
from agentic.executors.durable.runs.service import RunService
from agentic.executors.durable.worker.host import RunHost
from agentic.executors.durable.worker.worker import DurableWorker
from agentic.fakes.server import FakeServer
from agentic.mappers import ExecutionStatus, add_agent, create_execution

ROOT = str(Path(__file__).parents[2])
ROOMS = tuple(f"{ROOT}/{room}/agentic/" for room in ("core", "executors", "mappers", "migrations", "plugins"))
PAGES = 20


@dataclass
class Trace:
    """Counts calls while it is open.

    Attributes:
        calls: Calls into files of the project.
        hops: Those whose caller, the nearest of the project, is in another file.
        files: The files.
        functions: The functions, and how often each was called.
    """

    calls: int = 0
    hops: int = 0
    files: set[str] = field(default_factory=set)
    functions: Counter[CodeType] = field(default_factory=Counter)
    _last: dict[int, str] = field(default_factory=dict)

    def __enter__(self) -> Self:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        # What is imported on the way is no part of it: bodies of modules and classes.
        if event != "call" or not name.startswith(ROOMS) or not frame.f_code.co_flags & CO_OPTIMIZED:
            return
        self.calls += 1
        self.files.add(name)
        self.functions[frame.f_code] += 1
        thread = threading.get_ident()
        self.hops += self._last.get(thread, name) != name
        self._last[thread] = name

    def figures(self) -> dict[str, int]:
        """Return the counts."""
        passed_on = sum(count for code, count in self.functions.items() if _passes_on(code))
        return {
            "files": len(self.files), "functions": len(self.functions), "calls": self.calls,
            "hops": self.hops, "passed_on": passed_on,
        }  # fmt: skip


def _passes_on(code: CodeType) -> bool:
    function = _functions_of(code.co_filename).get(code.co_firstlineno)
    body = [] if function is None else function.body[ast.get_docstring(function) is not None :]
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr):
        return False
    call = body[0].value.value if isinstance(body[0].value, ast.Await) else body[0].value
    return isinstance(call, ast.Call) and all(
        isinstance(given, ast.Name | ast.Attribute | ast.Constant | ast.Starred)
        for given in (*call.args, *(keyword.value for keyword in call.keywords))
    )


@cache
def _functions_of(file: str) -> dict[int, ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return the functions of a file by their first line, that of a decorator included."""
    return {
        min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]): node
        for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def step() -> dict[str, int]:
    """Trace a run of two steps in memory, warm."""
    workflow = loop(2)
    asyncio.run(_awaited(lambda: workflow.run(0)))
    with Trace() as trace:
        asyncio.run(_awaited(lambda: workflow.run(0)))
    return trace.figures()


async def _awaited(work: Callable[[], Awaitable[object]]) -> None:
    await work()


def durable() -> dict[str, int]:
    """Trace a durable run of two steps on a ledger in SQLite, warm, in place."""
    with opened("normal") as ledger:
        catalog = WorkflowCatalog({"loop": lambda: loop(2)})
        service = RunService(
            RunHost(store=ledger, catalog=catalog, dispatcher=LocalDispatcher(), is_alone=True)
        )
        asyncio.run(_durable(service))
        with Trace() as trace:
            asyncio.run(_durable(service))
        service.close()
    return trace.figures()


async def _durable(service: RunService) -> None:
    handle = await service.submit("loop", 0, Submission(is_told=False))
    await DurableWorker(service.host).work(ActivationId(handle.run_id, 0, ExecutorId("hop"), 0))
    assert (await handle.result()).outputs


def row() -> dict[str, int]:
    """Trace an execution of an agent that stores one story of Hacker News."""
    with FakeServer() as fakes:
        loopback: list[JSONValue] = ["127.0.0.1"]
        config: dict[str, JSONValue] = {
            "base_url": fakes.hackernews_url,
            "allow_private_hosts": loopback,
            "limit": 1,
        }
        return executed("hackernews", config).figures()


def crawl(pages: int) -> Trace:
    """Trace an execution that crawls some pages of the shop."""
    with FakeServer(products=PAGES * 4) as fakes:
        links: dict[str, JSONValue] = {"actor": "extract_list", "config": {"item_selector": "a"}}
        pipeline = crawl_pipeline(fakes.shop_url, {"max_pages": pages, "links": links})
        return executed("web", {"pipeline": pipeline})


def executed(platform: str, config: dict[str, JSONValue]) -> Trace:
    """Trace an execution of an agent in a database of its own."""
    with scratch() as folder, opened_database(ready_database(prepared(Path(folder), "normal"))) as database:
        with database.writing() as session:
            project = ensured_project(session, None, load_settings())
            execution = create_execution(session, add_agent(session, project, "traced", platform, config))
        with Trace() as trace:
            outcome = run_locally(execution, database=database, settings=load_settings())
        if outcome.status is not ExecutionStatus.SUCCEEDED:
            raise RuntimeError(f"the execution ended as {outcome.status}: {outcome}")
    return trace


def main() -> None:
    """Print the figures as JSON."""
    first, some, more = crawl(1), crawl(1 + PAGES), crawl(1 + 2 * PAGES)
    found: dict[str, object] = {
        "two steps in memory": step(),
        "two durable steps": durable(),
        "a row": row(),
        "the first page of a crawl": first.figures(),
        "a further page": {
            "calls": (more.calls - some.calls) // PAGES,
            "hops": (more.hops - some.hops) // PAGES,
        },
    }
    sys.stdout.write(f"{json.dumps(found, indent=2)}\n")


if __name__ == "__main__":
    main()
