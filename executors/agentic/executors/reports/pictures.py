"""The pipeline of an agent as a picture, with a run on it while the ledger has its events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sqlalchemy.orm import Session

from agentic.core.actors import PipelineError
from agentic.core.graph import WorkflowEvent
from agentic.core.graph.errors import GraphError
from agentic.core.hooks import get_registry
from agentic.core.ledger.batches import read_batch
from agentic.core.pipeline import PipelineSpec, outline
from agentic.core.types import RunId
from agentic.core.views.replay import replay
from agentic.core.views.run_view import RunView
from agentic.core.views.viz import to_svg
from agentic.executors.agents.repository import WORK
from agentic.mappers import ExecutionModel
from agentic.mappers.runs.reading import LedgerReader

MOST_EVENTS = 5_000
"""Maximum events of a drawn run; a longer one is not read."""


def picture(session: Session, spec: PipelineSpec, execution: ExecutionModel, runs: Sequence[str]) -> str:
    """Return a pipeline as SVG, with states, times and counts of the run on it if it is not too long.

    Args:
        session: To read with.
        spec: The pipeline; for one that does not match the installed actors this returns "".
        execution: The execution that ran it.
        runs: Its run and its child runs.
    """
    try:
        graph = outline(spec, get_registry().actors).graph
    except PipelineError:
        return ""
    try:
        return to_svg(graph, run=_view(session, execution, runs))
    except GraphError:  # events were removed, or belong to another pipeline
        return to_svg(graph)


def _view(session: Session, execution: ExecutionModel, runs: Sequence[str]) -> RunView | None:
    top = f"{execution.id}/{WORK}."
    children = [run for run in runs if run.startswith(top)]
    reader = LedgerReader(session, execution.project_id)
    if sum(reader.event_count(RunId(run)) for run in children) > MOST_EVENTS:
        return None
    views = replay(_events(reader, execution, children))
    return views[-1] if views else None


def _events(reader: LedgerReader, execution: ExecutionModel, runs: Iterable[str]) -> Iterator[WorkflowEvent]:
    """Yield the events of the graph that did the work, as if it had run alone."""
    for run in runs:
        for batch in reader.events(RunId(run), after=0, limit=MOST_EVENTS):
            for event in read_batch(batch):
                yield _as_outermost(event, execution.id)


def _as_outermost(event: WorkflowEvent, run_id: str) -> WorkflowEvent:
    _, _, below = event.run_id.partition("/")
    _, slash, deeper = below.partition("/")
    return WorkflowEvent(
        event.kind,
        RunId(f"{run_id}{slash}{deeper}"),
        event.time,
        sequence=event.sequence,
        superstep=event.superstep,
        path=event.path.removeprefix(WORK).removeprefix("/"),
        attempt=event.attempt,
        shard=event.shard,
        duration_s=event.duration_s,
        data=event.data,
    )
