"""What handlers raise, and do to tasks and the loop, fails their run at once and harms nobody else."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agentic.core import Workflow, WorkflowBuilder, WorkflowContext, executor
from agentic.core.graph import RunResult, RunStatus
from agentic.core.ledger import LedgerStore, MemoryLedger
from agentic.executors.durable import LocalRuns, WorkflowCatalog
from agentic.executors.durable.errors import UnknownWorkflowError
from agentic.executors.durable.runs.catalog import RegisteredWorkflow
from agentic.executors.workers.guarding import EngineTask, HandlerTask
from agentic.executors.workers.loop import LoopThread
from agentic.mappers import Base, Database
from agentic.mappers.ledger.ledger import SqlLedger

GRACE_S = 20.0


class PanicException(BaseException):
    pass


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise SystemExit(9)

    __repr__ = __str__


class UnpicklableError(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__("needs two")
        self.lock = threading.Lock()

    def __reduce__(self) -> str:
        raise KeyboardInterrupt


def circular() -> Exception:
    error = ValueError("round and round")
    error.__cause__ = error
    return error


RAISED: dict[str, tuple[Callable[[], BaseException], str]] = {
    "ctrl-c": (KeyboardInterrupt, "raised KeyboardInterrupt"),
    "exit": (lambda: SystemExit(3), r"called exit\(3\)"),
    "odd exit": (lambda: SystemExit(object()), "raised SystemExit"),
    "generator": (GeneratorExit, "raised GeneratorExit"),
    "panic": (
        lambda: PanicException("called unwrap() on a None value"),
        r"PanicException: called unwrap\(\)",
    ),
    "group": (lambda: BaseExceptionGroup("several", [PanicException("one")]), "BaseExceptionGroup: several"),
    "cancelled": (asyncio.CancelledError, "was cancelled by its own code"),
    "unspeakable": (UnspeakableError, "its __str__ raised SystemExit"),
    "surrogates": (lambda: ValueError("half \ud800 \x00 of"), r"half \\ud800 \\x00 of"),
    "huge": (lambda: ValueError("a" * 5_000_000), r"a\.\.\. \(\d+ characters\)"),
    "unpicklable": (lambda: UnpicklableError(1, 2), "needs two"),
    "circular": (circular, "round and round"),
    "memory": (lambda: MemoryError("too much"), "too much"),
    "recursion": (lambda: RecursionError("too deep"), "too deep"),
    "stop": (lambda: StopIteration("over"), "StopIteration"),
}


async def leak_scope() -> None:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().call_soon(task.cancel)
    await asyncio.Event().wait()


async def cancel_own_task() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


async def cancel_own_task_and_return() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


async def cancel_all_tasks() -> None:
    # That of the test is on nobody's guard; a worker has none like it.
    for task in asyncio.all_tasks():
        if isinstance(task, EngineTask | HandlerTask):
            task.cancel()
    await asyncio.sleep(0)


async def raise_in_a_task() -> None:
    async def inner() -> None:
        sys.exit(4)

    await asyncio.create_task(inner())


HARMFUL: dict[str, tuple[Callable[[], Awaitable[None]], str]] = {
    "leaks a scope": (leak_scope, "was cancelled by its own code"),
    "cancels its task": (cancel_own_task, "was cancelled by its own code"),
    "cancels its task and returns": (cancel_own_task_and_return, "was cancelled by its own code"),
    "cancels all tasks": (cancel_all_tasks, "was cancelled by its own code"),
}


class Runs:
    """Workflows of one node, and how often it was entered."""

    def __init__(self) -> None:
        self.entered = 0

    def one(self, work: Callable[[], Awaitable[None]]) -> Workflow:
        @executor(id="odd")
        async def odd(number: int) -> int:
            self.entered += 1
            await work()
            return number

        return WorkflowBuilder("odd", version="1").set_start(odd).build()

    def in_thread(self, work: Callable[[], None]) -> Workflow:
        @executor(id="odd")
        def odd(number: int) -> int:
            self.entered += 1
            work()
            return number

        return WorkflowBuilder("odd", version="1").set_start(odd).build()


class Neighbour:
    """A workflow of one node that waits until it may end."""

    def __init__(self) -> None:
        self.is_at_work = asyncio.Event()
        self.may_end = asyncio.Event()

    def build(self) -> Workflow:
        @executor(id="patient")
        async def patient(number: int) -> int:
            self.is_at_work.set()
            await self.may_end.wait()
            return number

        return WorkflowBuilder("neighbour", version="1").set_start(patient).build()


def raiser(error: Callable[[], BaseException]) -> Callable[[], Awaitable[None]]:
    async def work() -> None:
        raise error()

    return work


async def beside_a_neighbour(build: Callable[[], Workflow], store: LedgerStore | None = None) -> RunResult:
    """Return the result of a run; another one that began before it, and one after it, complete."""
    neighbour = Neighbour()
    catalog = WorkflowCatalog({"odd": build, "neighbour": neighbour.build})
    async with LocalRuns(store or MemoryLedger(), catalog) as runs:
        before = await runs.submit("neighbour", 1)
        await neighbour.is_at_work.wait()
        result = await (await runs.submit("odd", 1)).result(GRACE_S)
        neighbour.may_end.set()
        after = await runs.submit("neighbour", 2)
        assert (await before.result(GRACE_S)).outputs == (1,)
        assert (await after.result(GRACE_S)).outputs == (2,)
    return result


def said(result: RunResult) -> str:
    assert result.status is RunStatus.FAILED
    return str(result.error)


@pytest.mark.parametrize("name", RAISED)
async def test_whatever_a_handler_raises_fails_its_run_with_the_reason(name: str) -> None:
    error, reason = RAISED[name]
    runs = Runs()
    result = await beside_a_neighbour(lambda: runs.one(raiser(error)))
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(said(result))
    assert runs.entered == 1


@pytest.mark.parametrize("name", RAISED)
async def test_whatever_a_sync_handler_raises_in_its_thread_fails_its_run(name: str) -> None:
    error, reason = RAISED[name]
    runs = Runs()

    def work() -> None:
        raise error()

    result = await beside_a_neighbour(lambda: runs.in_thread(work))
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(said(result))
    assert runs.entered == 1


@pytest.mark.parametrize("name", HARMFUL)
async def test_whatever_a_handler_does_to_tasks_fails_its_run_alone(name: str) -> None:
    work, reason = HARMFUL[name]
    runs = Runs()
    result = await beside_a_neighbour(lambda: runs.one(work))
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(said(result))
    assert runs.entered == 1


@pytest.mark.parametrize("name", [name for name in RAISED if name != "stop"])
async def test_whatever_a_function_of_the_commit_raises_fails_its_run(name: str, tmp_path: Path) -> None:
    error, reason = RAISED[name]

    def build() -> Workflow:
        @executor(id="odd")
        async def odd(number: int, ctx: WorkflowContext) -> int:
            def store(_: object) -> None:
                raise error()

            ctx.on_commit(store)
            return number

        return WorkflowBuilder("odd", version="1").set_start(odd).build()

    (tmp_path / "runs.db").touch()
    database = Database(f"sqlite:///{tmp_path / 'runs.db'}")
    Base.metadata.create_all(database.engine)
    store = SqlLedger.open(f"sqlite:///{tmp_path / 'runs.db'}")
    result = await beside_a_neighbour(build, store)
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(said(result))
    store.close()
    database.dispose()


@pytest.mark.parametrize("name", RAISED)
async def test_whatever_a_condition_raises_fails_its_run(name: str) -> None:
    error, reason = RAISED[name]

    def condition(_: object) -> bool:
        raise error()

    def build() -> Workflow:
        @executor(id="first")
        async def first(number: int) -> int:
            return number

        @executor(id="second")
        async def second(number: int) -> int:
            return number

        flow = WorkflowBuilder("odd", version="1").set_start(first)
        return flow.add_conditional_edge(first, second, condition).build()

    result = await beside_a_neighbour(build)
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(said(result))


def test_a_loop_whose_handlers_end_it_serves_the_others() -> None:
    async def spoil() -> str:
        loop = asyncio.get_running_loop()
        with pytest.raises(SystemExit):
            await asyncio.create_task(_exit())
        loop.call_soon(_interrupt)
        await asyncio.sleep(0)
        loop.stop()
        await asyncio.sleep(0)
        return "spoilt"

    async def fine() -> str:
        await asyncio.sleep(0)
        return "fine"

    loop = LoopThread()
    assert loop.run(spoil()) == "spoilt"
    assert loop.run(fine()) == "fine"
    loop.close()


async def _exit() -> None:
    raise SystemExit(3)


def _interrupt() -> None:
    raise KeyboardInterrupt


async def test_a_handler_may_cancel_what_it_began_itself() -> None:
    async def work() -> None:
        task = asyncio.create_task(asyncio.Event().wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        inner = await beside_a_neighbour(lambda: Runs().one(raiser(lambda: ValueError("inner"))))
        assert str(inner.error) == "inner"

    result = await beside_a_neighbour(lambda: Runs().one(work))
    assert (result.status, result.error) == (RunStatus.COMPLETED, None)


@pytest.mark.parametrize(
    "start", ["asyncio.run(main())", "asyncio.new_event_loop().run_until_complete(main())"]
)
def test_ctrl_c_ends_a_program_whose_handler_is_at_work(start: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import asyncio, os, signal, time\n"
        "from agentic.core import WorkflowBuilder, executor\n"
        "@executor(id='busy')\n"
        "async def busy(number: int) -> int:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    await asyncio.Event().wait()\n"
        "async def main():\n"
        "    await WorkflowBuilder('w').set_start(busy).build().run(1)\n"
        f"{start}\n"
    )
    ended = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=GRACE_S, check=False
    )
    assert ended.stderr.rstrip().endswith("KeyboardInterrupt")
    assert ended.returncode != 0


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), PanicException("unwrap")])
def test_a_builder_that_ends_the_process_ends_none(error: BaseException) -> None:
    def build(_: str) -> RegisteredWorkflow:
        raise error

    catalog = WorkflowCatalog({}, builders={"agent": build})
    with pytest.raises(UnknownWorkflowError, match=f"building it raised {type(error).__name__}"):
        catalog.get("agent:x")
