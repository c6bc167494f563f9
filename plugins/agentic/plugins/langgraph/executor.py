"""Runs graphs of LangGraph as agents, and reports on them to ``agentic doctor``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import cached_property, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NoReturn

from agentic.core.graph import WorkflowBuilder
from agentic.core.hooks import Finding
from agentic.core.settings import Settings, load_settings
from agentic.executors import BaseAgentExecutor
from agentic.executors.agents.doctor import AgentsDoctor
from agentic.executors.base import AgentWork
from agentic.plugins.langgraph.errors import MissingLangGraphError
from agentic.plugins.langgraph.settings import LangGraphSettings

if TYPE_CHECKING:
    from agentic.mappers import Database
    from agentic.plugins.langgraph.running.node import LangGraphResult
    from agentic.plugins.langgraph.savers.saver import AgenticSaver

PLATFORM_NAME = "langgraph"


class LangGraphAgentExecutor(BaseAgentExecutor):
    """Runs the graph of an agent's config; config: :class:`LangGraphSettings`."""

    @cached_property
    def settings(self) -> LangGraphSettings:
        """The agent's config."""
        return self.read_config(LangGraphSettings)

    def validate(self) -> None:
        """Check that the graph may be used; it is loaded by the worker that runs it.

        Raises:
            AgentConfigError: Its module is not trusted, or it has no input.
        """
        super().validate()
        self._given()
        if fault := _trust_fault(self.settings.graph, load_settings()):
            raise self._misconfigured(fault)

    def create_initial_state(self) -> dict[str, object]:
        """Return the agent's name and goals, and the input of the graph."""
        return {"agent_name": self.agent.agent_name, "goals": self.goals, "input": self._given()}

    def work(self, database: Database) -> AgentWork:
        """Return a graph of one node, the graph of LangGraph.

        Raises:
            AgentConfigError: The config is invalid.
            MissingLangGraphError: LangGraph is not installed.
        """
        if not has_langgraph():
            raise MissingLangGraphError
        from agentic.plugins.langgraph.running.graphs import load_graph
        from agentic.plugins.langgraph.running.node import GraphOptions, LangGraphExecutor

        row, settings, known = self.agent, self.settings, load_settings()
        saver, close = self._saver(database, known)
        types = [(module, name) for module, _, name in (one.partition(":") for one in settings.types)]
        options = GraphOptions(
            thread=f"kept-{row.id}" if settings.thread == "kept" else "new",
            history="all" if settings.history == "all" else "latest",
            durability=settings.durability,
            recursion_limit=settings.recursion_limit,
            max_concurrency=settings.max_concurrency,
            configurable=settings.configurable,
            context=settings.context,
            answer_s=settings.answer_s,
            types=types,
        )
        node = LangGraphExecutor(
            partial(load_graph, settings.graph, known.workflow_modules),
            saver=saver,
            options=options,
            is_active=partial(is_active, database, row.project_id),
        )
        return AgentWork(
            workflow=WorkflowBuilder("langgraph", version="1").set_start(node).build(),
            message_of=lambda state: state["input"],
            results_of=partial(results_of, graph=settings.graph),
            close=close,
        )

    def save_results(self, results: dict[str, object]) -> bool:
        """Store the result, and remove the thread in the same transaction, if none of it shall stay."""
        is_kept = super().save_results(results)
        if is_kept and self.settings.history == "none":
            from agentic.plugins.langgraph.savers.sql import remove_thread

            remove_thread(self.db_session, self.agent.project_id, str(results["thread_id"]))
        return is_kept

    async def execute_agent(self, state: dict[str, object]) -> NoReturn:
        """Never called, because :meth:`work` returns a graph."""
        raise NotImplementedError

    def _given(self) -> object:
        given = self.settings.input if self.settings.input is not None else (self.agent.goals or "").strip()
        if given == "":
            raise self._misconfigured("an execution has no input: set 'input', or goals")
        return given

    def _saver(
        self, database: Database, known: Settings
    ) -> tuple[AgenticSaver, Callable[[], Awaitable[None]] | None]:
        if self.settings.store == "sql":
            from agentic.plugins.langgraph.savers.sql import SqlSaver

            return SqlSaver(database, project_id=self.agent.project_id), None
        if known.nats is None:
            raise self._misconfigured("store: nats needs a server; set AGENTIC_NATS_URL, or use store: sql")
        from agentic.core.bus.opening import Buses
        from agentic.plugins.langgraph.savers.nats import BUCKET, NatsSaver

        buses, project = Buses(known), self.agent.project.name
        return NatsSaver(buses.of(project).bucket(BUCKET, project=project)), buses.aclose


def results_of(result: LangGraphResult, *, graph: str) -> dict[str, Any]:
    """Return the stored results of an execution."""
    return {
        "thread_id": result.thread_id,
        "turn": result.turn,
        "graph": graph,
        "text": result.text,
        "output": result.values,
        "steps": result.steps,
    }


def is_active(database: Database, project_id: str, run_id: str) -> bool:
    """Whether the execution that a run belongs to has not ended; blocks."""
    from agentic.mappers import ExecutionStatus, UnknownExecutionError, find_execution

    with database.reading() as session:
        try:
            status = find_execution(session, project_id, run_id.partition("/")[0]).status
        except UnknownExecutionError:
            return False
    return status in {ExecutionStatus.QUEUED, ExecutionStatus.RUNNING}


def has_langgraph() -> bool:
    """Whether LangGraph is installed; it is not imported."""
    return find_spec("langgraph") is not None and find_spec("langgraph.graph") is not None


def _trust_fault(graph: str, settings: Settings) -> str:
    module = graph.partition(":")[0]
    if any(module == one or module.startswith(f"{one}.") for one in settings.workflow_modules):
        return ""
    return f"graph: the module {module!r} is not trusted; add its package to AGENTIC_WORKFLOW_MODULES"


def _look(_settings: LangGraphSettings) -> Iterator[Finding]:
    if not has_langgraph():
        yield Finding("cannot run: LangGraph is not installed; pip install 'agentic-pipelines[langgraph]'")


doctor = AgentsDoctor(platform=PLATFORM_NAME, settings=LangGraphSettings, look=_look)
