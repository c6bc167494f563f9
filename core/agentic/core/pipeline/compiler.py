"""From a spec to a workflow: one interpreter, the graph engine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agentic.core.actors import Actor, ActorContext
from agentic.core.graph import Executor, Workflow, WorkflowBuilder, WorkflowConfig
from agentic.core.http import Fetcher
from agentic.core.pipeline.calls import ActorCall, usable_levels
from agentic.core.pipeline.check import find_faults
from agentic.core.pipeline.crawl import CRAWL_TOTALS, CrawlNode, CrawlTools
from agentic.core.pipeline.crawl_report import add_totals
from agentic.core.pipeline.crawl_store import CrawlStore
from agentic.core.pipeline.errors import SpecError
from agentic.core.pipeline.loops import CollectNode, ItemNode, JoinNode, LoopNode
from agentic.core.pipeline.naming import needed_names, outputs_of, step_ids
from agentic.core.pipeline.nodes import ActorNode, InputsNode, ResultNode
from agentic.core.pipeline.places import Place
from agentic.core.pipeline.policies import Levels
from agentic.core.pipeline.references import source_path
from agentic.core.pipeline.spec import ActorStep, CrawlStep, LoopStep, PipelineSpec, Step
from agentic.core.pipeline.state import PipelineState
from agentic.core.types import RunId

# A crawl takes a superstep for each slice; max_pages is what ends it.
MAX_SUPERSTEPS = 10_000_000
RESULT_NAMES = frozenset({"items"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineServices:
    """What a pipeline needs of the outside.

    Attributes:
        http: Opened with the policy of the spec.
        frontier: Gives the frontier of a run's crawl step. The run is the pipeline's, whose name begins with
            that of the run around it.
    """

    http: Fetcher
    frontier: Callable[[RunId], CrawlStore]


def compile_pipeline(
    spec: PipelineSpec, actors: Mapping[str, type[Actor]], services: PipelineServices
) -> Workflow:
    """Return the workflow that runs a pipeline.

    It takes the inputs as a mapping and yields one output, a ``PipelineResult`` as JSON-able data. Actor
    steps become executors in a row, a loop a map edge over a sub-workflow, a crawl an executor with an edge
    to itself.

    Args:
        spec: The pipeline.
        actors: Name or alias -> actor.
        services: Used while it runs.

    Raises:
        SpecError: The spec does not fit the actors; every fault is listed.
    """
    faults = find_faults(spec, actors)
    if faults:
        raise SpecError(repr(spec.name), faults)
    return _Compiler(spec, actors, services).workflow()


@dataclass(frozen=True, slots=True)
class _Segment:
    """A step as part of a row: where it is entered, and which messages leave it for the next step."""

    entry: Executor
    exit: Executor
    leaves: Callable[[object], bool] | None = None
    when: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Surroundings:
    """What is around a row of steps: the ids of loops, their rules, and names needed after the row."""

    prefix: str = ""
    levels: Levels
    needed_after: frozenset[str]
    in_loop: bool = False


class _Compiler:
    def __init__(
        self, spec: PipelineSpec, actors: Mapping[str, type[Actor]], services: PipelineServices
    ) -> None:
        self._spec = spec
        self._actors = actors
        self._services = services
        self._context = ActorContext(http=services.http)

    def workflow(self) -> Workflow:
        around = _Surroundings(levels=(self._spec.error_handling,), needed_after=RESULT_NAMES)
        config = WorkflowConfig(max_supersteps=MAX_SUPERSTEPS)
        builder = WorkflowBuilder(self._spec.name, self._version(), config)
        first = InputsNode("pipeline.inputs", self._spec, self._needed(self._spec.steps) | RESULT_NAMES)
        builder.set_start(first)
        last = ResultNode("pipeline.result", self._spec)
        self._row(builder, first, self._spec.steps, last, around)
        return builder.build()

    def _version(self) -> str:
        """Name the spec and the actors: what a run began with, it goes on with."""
        versions = {name: actor.version for name, actor in self._actors.items()}
        spec = self._spec.model_dump(mode="json", exclude={"description"})
        text = json.dumps([spec, versions], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _row(
        self,
        builder: WorkflowBuilder,
        first: Executor,
        steps: Sequence[Step],
        last: Executor,
        around: _Surroundings,
    ) -> None:
        """Put ``steps`` between ``first`` and ``last``."""
        before = _Segment(first, first)
        for index, (name, step) in enumerate(zip(step_ids(steps), steps, strict=True)):
            place = Place(
                step=around.prefix + name,
                name=step.save_as or name,
                gives=outputs_of(step, self._actors),
                keep=self._needed(steps[index + 1 :]) | around.needed_after,
                in_loop=around.in_loop,
            )
            segment = self._segment(builder, name, step, place, (step.error_handling, *around.levels))
            builder.add_edge(before.exit, segment.entry, before.leaves, description=before.when)
            before = segment
        builder.add_edge(before.exit, last, before.leaves, description=before.when)

    def _segment(
        self, builder: WorkflowBuilder, name: str, step: Step, place: Place, levels: Levels
    ) -> _Segment:
        if isinstance(step, LoopStep):
            return self._loop(builder, name, step, place, levels)
        if isinstance(step, CrawlStep):
            return self._crawl(builder, name, step, place, levels)
        return self._actor(name, step, place, levels)

    def _actor(self, name: str, step: ActorStep, place: Place, levels: Levels) -> _Segment:
        call = ActorCall(
            step=place.step,
            actor=step.actor,
            config=step.config,
            actors=self._actors,
            levels=usable_levels(levels, self._actors, place.gives),
            timeout_s=step.timeout_s,
        )
        node = ActorNode(name, place, call, self._context)
        return _Segment(node, node)

    def _loop(
        self, builder: WorkflowBuilder, name: str, step: LoopStep, place: Place, levels: Levels
    ) -> _Segment:
        collect = source_path(step.collect) or ()
        kept = frozenset(collect[:1])
        entry = LoopNode(name, place, step, self._needed(step.loop_steps) | kept)
        join = JoinNode(f"{name}.join", place)
        around = _Surroundings(prefix=f"{place.step}/", levels=levels, needed_after=kept, in_loop=True)
        body = WorkflowBuilder(f"{name}.each")
        first = ItemNode("item")
        body.set_start(first)
        self._row(body, first, step.loop_steps, CollectNode("collect", place.step, collect), around)
        # What a step does about failures is settled within the body; what is raised there is to fail the run.
        builder.add_map_edge(entry, body.build(), join, max_parallel=step.max_parallel, on_item_error="fail")
        builder.add_edge(entry, join, _is_state, description="nothing to do")
        return _Segment(entry, join)

    def _crawl(
        self, builder: WorkflowBuilder, name: str, step: CrawlStep, place: Place, levels: Levels
    ) -> _Segment:
        tools = CrawlTools(
            store_of=self._services.frontier,
            actors=self._actors,
            levels=usable_levels(levels, self._actors, ("page",)),
            context=self._context,
            item_key=self._spec.item_key,
        )
        node = CrawlNode(name, place, step, tools)
        builder.add_state(CRAWL_TOTALS, reducer=add_totals)
        builder.add_edge(node, node, _is_no_state, description="next slice")
        return _Segment(node, node, _is_state, "frontier is empty")

    def _needed(self, steps: Sequence[Step]) -> frozenset[str]:
        return frozenset().union(*(needed_names(step, self._actors) for step in steps))


def _is_state(message: object) -> bool:
    return isinstance(message, PipelineState)


def _is_no_state(message: object) -> bool:
    return not isinstance(message, PipelineState)
