"""Whether the steps of a spec fit the installed actors and each other, before anything runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import assert_never

from pydantic import BaseModel, ValidationError

from agentic.core.actors import (
    FAILURE_CLASSES,
    Actor,
    ContentsOutput,
    ItemOutput,
    ItemsOutput,
    LinksOutput,
    PageOutput,
)
from agentic.core.http import InvalidUrlError
from agentic.core.http.errors import reason_in
from agentic.core.http.policy import secret_in
from agentic.core.http.urls import origin_of
from agentic.core.pipeline.errors import Fault
from agentic.core.pipeline.expressions.expressions import SECRETS, Expression, Path
from agentic.core.pipeline.expressions.references import ValuePath, expression_of, find_references
from agentic.core.pipeline.expressions.suggestions import unknown_word
from agentic.core.pipeline.policies.policies import ErrorRule, Fallback, is_status_class
from agentic.core.pipeline.spec.messages import plain_message, unknown_key_within
from agentic.core.pipeline.spec.spec import (
    ActorStep,
    ChooseStep,
    Config,
    CrawlStep,
    LoopStep,
    PageActor,
    PipelineSpec,
    PipelineStep,
    Step,
    unknown_actor,
)
from agentic.core.pipeline.spec.step_names import (
    PYTHON,
    can_replace,
    crawl_settings,
    outputs_of,
    page_actors,
    required_inputs,
    step_ids,
    why_unreachable,
)
from agentic.core.pipeline.spec.walking import actor_step_ids, actors_of, find_crawls, rerun_rules

Actors = Mapping[str, type[Actor]]
Known = dict[str, tuple[str, ...] | None]
"""Referable name -> the names below it, None if unknown."""

MAYBE = "?"
"""Key of :data:`Known` for names of things that could not be read."""

ANYTHING = "*"
"""Among those names: stands for all of them."""

ONLY_FOR_ACTORS = "secrets are allowed only in the config of an actor"

_CRAWL_OUTPUTS: Mapping[str, tuple[type[BaseModel], ...]] = {
    "fetch": (PageOutput,),
    "links": (LinksOutput,),
    "detail": (ItemOutput, ItemsOutput),
    "store": (ContentsOutput,),
}
_CRAWL_GIVES = {"fetch": "url", "links": "page", "detail": "page", "store": "page"}


def find_faults(spec: PipelineSpec, actors: Actors, maybe: Collection[str] = ()) -> list[Fault]:
    """Return every fault of a spec with a valid shape: unknown actors, wrong config, dangling references.

    Args:
        spec: The pipeline.
        actors: Name or alias -> actor.
        maybe: Names that results may have, for reasons outside the spec.
    """
    return [*_spec(spec, actors, (), tuple(maybe)), *_crawls(spec), *_proxy(spec)]


def store_fault(step: CrawlStep) -> str | None:
    """Return why a crawl cannot keep the content that its spec selects; None if it can."""
    if step.store.pages:
        return None
    if step.store.is_wanted:
        return "kept page content belongs to the page's row; remove pages: false"
    if step.detail is None and step.files is None:
        return "a crawl without page rows stores items only; set detail to extract items"
    return None


def _proxy(spec: PipelineSpec) -> Iterator[Fault]:
    message = "a proxy URL may contain a password; store it with `agentic secrets set` and refer to it here"
    if spec.http.proxy is not None and spec.http.proxy_secret is None:
        yield Fault(place=("http", "proxy"), message=message + " as ${secrets.NAME}")
    for index, proxy in enumerate(spec.http.proxies):
        if secret_in(proxy) is None:
            yield Fault(place=("http", "proxies", index), message=message + " as ${secrets.NAME}")


def _spec(spec: PipelineSpec, actors: Actors, place: ValuePath, maybe: tuple[str, ...]) -> Iterator[Fault]:
    below = None if "inputs" in maybe else tuple(spec.inputs)
    known: Known = {**dict.fromkeys(spec.inputs), "inputs": below, MAYBE: maybe}
    yield from _rules(spec.error_handling, actors, (*place, "error_handling"))
    yield from _steps(spec.steps, actors, known, (*place, "steps"))
    yield from _reruns(spec, place)


def _crawls(spec: PipelineSpec) -> Iterator[Fault]:
    found = list(find_crawls(spec.steps, ("steps",)))
    for place, in_loop in found:
        if in_loop:
            message = "a crawl cannot be in a loop; collect its start pages in the loop instead"
            yield Fault(place=place, message=message)
    for place, _ in found[1:]:
        yield Fault(place=place, message="a pipeline can have only one crawl step; use a second pipeline")


def _steps(steps: Sequence[Step], actors: Actors, known: Known, place: ValuePath) -> Iterator[Fault]:
    """Check steps in order; ``known`` grows by the results of each one."""
    ids = step_ids(steps)
    repeated = {name for name, count in Counter(ids).items() if count > 1}
    for index, (name, step) in enumerate(zip(ids, steps, strict=True)):
        here = (*place, index)
        if name in repeated:
            yield Fault(place=here, message=f"two steps have the name {name!r}; give one another id")
        yield from _rules(step.error_handling, actors, (*here, "error_handling"))
        yield from _fallbacks(step, actors, (*here, "error_handling"))
        if step.when is not None:
            yield from _expression(step.when, known, (*here, "when"))
        yield from _body(step, actors, known, here)
        _learn(known, step, name, actors)


def _body(step: Step, actors: Actors, known: Known, here: ValuePath) -> Iterator[Fault]:
    match step:
        case LoopStep():
            yield from _loop(step, actors, known, here)
        case CrawlStep():
            yield from _crawl(step, actors, known, here)
        case ChooseStep():
            yield from _steps(step.steps, actors, {**known}, (*here, "steps"))
            yield from _steps(step.otherwise, actors, {**known}, (*here, "otherwise"))
        case PipelineStep():
            yield from _pipeline(step, actors, known, here)
        case ActorStep():
            yield from _actor(step.actor, step.config, actors, known, here)
        case _:
            assert_never(step)


def _learn(known: Known, step: Step, name: str, actors: Actors) -> None:
    if not all(actor in actors for actor in actors_of(step)):
        known[MAYBE] = (*(known[MAYBE] or ()), ANYTHING)
        return
    given = outputs_of(step, actors)
    known.update(dict.fromkeys(given))
    known[step.save_as or name] = given


def _loop(step: LoopStep, actors: Actors, known: Known, place: ValuePath) -> Iterator[Fault]:
    yield from _expression(step.source, known, (*place, "source"))
    inner: Known = {**known, step.item_as: None}
    yield from _steps(step.loop_steps, actors, inner, (*place, "loop_steps"))
    yield from _expression(step.collect, inner, (*place, "collect"))


def _pipeline(step: PipelineStep, actors: Actors, known: Known, place: ValuePath) -> Iterator[Fault]:
    yield from _references(step.inputs, known, (*place, "inputs"), may_hide=False)
    if isinstance(step.pipeline, str):
        message = (
            f"pipeline {step.pipeline!r} is unknown here; give a file, a stored name, or the spec itself"
        )
        yield Fault(place=(*place, "pipeline"), message=message)
        return
    declared = step.pipeline.inputs
    for name in step.inputs:
        if name not in declared:
            yield Fault(place=(*place, "inputs", name), message=unknown_word("input", name, declared))
    for name, wanted in declared.items():
        if wanted.is_required and name not in step.inputs:
            message = f"pipeline {step.pipeline.name!r} needs the input {name!r}"
            yield Fault(place=(*place, "inputs"), message=message)
    yield from _spec(step.pipeline, actors, (*place, "pipeline"), known[MAYBE] or ())


def _reruns(spec: PipelineSpec, place: ValuePath) -> Iterator[Fault]:
    """Check that steps to run again exist, and need nothing but inputs and secrets."""
    known = dict(zip(step_ids(spec.steps), spec.steps, strict=True))
    for name, where in rerun_rules(spec):
        here = (*place, *where)
        step = known.get(name)
        if not isinstance(step, ActorStep):
            yield Fault(place=here, message=unknown_word("step", name, actor_step_ids(spec)))
            continue
        roots = {root for found in find_references(step.config) for root in found.expression.roots}
        if roots - {"inputs", SECRETS}:
            wanted = ", ".join(sorted(roots - {"inputs", SECRETS}))
            message = f"step {name!r} cannot be rerun: it needs {wanted}, but may use inputs and secrets only"
            yield Fault(place=here, message=message)


def _expression(text: str, known: Known, place: ValuePath) -> Iterator[Fault]:
    expression = expression_of(text)
    if SECRETS in expression.roots:
        yield Fault(place=place, message=ONLY_FOR_ACTORS)
    elif fault := _fault_of(expression, known):
        yield Fault(place=place, message=fault)


def _fault_of(expression: Expression, known: Known) -> str | None:
    if expression.fault:
        return f"{expression.text!r} {expression.fault}"
    if SECRETS in expression.roots:  # whether such a secret exists is known when it runs
        return None
    paths = [expression.path] if expression.path else [(root,) for root in sorted(expression.roots)]
    return next((reason for path in paths if (reason := _why_unreachable(path, known))), None)


def _why_unreachable(path: Path, known: Known) -> str | None:
    if path[0] not in known and _may_be(path[0], known):
        return None
    return why_unreachable(path, {name: below for name, below in known.items() if name != MAYBE})


def _may_be(name: str, known: Known) -> bool:
    maybe = known[MAYBE] or ()
    return name in maybe or ANYTHING in maybe


def _crawl(step: CrawlStep, actors: Actors, known: Known, place: ValuePath) -> Iterator[Fault]:
    for keys, page_actor in page_actors(step):
        key = str(keys[0])
        if key == "files":
            yield from _files(page_actor, actors, (*place, key))
            continue
        is_function = keys[-1] == PYTHON
        given: Known = {**known, _CRAWL_GIVES[key]: None, **({"item": None} if is_function else {})}
        at = (*place, *keys[:-1]) if is_function else (*place, *keys)
        yield from _actor(page_actor.actor, page_actor.config, actors, given, at)
        actor = actors.get(page_actor.actor)
        wanted = _CRAWL_OUTPUTS[key]
        if actor is not None and not issubclass(actor.Output, wanted):
            named = " or ".join(map(_fields, wanted))
            message = f"a crawl needs an actor here that returns {named}; {actor.name!r} does not"
            yield Fault(place=(*at, PYTHON if is_function else "actor"), message=message)
        elif actor is not None and (fault := _fields_fault(key, actor, page_actor.config)):
            yield Fault(place=(*place, *keys, "config"), message=fault)
    if fault := store_fault(step):
        yield Fault(place=(*place, "store"), message=fault)
    for at, url in _listed(step.start, (*place, "start")):
        yield from _address(url, at)
    yield from _references(crawl_settings(step), known, place, may_hide=False)


def _listed(value: object, place: ValuePath) -> Iterator[tuple[ValuePath, object]]:
    if isinstance(value, (list, tuple)):
        yield from (((*place, index), one) for index, one in enumerate(value))
    else:
        yield place, value


def _address(url: object, place: ValuePath) -> Iterator[Fault]:
    """Check a URL without references: a run would fail on it before its first request."""
    if not isinstance(url, str) or any(find_references(url)):
        return
    try:
        origin_of(url)
    except InvalidUrlError as exc:
        yield Fault(place=place, message=f"{exc.url!r}: {reason_in(str(exc), exc.url)}")


def _files(page_actor: PageActor, actors: Actors, place: ValuePath) -> Iterator[Fault]:
    """Check one of the two actors that share the keys of ``files``."""
    actor = actors.get(page_actor.actor)
    if actor is None:
        yield Fault(place=place, message=unknown_actor(page_actor.actor, actors))
    else:
        yield from _config(actor.Input, page_actor.config, place)


def _fields_fault(key: str, actor: type[Actor], config: Config) -> str | None:
    """Return why ``fields`` of items are not stored here, or are missing where items must be stored."""
    if not issubclass(actor.Output, ItemsOutput) or "fields" not in actor.Input.model_fields:
        return None
    # An actor that always returns items needs no fields for that.
    if key == "detail" and "fields" not in config and not actor.Output.model_fields["items"].is_required():
        return f"set 'fields', so that {actor.name!r} returns items"
    if key == "links" and "fields" in config:
        return f"links are followed, not stored; move 'fields' to detail, with actor: {actor.name}"
    return None


def _actor(name: str, config: Config, actors: Actors, known: Known, place: ValuePath) -> Iterator[Fault]:
    yield from _references(config, known, (*place, "config"))
    actor = actors.get(name)
    if actor is None:
        yield Fault(place=(*place, "actor"), message=unknown_actor(name, actors))
        return
    yield from _config(actor.Input, config, (*place, "config"))
    if "network" in actor.capabilities and "url" in actor.Input.model_fields:
        for at, url in _listed(config.get("url"), (*place, "config", "url")):
            yield from _address(url, at)
    for names in required_inputs(actor.Input, config):
        if not any(word in known or _may_be(word, known) for word in names):
            message = f"actor {name!r} needs {names[0]!r}, but no earlier step provides it; set it here"
            yield Fault(place=(*place, "config"), message=message)


def _config(model: type[BaseModel], config: Config, place: ValuePath) -> Iterator[Fault]:
    """Check the literal parts of a config; the values of references are only known when it runs."""
    open_keys = {str(found.place[0]) for found in find_references(config) if found.place}
    try:
        model.model_validate(config)
    except ValidationError as exc:
        for error in exc.errors():
            loc = error["loc"]
            if error["type"] == "extra_forbidden" and (len(loc) == 1 or loc[0] not in open_keys):
                yield Fault(place=(*place, *loc), message=unknown_key_within(loc, model))
            elif loc and loc[0] not in open_keys and not (error["type"] == "missing" and len(loc) == 1):
                yield Fault(place=(*place, *loc), message=plain_message(error))


def _references(value: Config, known: Known, place: ValuePath, *, may_hide: bool = True) -> Iterator[Fault]:
    for found in find_references(value):
        if SECRETS in found.expression.roots and not may_hide:  # it would be stored
            yield Fault(place=(*place, *found.place), message=ONLY_FOR_ACTORS)
            continue
        if fault := _fault_of(found.expression, known):
            text = "" if found.expression.fault else f"${{{found.expression.text}}}: "
            yield Fault(place=(*place, *found.place), message=f"{text}{fault}")


def _rules(rules: Mapping[str, ErrorRule], actors: Actors, place: ValuePath) -> Iterator[Fault]:
    for key, rule in rules.items():
        if key != "*" and key not in FAILURE_CLASSES and not is_status_class(key):
            classes = FAILURE_CLASSES.union(*(actor.failure_classes for actor in actors.values()))
            if key not in classes:
                shown = {*classes, "http_404", "http_5xx", "*"}
                yield Fault(place=(*place, key), message=unknown_word("failure class", key, shown))
        if rule.retry_with_actor is not None:
            yield from _fallback(rule.retry_with_actor, actors, (*place, key, "retry_with_actor"))


def _fallback(fallback: Fallback, actors: Actors, place: ValuePath) -> Iterator[Fault]:
    actor = actors.get(fallback.actor)
    if actor is None:
        yield Fault(place=place, message=unknown_actor(fallback.actor, actors))
        return
    yield from _config(actor.Input, fallback.config, (*place, "config"))
    for found in find_references(fallback.config):
        message = "the config of a fallback takes plain values only; the rest is the step's own input"
        yield Fault(place=(*place, "config", *found.place), message=message)


def _fallbacks(step: Step, actors: Actors, place: ValuePath) -> Iterator[Fault]:
    """Check that the fallbacks of a step can replace its actor; fallbacks of a loop are for its steps."""
    if not isinstance(step, (ActorStep, CrawlStep)) or not all(name in actors for name in actors_of(step)):
        return
    wanted = ("page",) if isinstance(step, CrawlStep) else outputs_of(step, actors)
    for key, rule in step.error_handling.items():
        fallback = actors.get(rule.retry_with_actor.actor) if rule.retry_with_actor else None
        if fallback is not None and not can_replace(fallback, wanted):
            message = f"{fallback.name!r} cannot be a fallback here: the step returns {', '.join(wanted)}"
            yield Fault(place=(*place, key, "retry_with_actor"), message=message)


def _fields(model: type[BaseModel]) -> str:
    return " and ".join(name for name, field in model.model_fields.items() if field.is_required())
