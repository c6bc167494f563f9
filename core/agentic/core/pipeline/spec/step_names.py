"""The names of steps, of their results and of their inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import assert_never

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from agentic.core.actors import Actor, FromResults
from agentic.core.hooks.offers import is_own_code
from agentic.core.pipeline.expressions.expressions import Path
from agentic.core.pipeline.expressions.references import ValuePath, expression_of, find_references
from agentic.core.pipeline.expressions.suggestions import suggestion
from agentic.core.pipeline.spec.spec import (
    ActorStep,
    ChooseStep,
    Config,
    CrawlStep,
    FileRules,
    LoopStep,
    PageActor,
    PipelineStep,
    Step,
)
from agentic.core.types import JSONValue

LOOP_RESULTS = ("items", "failed")
CRAWL_RESULTS = ("done", "failed", "left")
PIPELINE_RESULTS = ("items", "counts")
CONTENTS_ACTOR = "page_contents"
"""Extracts the kept content of a crawled page besides its row."""

FILES_ACTOR = "page_files"
"""Finds the files of a crawled page."""

DOWNLOAD_ACTOR = "download"
"""Downloads a file of a crawled page."""

PYTHON = "python"
"""Key of the function for each item of a page."""

SITEMAP_ACTOR = "sitemap"
"""Reads the sitemaps of a crawl that starts at their pages."""


def step_ids(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return the id of each step: its own, or actor or type, numbered from the second of a name on."""
    taken = {step.id for step in steps if step.id}
    counts: Counter[str] = Counter()
    ids: list[str] = []
    for step in steps:
        base = step.id or (_short(step.actor) if isinstance(step, ActorStep) else step.type)
        name = base
        while not step.id and (name in taken or name in ids):
            counts[base] += 1
            name = f"{base}_{counts[base] + 1}"
        ids.append(name)
    return tuple(ids)


def _short(actor: str) -> str:
    """Return the name of an actor for a step: of ``./shop.py:clean`` the function."""
    return actor.rpartition(":")[2] if is_own_code(actor) else actor


def outputs_of(step: Step, actors: Mapping[str, type[Actor]]) -> tuple[str, ...]:
    """Return the names of a step's results; a choice has the results of all its steps."""
    match step:
        case LoopStep():
            return LOOP_RESULTS
        case CrawlStep():
            return CRAWL_RESULTS
        case PipelineStep():
            return PIPELINE_RESULTS
        case ChooseStep():
            return tuple(
                dict.fromkeys((*names_given(step.steps, actors), *names_given(step.otherwise, actors)))
            )
        case ActorStep():
            return tuple(actors[step.actor].Output.model_fields)
        case _:
            assert_never(step)


def names_given(steps: Sequence[Step], actors: Mapping[str, type[Actor]]) -> Iterator[str]:
    """Yield every name that results of a row of steps have."""
    for name, step in zip(step_ids(steps), steps, strict=True):
        yield from outputs_of(step, actors)
        yield step.save_as or name


def required_inputs(model: type[BaseModel], config: Mapping[str, JSONValue]) -> Iterator[tuple[str, ...]]:
    """Yield the names of each required field that ``config`` leaves out: its alias, if any, and its own."""
    for name, field in model.model_fields.items():
        names = (field.alias, name) if field.alias else (name,)
        if field.is_required() and not any(known in config for known in names):
            yield names


def crawl_settings(step: CrawlStep) -> Config:
    """Return a crawl step without the configs of its actors, as plain data."""
    of_actor = {"actor", "config"}
    of_detail = {"__all__": of_actor} if isinstance(step.detail, tuple) else of_actor
    settings: Config = step.model_dump(
        mode="json",
        exclude={"error_handling": True, "fetch": True, "links": True, "detail": of_detail},
    )
    return settings


def needed_names(step: Step, actors: Mapping[str, type[Actor]]) -> set[str]:
    """Return the names of the results and inputs a step may look at."""
    return set(expression_of(step.when).roots if step.when else ()) | _needed(step, actors)


def names_needed(
    steps: Iterable[Step], actors: Mapping[str, type[Actor]], after: Collection[str] = ()
) -> frozenset[str]:
    """Return the names that a row of steps may use, and that none of them certainly sets before.

    Args:
        steps: The row, or the rest of one.
        actors: Name or alias -> actor.
        after: Names that are used after the row.
    """
    needed: set[str] = set()
    given: set[str] = set()
    for step in steps:
        needed |= needed_names(step, actors) - given
        given |= _surely_given(step, actors)
    return frozenset(needed.union(set(after) - given))


def _surely_given(step: Step, actors: Mapping[str, type[Actor]]) -> set[str]:
    """Return names that a step always sets or clears, so that no older value stays visible."""
    if isinstance(step, ChooseStep) or step.when is not None:
        return set()
    # Without an id a step is named by its place in the whole row, which may not be available here.
    return {*outputs_of(step, actors), *filter(None, (step.save_as or step.id,))}


def outer_names(step: LoopStep, actors: Mapping[str, type[Actor]]) -> frozenset[str]:
    """Return the names around a loop that its steps, or its ``collect``, may use."""
    inner = names_needed(step.loop_steps, actors, expression_of(step.collect).roots)
    return inner - {step.item_as}


def _needed(step: Step, actors: Mapping[str, type[Actor]]) -> set[str]:
    match step:
        case LoopStep():
            return {*expression_of(step.source).roots, *outer_names(step, actors)}
        case CrawlStep():
            configs = [page_actor.config for _, page_actor in page_actors(step)]
            return _roots(crawl_settings(step)).union(*map(_roots, configs))
        case PipelineStep():
            return _roots(step.inputs)
        case ChooseStep():
            return {*names_needed(step.steps, actors), *names_needed(step.otherwise, actors)}
        case ActorStep():
            model = actors[step.actor].Input
            lacking = (*required_inputs(model, step.config), *wanted_inputs(model, step.config))
            return _roots(step.config).union(*lacking)
        case _:
            assert_never(step)


def wanted_inputs(model: type[BaseModel], config: Mapping[str, JSONValue]) -> Iterator[tuple[str, ...]]:
    """Yield the names of each optional field that is taken from results, if ``config`` leaves it out."""
    for name, field in model.model_fields.items():
        names = (field.alias, name) if field.alias else (name,)
        if _is_wanted(field) and not any(known in config for known in names):
            yield names


def can_replace(fallback: type[Actor], wanted: Collection[str]) -> bool:
    """Whether ``fallback`` gives every result in ``wanted``."""
    return set(wanted) <= set(fallback.Output.model_fields)


def page_actors(step: CrawlStep) -> Iterator[tuple[ValuePath, PageActor]]:
    """Yield the actors a crawl calls, with the keys that lead to each."""
    yield ("fetch",), step.fetch
    yield ("links",), step.links
    for number, rules in enumerate(step.details):
        place = detail_place(step, number)
        yield place, PageActor(actor=rules.actor, config=rules.config)
        if rules.python is not None:
            yield (*place, PYTHON), PageActor(actor=rules.python)
    if step.store.is_wanted:
        yield ("store",), contents_actor(step)
    if step.files is not None:
        yield from file_actors(step, step.files)


def detail_place(step: CrawlStep, number: int) -> ValuePath:
    """Return the keys that lead to one of the rules of ``detail``."""
    return ("detail", number) if isinstance(step.detail, tuple) else ("detail",)


def contents_actor(step: CrawlStep) -> PageActor:
    """Return the actor that reads the contents a crawl keeps of each page."""
    return PageActor(actor=CONTENTS_ACTOR, config=step.store.model_dump(mode="json", exclude={"pages"}))


def file_actors(step: CrawlStep, rules: FileRules) -> Iterator[tuple[ValuePath, PageActor]]:
    """Yield the actors that find the files of a page and download them, with their keys."""
    given = rules.model_dump(mode="json", exclude_none=True)
    finding: Config = {name: given[name] for name in ("select", "attr", "max_per_page") if name in given}
    loading: Config = {name: given[name] for name in ("types", "max_bytes", "folder", "timeout_s")}
    if "session" in step.fetch.config:
        loading["session"] = step.fetch.config["session"]
    yield ("files",), PageActor(actor=FILES_ACTOR, config=finding)
    yield ("files", DOWNLOAD_ACTOR), PageActor(actor=DOWNLOAD_ACTOR, config=loading)


def why_unreachable(path: Path, known: Mapping[str, tuple[str, ...] | None]) -> str | None:
    """Return why ``path`` leads nowhere, None if it leads somewhere or this is still unknown.

    Args:
        path: Dotted path in its parts.
        known: Name -> the names below it, None if unknown.
    """
    if path[0] not in known:
        return f"no earlier step provides {path[0]!r}{suggestion(path[0], known)}"
    below = known[path[0]]
    if len(path) > 1 and below is not None and path[1] not in below:
        return f"{path[0]!r} does not provide {path[1]!r}{suggestion(path[1], below)}"
    return None


def _is_wanted(field: FieldInfo) -> bool:
    return any(isinstance(mark, FromResults) for mark in field.metadata)


def _roots(value: JSONValue) -> set[str]:
    return set().union(*(found.expression.roots for found in find_references(value)))
