"""What steps are called, and what they give and take by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from pydantic import BaseModel

from agentic.core.actors import Actor
from agentic.core.pipeline.references import Path, find_references, source_path
from agentic.core.pipeline.spec import ActorStep, Config, CrawlStep, LoopStep, PageActor, Step
from agentic.core.pipeline.words import suggestion
from agentic.core.types import JSONValue

LOOP_RESULTS = ("items", "failed")
CRAWL_RESULTS = ("done", "failed", "left")


def step_ids(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return the id of each step: its own, or actor or type, numbered from the second of a name on."""
    taken = {step.id for step in steps if step.id}
    counts: Counter[str] = Counter()
    ids: list[str] = []
    for step in steps:
        base = step.id or (step.actor if isinstance(step, ActorStep) else step.type)
        name = base
        while not step.id and (name in taken or name in ids):
            counts[base] += 1
            name = f"{base}_{counts[base] + 1}"
        ids.append(name)
    return tuple(ids)


def outputs_of(step: Step, actors: Mapping[str, type[Actor]]) -> tuple[str, ...]:
    """Return the names of the results a step gives."""
    if isinstance(step, LoopStep):
        return LOOP_RESULTS
    if isinstance(step, CrawlStep):
        return CRAWL_RESULTS
    return tuple(actors[step.actor].Output.model_fields)


def required_inputs(model: type[BaseModel], config: Mapping[str, JSONValue]) -> Iterator[tuple[str, ...]]:
    """Yield the names of each required field that ``config`` leaves out: its alias, if any, and its own."""
    for name, field in model.model_fields.items():
        names = (field.alias, name) if field.alias else (name,)
        if field.is_required() and not any(known in config for known in names):
            yield names


def crawl_settings(step: CrawlStep) -> Config:
    """Return what a crawl step says besides the configs of its actors, as plain data."""
    settings: Config = step.model_dump(
        mode="json",
        exclude={"error_handling": True, "fetch": True, "links": True, "detail": {"config", "actor"}},
    )
    return settings


def needed_names(step: Step, actors: Mapping[str, type[Actor]]) -> set[str]:
    """Return the names of the results and inputs a step may look at."""
    if isinstance(step, LoopStep):
        inner = set().union(*(needed_names(part, actors) for part in step.loop_steps))
        return inner | {path[0] for path in (source_path(step.source), source_path(step.collect)) if path}
    if isinstance(step, CrawlStep):
        configs = [page_actor.config for _, page_actor in page_actors(step)]
        return _roots(crawl_settings(step)).union(*map(_roots, configs))
    lacking = required_inputs(actors[step.actor].Input, step.config)
    return _roots(step.config).union(*lacking)


def can_replace(fallback: type[Actor], wanted: Collection[str]) -> bool:
    """Whether ``fallback`` gives every result in ``wanted``."""
    return set(wanted) <= set(fallback.Output.model_fields)


def page_actors(step: CrawlStep) -> Iterator[tuple[str, PageActor]]:
    """Yield the actors a crawl calls, with the key each stands under."""
    yield "fetch", step.fetch
    yield "links", step.links
    if step.detail is not None:
        yield "detail", PageActor(actor=step.detail.actor, config=step.detail.config)


def why_unreachable(path: Path, known: Mapping[str, tuple[str, ...] | None]) -> str | None:
    """Return why ``path`` leads nowhere, None if it leads somewhere or nobody can say yet.

    Args:
        path: Dotted path in its parts.
        known: Name -> the names below it, None where those are not known.
    """
    if path[0] not in known:
        return f"nothing before this step gives {path[0]!r}{suggestion(path[0], known)}"
    below = known[path[0]]
    if len(path) > 1 and below is not None and path[1] not in below:
        return f"{path[0]!r} gives no {path[1]!r}{suggestion(path[1], below)}"
    return None


def _roots(value: JSONValue) -> set[str]:
    return {found.path[0] for found in find_references(value) if found.path}
