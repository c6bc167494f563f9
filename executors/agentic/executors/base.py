"""The base class of all platform executors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from agentic.core.hooks import get_registry
from agentic.core.types import ExecutionId
from agentic.executors.errors import AgentConfigError, ExecutionError, SessionClosedError

if TYPE_CHECKING:  # sqlalchemy and the engine are loaded when an agent runs, not when a class is defined
    from sqlalchemy.orm import Session

    from agentic.core.graph import RunResult, Workflow, WorkflowContext
    from agentic.core.http.exits.uses import ProxyUse
    from agentic.core.pipeline import Judgement
    from agentic.core.types import SaveCounts
    from agentic.mappers import AgentModel, Database, ResultMapper

ModelT = TypeVar("ModelT", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWork:
    """A graph that does an agent's work.

    Attributes:
        workflow: The graph.
        message_of: Makes its input from the result of ``create_initial_state``.
        results_of: Makes the input of ``save_results`` from the graph's output; optional for a dict.
        close: Closes all that the graph has opened in this process.
    """

    workflow: Workflow
    message_of: Callable[[dict[str, object]], object]
    results_of: Callable[[Any], dict[str, object]] = dict
    close: Callable[[], Awaitable[None]] | None = None


class BaseAgentExecutor(ABC):
    """Runs the agents of one platform.

    A template method in three steps: ``validate`` and ``create_initial_state``; ``execute_agent``, always
    followed by ``cleanup``; ``save_results``. Each step has its own object, maybe in another process, and is
    repeated when a worker dies in it: steps pass only return values. The first and the last are called off
    the event loop with :attr:`db_session` open. ``save_results`` works in the transaction that also records
    the end of the execution: both are kept, or neither.

    Attributes:
        agent: The agent, with its project; its columns are loaded.
        execution_id: The execution being run.
        mapper: The mapper that :meth:`result_mapper` made, if it did.
    """

    def __init__(self, agent: AgentModel, execution_id: str, db_session: Session | None = None) -> None:
        self.agent = agent
        self.execution_id = ExecutionId(execution_id)
        self.mapper: ResultMapper | None = None
        self._session = db_session
        self._context: WorkflowContext | None = None

    @property
    def db_session(self) -> Session:
        """The session of the current transaction.

        Raises:
            SessionClosedError: ``execute_agent`` is running.
        """
        if self._session is None:
            raise SessionClosedError
        return self._session

    @property
    def context(self) -> WorkflowContext:
        """The graph's side of ``execute_agent``: progress, log and custom events.

        Raises:
            ExecutionError: ``execute_agent`` is not running.
        """
        if self._context is None:
            raise ExecutionError("the workflow context exists only while execute_agent runs; use it there")
        return self._context

    @property
    def goals(self) -> list[str]:
        """The agent's goals, split at commas, without blanks."""
        return [goal.strip() for goal in (self.agent.goals or "").split(",") if goal.strip()]

    @property
    def route(self) -> str:
        """The route of the agent's work, below ``agentic.run_agent.``: its platform."""
        return self.agent.agent_platform

    @property
    def counts(self) -> SaveCounts:
        """The counts of stored rows; override it if ``mapper`` does not store them."""
        from agentic.core.types import SaveCounts

        return self.mapper.counts if self.mapper is not None else SaveCounts()

    @property
    def failed_count(self) -> int:
        """Parts of the work that failed without a row: pages, items, steps."""
        return 0

    @property
    def proxy_uses(self) -> Sequence[ProxyUse]:
        """The requests through each of several proxies."""
        return ()

    @property
    def judgement(self) -> Judgement:
        """The verdict on the stored results; by default, failed if all rows were rejected."""
        from agentic.core.pipeline import judge_rows

        return judge_rows(self.counts, self.warnings)

    @property
    def warnings(self) -> Sequence[str]:
        """Faults in parts of the results, a sentence each."""
        return self.mapper.warnings if self.mapper is not None else ()

    def read_config(self, model: type[ModelT]) -> ModelT:
        """Return the agent's config as ``model``.

        Raises:
            AgentConfigError: It is invalid. The message has keys, but never values.
        """
        try:
            return model.model_validate(self.agent.config)
        except ValidationError as exc:
            from agentic.core.pipeline.spec.messages import value_faults

            raise self._misconfigured(*value_faults(exc, model)) from None

    def validate(self) -> None:
        """Check the agent before all work; extend it with ``super().validate()`` first.

        Raises:
            AgentConfigError: The config does not fit the platform's settings model, or the agent has one
                though the platform takes none.
        """
        model = get_registry().platform(self.agent.agent_platform).settings
        if model is not None:
            self.read_config(model)
        elif self.agent.config:
            keys = ", ".join(sorted(self.agent.config))
            raise self._misconfigured(f"this platform takes no config, but the agent has {keys}")

    def create_initial_state(self) -> dict[str, object]:
        """Return the input of ``execute_agent``: by default name, goals and config, secrets masked.

        It is a message of the graph, so never put secrets in: read them with :meth:`read_config`.
        """
        model = get_registry().platform(self.agent.agent_platform).settings
        config = self.read_config(model).model_dump(mode="json") if model is not None else {}
        return {"agent_name": self.agent.agent_name, "goals": self.goals, "config": config}

    @abstractmethod
    async def execute_agent(self, state: dict[str, object]) -> dict[str, object]:
        """Do the work and return its results, JSON-able where they are stored.

        Raise to fail, or return ``{"error": "what went wrong"}``: both fail the activation, and nothing
        is stored but the error.
        """

    def save_results(self, results: dict[str, object]) -> bool:
        """Store ``results`` with the platform's mapper; False refuses them, and nothing is stored.

        An override takes its mapper from :meth:`result_mapper`, so that its counts are the execution's.
        """
        return self.result_mapper().save_results(results)

    def work(self, database: Database) -> AgentWork | None:  # noqa: ARG002 - for overrides
        """Return a graph that does the agent's work in place of ``execute_agent``; None to use that.

        Any worker can do each of its steps, and finished steps are not repeated when a worker dies. It is
        made for the agent, not for an execution: ``execution_id`` is empty here. ``save_results`` gets the
        one output of the graph.

        Args:
            database: The database of the executions.

        Raises:
            AgentConfigError: The config is invalid.
        """
        return None

    async def cleanup(self) -> None:  # noqa: B027 - most executors have nothing to release
        """Release what ``execute_agent`` opened; called after it, on success, failure and cancellation."""

    async def run_workflow(self, workflow: Workflow, message: object) -> RunResult:
        """Run a graph as a child of this run; its events appear under the path ``execute/...``.

        It runs in memory: if a worker dies meanwhile, it starts again.

        Args:
            workflow: Any graph.
            message: Given to its start executors.

        Raises:
            Exception: The graph failed with it.
        """
        return await self.context.run_workflow(workflow, message, is_kept=False)

    def result_mapper(self) -> ResultMapper:
        """Make the platform's mapper for this execution and keep it as ``mapper``."""
        from agentic.mappers import get_result_mapper

        self.mapper = get_result_mapper(
            self.agent.agent_platform, self.db_session, self.execution_id, self.agent
        )
        return self.mapper

    @contextmanager
    def attached(self, agent: AgentModel, session: Session) -> Iterator[None]:
        """Give the executor a session, and the agent of that session; called by the runner."""
        self.agent, self._session = agent, session
        try:
            yield
        finally:
            self._session = None

    @contextmanager
    def working(self, context: WorkflowContext) -> Iterator[None]:
        """Give the executor the context of its node; called by the runner."""
        self._context = context
        try:
            yield
        finally:
            self._context = None

    def _misconfigured(self, *faults: str) -> AgentConfigError:
        return AgentConfigError(self.agent.agent_name, self.agent.agent_platform, faults)
