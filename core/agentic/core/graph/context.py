"""What a handler can do: send, yield, tell."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol

from typing_extensions import TypeVar

from agentic.core.graph.events import CustomEvent, EventKind, WorkflowEvent
from agentic.core.graph.messages import Activation, Sent, isolated
from agentic.core.graph.state import joined
from agentic.core.types import ExecutorId, JSONValue, RunId

if TYPE_CHECKING:
    from agentic.core.graph.result import RunResult
    from agentic.core.graph.workflow import Workflow

SendT = TypeVar("SendT", default=Any)
YieldT = TypeVar("YieldT", default=Any)

LogLevel = Literal["debug", "info", "warning", "error"]


class SubRunner(Protocol):
    """Runs a workflow as part of another's activation."""

    def __call__(self, workflow: Workflow, message: object, run_id: RunId, path: str) -> Awaitable[RunResult]:
        """Run ``workflow`` under the name ``run_id``; its events appear under ``path``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLink:
    """What a context needs of the run around it."""

    run_id: RunId
    path: str
    clock: Callable[[], float]
    tell: Callable[[WorkflowEvent], None]
    run_sub: SubRunner


class WorkflowContext(Generic[SendT, YieldT]):
    """What an executor sees of its run while it handles one message.

    What it sends, yields and so on counts only if the handler returns: a failed activation leaves nothing.
    """

    __slots__ = ("_activation", "_link", "_live_count", "_sub_run_count", "outputs", "sends", "sub_events")

    def __init__(self, activation: Activation, link: RunLink) -> None:
        self._activation = activation
        self._link = link
        self._live_count = 0
        self._sub_run_count = 0
        self.sends: list[Sent] = []
        self.outputs: list[object] = []
        self.sub_events: list[WorkflowEvent] = []

    @property
    def run_id(self) -> RunId:
        """The run; a sub-workflow's run is named ``parent/executor.superstep.shard``."""
        return self._link.run_id

    @property
    def superstep(self) -> int:
        """The superstep, from 0."""
        return self._activation.superstep

    @property
    def executor_id(self) -> ExecutorId:
        """The executor that handles the message."""
        return self._activation.executor_id

    @property
    def source_ids(self) -> tuple[ExecutorId, ...]:
        """Who sent the message: several after a fan-in, nobody for the input of the run."""
        return self._activation.delivery.sources

    async def send_message(self, message: SendT, target: str | None = None) -> None:
        """Send ``message`` over the out-edges; it arrives in the next superstep.

        Args:
            message: Copied now if it could be changed later.
            target: Send it to this executor only; it must be the target of an out-edge.
        """
        self.sends.append(Sent(isolated(message), None if target is None else ExecutorId(target)))

    async def yield_output(self, output: YieldT) -> None:
        """Give ``output`` to the caller of the run."""
        self.outputs.append(isolated(output))

    async def add_event(self, event: CustomEvent) -> None:
        """Tell an event of your own at once. It is live: it tells of this attempt, even if that fails."""
        self._tell(EventKind.CUSTOM, {"type": event.type, "data": dict(event.data)})

    def report_progress(self, done: int, total: int | None = None, note: str = "") -> None:
        """Tell at once how far this activation is.

        Args:
            done: Pieces of work finished.
            total: Pieces in all, where that is known.
            note: A few words for people.
        """
        self._tell(EventKind.EXECUTOR_PROGRESS, {"done": done, "total": total, "note": note})

    def log(self, level: LogLevel, message: str, **facts: JSONValue) -> None:
        """Tell a line of log at once, as an event of the run."""
        self._tell(EventKind.EXECUTOR_LOG, {"level": level, "message": message, "facts": facts})

    async def run_workflow(self, workflow: Workflow, message: object) -> RunResult:
        """Run ``workflow`` within this activation and return its result.

        It is a run of its own, named after this activation; its events appear under this executor's path.

        Raises:
            Exception: What failed it.
        """
        self._sub_run_count += 1
        activation = self._activation
        suffix = "" if self._sub_run_count == 1 else f".{self._sub_run_count}"
        name = f"{self.run_id}/{activation.executor_id}.{activation.superstep}.{activation.shard}{suffix}"
        path = joined(self._link.path, activation.executor_id)
        try:
            result = await self._link.run_sub(workflow, message, RunId(name), path)
        except Exception as exc:
            self.sub_events.extend(getattr(getattr(exc, "result", None), "events", ()))
            raise
        self.sub_events.extend(result.events)
        return result

    def _tell(self, kind: EventKind, data: Mapping[str, JSONValue]) -> None:
        self._live_count += 1
        self._link.tell(
            WorkflowEvent(
                kind=kind,
                run_id=self.run_id,
                time=self._link.clock(),
                superstep=self.superstep,
                path=joined(self._link.path, self.executor_id),
                attempt=1,
                shard=self._activation.shard,
                data=data,
                live_number=self._live_count,
            )
        )
