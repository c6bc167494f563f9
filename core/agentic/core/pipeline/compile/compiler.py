"""From a spec to a workflow: one interpreter, the graph engine."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never, cast

from agentic.core.actors import Actor, ActorContext
from agentic.core.graph import Executor, Workflow, WorkflowBuilder, WorkflowConfig
from agentic.core.hooks.offers import is_own_code
from agentic.core.pipeline.crawl.crawl import CrawlNode, CrawlTools
from agentic.core.pipeline.crawl.store import CrawlStore
from agentic.core.pipeline.errors import SpecError
from agentic.core.pipeline.expressions.references import expression_of
from agentic.core.pipeline.policies.policies import Levels
from agentic.core.pipeline.repairs.store import RepairStore
from agentic.core.pipeline.spec.check import find_faults
from agentic.core.pipeline.spec.own_secrets import OwnSecrets
from agentic.core.pipeline.spec.spec import (
    ActorStep,
    ChooseStep,
    CrawlStep,
    LoopStep,
    PipelineSpec,
    PipelineStep,
    Step,
)
from agentic.core.pipeline.spec.step_names import (
    SITEMAP_ACTOR,
    names_needed,
    needed_names,
    outer_names,
    outputs_of,
    page_actors,
    step_ids,
)
from agentic.core.pipeline.spec.versions import version_of
from agentic.core.pipeline.spec.walking import named_by, reads_sitemaps, rerun_rules
from agentic.core.pipeline.steps.calls import ActorCall, levels_for
from agentic.core.pipeline.steps.choices import OTHERWISE, STEPS, BranchJoinNode, ChooseNode, leads_to
from agentic.core.pipeline.steps.loops import CollectNode, ItemNode, JoinNode, LoopNode
from agentic.core.pipeline.steps.nodes import ActorNode, InputsNode, ResultNode
from agentic.core.pipeline.steps.positions import StepPosition, Within
from agentic.core.pipeline.steps.state import PipelineState
from agentic.core.pipeline.steps.subpipelines import EnterNode, LeaveNode, OutcomeNode
from agentic.core.types import JSONValue, RunId

# A crawl takes a superstep for each slice; max_pages ends it.
MAX_SUPERSTEPS = 10_000_000
RESULT_NAMES = frozenset({"items", "item"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineServices:
    """The external services of a pipeline.

    Attributes:
        frontier: Returns the frontier of a run's crawl step. The run is the pipeline's; its name begins with
            the name of the run around it.
        context: Returns the context for the actors of a run; its fetcher is opened with the policy of the
            spec.
        inputs: The pipeline's inputs, if they are known: passwords and tokens in them are never stored.
        repairs: Returns the stored repairs of a run's pipeline; without it, crawls are not repaired.
    """

    frontier: Callable[[RunId], CrawlStore]
    context: Callable[[RunId], ActorContext]
    inputs: Mapping[str, JSONValue] = field(default_factory=dict, repr=False)
    repairs: Callable[[RunId], RepairStore] | None = None


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
    # A file that changes meanwhile does not change a run.
    own = {name: actors[name] for name in named_by(spec) if is_own_code(name)}
    actors = ChainMap(own, dict(actors)) if own else actors
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
    """The surroundings of a row of steps.

    Attributes:
        spec: The pipeline it belongs to.
        levels: Rules for failures, nearest first.
        needed_after: Names needed after the row.
        always: Names that rerun steps use.
        prefix: Ids of the steps around it, for people: ``"details/"``.
        node: Ids of the choices around it, for executors: ``"check."``.
        number: Numbers of the steps around it, for people: ``"2."``.
        within: The part that a failure ends.
    """

    spec: PipelineSpec
    levels: Levels
    needed_after: frozenset[str]
    always: frozenset[str]
    prefix: str = ""
    node: str = ""
    number: str = ""
    within: Within = "run"


@dataclass(frozen=True, slots=True)
class _Row:
    """The ends of a row of steps, and which messages of the first end enter it."""

    first: Executor
    last: Executor
    enters: Callable[[object], bool] | None = None
    when: str = ""


class _Compiler:
    def __init__(
        self, spec: PipelineSpec, actors: Mapping[str, type[Actor]], services: PipelineServices
    ) -> None:
        self._spec = spec
        # No others: each is part of the workflow's signature, and is loaded for it.
        called = {*named_by(spec)}
        if SITEMAP_ACTOR in actors and reads_sitemaps(spec.steps):
            called.add(SITEMAP_ACTOR)
        self._actors = {name: actors[name] for name in sorted(called)}
        self._services = services
        self._own = OwnSecrets.found_in(spec, services.inputs)

    def workflow(self) -> Workflow:
        spec = self._spec
        config = WorkflowConfig(max_supersteps=MAX_SUPERSTEPS, run_timeout_s=spec.limits.max_seconds)
        builder = WorkflowBuilder(spec.name, version_of(spec, self._actors), config)
        around = self._within(spec, ())
        first = InputsNode("pipeline.inputs", spec, self._kept(spec.steps, around), self._own)
        builder.set_start(first)
        last = ResultNode("pipeline.result", spec, may_be_empty=self._may_be_empty())
        self._row(builder, _Row(first, last), spec.steps, around)
        return builder.build()

    def _may_be_empty(self) -> bool:
        """Whether a run may store nothing: a condition decides, or an actor has another effect."""
        has_effect = any(actor.has_effect for actor in self._actors.values())
        return has_effect or any(isinstance(step, ChooseStep) or step.when for step in self._spec.steps)

    def _row(self, builder: WorkflowBuilder, row: _Row, steps: Sequence[Step], around: _Surroundings) -> None:
        """Put ``steps`` between the ends of a row."""
        before = _Segment(row.first, row.first, row.enters, row.when)
        for index, (name, step) in enumerate(zip(step_ids(steps), steps, strict=True)):
            position = StepPosition(
                step=around.prefix + name,
                name=step.save_as or name,
                gives=outputs_of(step, self._actors),
                keep=self._kept(steps[index + 1 :], around),
                within=around.within,
                when=step.when,
                limits=self._spec.limits,
                label=f"step {around.number}{index + 1} {name}",
            )
            levels = (step.error_handling, *around.levels)
            inner = replace(around, levels=levels, number=f"{around.number}{index + 1}.")
            segment = self._segment(builder, around.node + name, step, position, inner)
            builder.add_edge(before.exit, segment.entry, before.leaves, description=before.when)
            before = segment
        builder.add_edge(before.exit, row.last, before.leaves, description=before.when)

    def _segment(
        self, builder: WorkflowBuilder, name: str, step: Step, position: StepPosition, around: _Surroundings
    ) -> _Segment:
        match step:
            case LoopStep():
                return self._loop(builder, name, step, position, around)
            case CrawlStep():
                return self._crawl(builder, name, step, position, around)
            case ChooseStep():
                return self._choose(builder, name, step, position, around)
            case PipelineStep():
                return self._pipeline(builder, name, step, position, around)
            case ActorStep():
                return self._actor(builder, name, step, position, around)
            case _:
                assert_never(step)

    def _actor(
        self,
        builder: WorkflowBuilder,
        name: str,
        step: ActorStep,
        position: StepPosition,
        around: _Surroundings,
    ) -> _Segment:
        call = ActorCall(
            step=position.step,
            actor=step.actor,
            config=step.config,
            actors=self._actors,
            levels=levels_for(
                [(self._actors[step.actor], step.config)], around.levels, self._actors, position.gives
            ),
            timeout_s=step.timeout_s,
            reruns=self._reruns(around.spec),
            own=self._own,
        )
        node = ActorNode(name, position, call, self._services.context)
        if not self._actors[step.actor].may_wait:
            return _Segment(node, node)
        builder.add_edge(node, node, _is_no_state, description="asks again")
        return _Segment(node, node, _is_state, "done")

    def _reruns(self, spec: PipelineSpec) -> dict[str, ActorCall]:
        """Return the calls of the steps that rules of ``spec`` run again."""
        wanted = {name for name, _ in rerun_rules(spec)}
        named = zip(step_ids(spec.steps), spec.steps, strict=True)
        return {
            name: ActorCall(
                step=name,
                actor=step.actor,
                config=step.config,
                actors=self._actors,
                levels=(),
                own=self._own,
            )
            for name, step in named
            if name in wanted and isinstance(step, ActorStep)
        }

    def _loop(
        self,
        builder: WorkflowBuilder,
        name: str,
        step: LoopStep,
        position: StepPosition,
        around: _Surroundings,
    ) -> _Segment:
        entry = LoopNode(name, position, step, outer_names(step, self._actors) | around.always)
        join = JoinNode(f"{name}.join", position)
        body = WorkflowBuilder(f"{name}.each")
        first = ItemNode("item")
        body.set_start(first)
        kept = expression_of(step.collect).roots
        inner = replace(around, prefix=f"{position.step}/", node="", needed_after=kept, within="loop")
        self._row(
            body, _Row(first, CollectNode("collect", position.step, step.collect)), step.loop_steps, inner
        )
        # The body handles failures of its steps; an exception that leaves it must fail the run.
        builder.add_map_edge(entry, body.build(), join, max_parallel=step.max_parallel, on_item_error="fail")
        builder.add_edge(entry, join, _is_state, description="nothing to do")
        return _Segment(entry, join)

    def _choose(
        self,
        builder: WorkflowBuilder,
        name: str,
        step: ChooseStep,
        position: StepPosition,
        around: _Surroundings,
    ) -> _Segment:
        entry = ChooseNode(name, position, step.when)
        meet = BranchJoinNode(f"{name}.meet", position)
        inner = replace(around, prefix=f"{position.step}/", node=f"{name}.", needed_after=position.keep)
        self._row(builder, _Row(entry, meet, leads_to(STEPS), step.when), step.steps, inner)
        if step.otherwise:
            otherwise = replace(inner, node=f"{name}.otherwise.")
            self._row(builder, _Row(entry, meet, leads_to(OTHERWISE), OTHERWISE), step.otherwise, otherwise)
        left = ("",) if step.otherwise else ("", OTHERWISE)
        builder.add_edge(entry, meet, leads_to(*left), description="neither" if step.otherwise else OTHERWISE)
        return _Segment(entry, meet)

    def _pipeline(
        self,
        builder: WorkflowBuilder,
        name: str,
        step: PipelineStep,
        position: StepPosition,
        around: _Surroundings,
    ) -> _Segment:
        spec = cast(PipelineSpec, step.pipeline)  # the check allows no bare name
        inner = replace(
            self._within(spec, around.levels),
            prefix=f"{position.step}/",
            number=around.number,
            within="pipeline",
        )
        given = cast("dict[str, JSONValue]", self._own.credentials.stripped_data(step.inputs))
        entry = EnterNode(name, position, spec, given, self._kept(spec.steps, inner))
        leave = LeaveNode(f"{name}.join", position, around.levels)
        body = WorkflowBuilder(f"{name}.pipeline", config=WorkflowConfig(max_supersteps=MAX_SUPERSTEPS))
        first = ItemNode("inputs")
        body.set_start(first)
        self._row(body, _Row(first, OutcomeNode("result", spec)), spec.steps, inner)
        builder.add_map_edge(entry, body.build(), leave, max_parallel=1, on_item_error="fail")
        builder.add_edge(entry, leave, _is_state, description="passed over")
        return _Segment(entry, leave)

    def _crawl(
        self,
        builder: WorkflowBuilder,
        name: str,
        step: CrawlStep,
        position: StepPosition,
        around: _Surroundings,
    ) -> _Segment:
        calls = [(self._actors[one.actor], one.config) for _, one in page_actors(step)]
        tools = CrawlTools(
            store_of=self._services.frontier,
            actors=self._actors,
            levels=levels_for(calls, around.levels, self._actors, ("page",)),
            context=self._services.context,
            item_key=around.spec.item_key,
            reruns=self._reruns(around.spec),
            own=self._own,
            repairs_of=self._services.repairs,
        )
        node = CrawlNode(name, position, step, tools)
        builder.add_edge(node, node, _is_no_state, description="next slice")
        return _Segment(node, node, _is_state, "frontier is empty")

    def _within(self, spec: PipelineSpec, levels: Levels) -> _Surroundings:
        """Return the surroundings of a pipeline's steps, given the rules around it."""
        anew = {name for name, _ in rerun_rules(spec)}
        steps = [step for name, step in zip(step_ids(spec.steps), spec.steps, strict=True) if name in anew]
        return _Surroundings(
            spec=spec,
            levels=(spec.error_handling, *levels),
            needed_after=RESULT_NAMES,
            always=frozenset().union(*(needed_names(step, self._actors) for step in steps)),
        )

    def _kept(self, steps: Sequence[Step], around: _Surroundings) -> frozenset[str]:
        """Return the names to keep before ``steps``, the rest of a row."""
        return names_needed(steps, self._actors, around.needed_after) | around.always


def _is_state(message: object) -> bool:
    return isinstance(message, PipelineState)


def _is_no_state(message: object) -> bool:
    return not isinstance(message, PipelineState)
