"""Walks through the steps of a spec, at any depth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from agentic.core.actors import Actor
from agentic.core.pipeline.expressions.references import ValuePath
from agentic.core.pipeline.policies.policies import ErrorRule, Fallback
from agentic.core.pipeline.spec.spec import (
    ActorStep,
    ChooseStep,
    Config,
    CrawlStep,
    DetailRules,
    LoopStep,
    PipelineSpec,
    PipelineStep,
    Step,
)
from agentic.core.pipeline.spec.step_names import page_actors, step_ids


def rows_of(step: Step) -> Iterator[tuple[ValuePath, Sequence[Step]]]:
    """Yield the rows of steps within a step, with their keys; also the rows of a sub-pipeline."""
    if isinstance(step, LoopStep):
        yield ("loop_steps",), step.loop_steps
    elif isinstance(step, ChooseStep):
        yield ("steps",), step.steps
        yield ("otherwise",), step.otherwise
    elif isinstance(step, PipelineStep) and isinstance(step.pipeline, PipelineSpec):
        yield ("pipeline", "steps"), step.pipeline.steps


def find_crawls(
    steps: Sequence[Step], place: ValuePath, *, in_loop: bool = False
) -> Iterator[tuple[ValuePath, bool]]:
    """Yield the place of every crawl, and whether it stands in a loop."""
    for index, step in enumerate(steps):
        here = (*place, index)
        if isinstance(step, CrawlStep):
            yield here, in_loop
        for keys, row in rows_of(step):
            yield from find_crawls(row, (*here, *keys), in_loop=in_loop or isinstance(step, LoopStep))


def step_at(spec: PipelineSpec, place: ValuePath) -> object:
    """Return the part of a spec at a place that :func:`find_crawls` yields."""
    found: object = spec
    for key in place:
        found = found[key] if isinstance(found, tuple) and isinstance(key, int) else getattr(found, str(key))
    return found


def actors_of(step: Step) -> Iterator[str]:
    """Yield the name of every actor that a step calls itself, or a step within it."""
    yield from (name for name, _ in calls_of(step))


def reads_sitemaps(steps: Sequence[Step]) -> bool:
    """Whether a crawl among the steps, or within them, reads sitemaps."""
    return any(
        (isinstance(step, CrawlStep) and bool(step.sitemaps))
        or any(reads_sitemaps(row) for _, row in rows_of(step))
        for step in steps
    )


def reads_items(steps: Sequence[Step]) -> bool:
    """Whether a crawl among the steps, or within them, reads items on its pages."""
    return any(
        (isinstance(step, CrawlStep) and bool(step.details))
        or any(reads_items(row) for _, row in rows_of(step))
        for step in steps
    )


def detail_rules(steps: Sequence[Step]) -> Iterator[DetailRules]:
    """Yield the rules for items on pages of every crawl among the steps, or within them."""
    for step in steps:
        if isinstance(step, CrawlStep):
            yield from step.details
        for _, row in rows_of(step):
            yield from detail_rules(row)


def detail_patterns(steps: Sequence[Step]) -> Iterator[str]:
    """Yield the patterns of the pages that a crawl among the steps, or within them, reads items on."""
    yield from (pattern for rule in detail_rules(steps) for pattern in rule.match)


def downloads_files(steps: Sequence[Step]) -> bool:
    """Whether a crawl among the steps, or within them, downloads files of its pages."""
    return any(
        (isinstance(step, CrawlStep) and step.files is not None)
        or any(downloads_files(row) for _, row in rows_of(step))
        for step in steps
    )


def named_by(spec: PipelineSpec) -> Iterator[str]:
    """Yield the name of every actor that a pipeline may call, some of them several times."""
    for step in spec.steps:
        yield from actors_of(step)
    yield from (fallback.actor for fallback in fallbacks_of(spec))


def capabilities_of(spec: PipelineSpec, actors: Mapping[str, type[Actor]]) -> frozenset[str]:
    """Return the needs of a pipeline's steps and fallbacks: ``network``, ``browser``."""
    calls = [call for step in spec.steps for call in calls_of(step)]
    calls += [(one.actor, one.config) for one in fallbacks_of(spec)]
    return frozenset().union(*(actors[name].needs(config) for name, config in calls))


def fallbacks_of(spec: PipelineSpec) -> Iterator[Fallback]:
    """Yield the fallbacks in the rules of a pipeline, and of all pipelines within it."""
    yield from _fallbacks(spec.error_handling)
    yield from _fallbacks_within(spec.steps)


def _fallbacks_within(steps: Sequence[Step]) -> Iterator[Fallback]:
    for step in steps:
        yield from _fallbacks(step.error_handling)
        if isinstance(step, PipelineStep) and isinstance(step.pipeline, PipelineSpec):
            yield from _fallbacks(step.pipeline.error_handling)
        for _, row in rows_of(step):
            yield from _fallbacks_within(row)


def _fallbacks(rules: Mapping[str, ErrorRule]) -> Iterator[Fallback]:
    yield from (rule.retry_with_actor for rule in rules.values() if rule.retry_with_actor is not None)


def calls_of(step: Step) -> Iterator[tuple[str, Config]]:
    """Yield the name and config of every actor that a step calls itself, or a step within it."""
    if isinstance(step, ActorStep):
        yield step.actor, step.config
    elif isinstance(step, CrawlStep):
        yield from ((page_actor.actor, page_actor.config) for _, page_actor in page_actors(step))
    for _, row in rows_of(step):
        for inner in row:
            yield from calls_of(inner)


def actor_step_ids(spec: PipelineSpec) -> list[str]:
    """Return the ids of the steps of a pipeline that call an actor."""
    named = zip(step_ids(spec.steps), spec.steps, strict=True)
    return [name for name, step in named if isinstance(step, ActorStep)]


def rerun_rules(spec: PipelineSpec) -> Iterator[tuple[str, ValuePath]]:
    """Yield the id of every step that a rule of this pipeline runs again, and the place of the rule."""
    yield from _reruns(spec.error_handling, ("error_handling",))
    yield from _reruns_within(spec.steps, ("steps",))


def _reruns_within(steps: Sequence[Step], place: ValuePath) -> Iterator[tuple[str, ValuePath]]:
    for index, step in enumerate(steps):
        here = (*place, index)
        yield from _reruns(step.error_handling, (*here, "error_handling"))
        if not isinstance(step, PipelineStep):  # it reruns steps of its own
            for keys, row in rows_of(step):
                yield from _reruns_within(row, (*here, *keys))


def _reruns(rules: Mapping[str, ErrorRule], place: ValuePath) -> Iterator[tuple[str, ValuePath]]:
    for key, rule in rules.items():
        if rule.rerun is not None:
            yield rule.rerun, (*place, key, "rerun")
