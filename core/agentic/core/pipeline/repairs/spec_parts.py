"""The parts of a spec, besides its fields, that a change of the site can break."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from agentic.core.pipeline.expressions.references import ValuePath, expression_of, is_reference
from agentic.core.types import JSONValue

Config = Mapping[str, JSONValue]
Reader = Literal["list", "record", "crawl", "json"]
_FETCHING = frozenset({"fetch", "browse", "browser_fetch"})
_ROWS = ("steps", "loop_steps", "otherwise")


@dataclass(slots=True)
class StartPart:
    """An address at which a pipeline starts.

    Attributes:
        subject: Id of the step.
        place: Of the address in the spec: in a step, or the default of an input.
        url: The address.
        readers: The kinds of steps that read its page, one for each step.
    """

    subject: str
    place: ValuePath
    url: str
    readers: list[Reader] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StepPart:
    """A step that reads a start page.

    Attributes:
        subject: Id of the step.
        place: Of its config in the spec.
        config: Its config.
        start: The page.
    """

    subject: str
    place: ValuePath
    config: Config
    start: StartPart


@dataclass(frozen=True, slots=True)
class LoginPart:
    """A login by a form that the spec describes.

    Attributes:
        subject: Id of the step.
        place: Of the login in the spec.
        config: The login; its values are secret.
    """

    subject: str
    place: ValuePath
    config: Config = field(repr=False)


@dataclass(frozen=True, slots=True)
class CrawlPart:
    """A crawl whose globs say which pages it reads.

    Attributes:
        subject: Id of the step.
        place: Of the step in the spec.
        config: The step.
        starts: Its start pages.
    """

    subject: str
    place: ValuePath
    config: Config
    starts: tuple[StartPart, ...]


@dataclass(slots=True)
class SpecParts:
    """The parts of a spec, in the order of its steps."""

    starts: list[StartPart] = field(default_factory=list)
    lists: list[StepPart] = field(default_factory=list)
    json: list[StepPart] = field(default_factory=list)
    logins: list[LoginPart] = field(default_factory=list)
    crawls: list[CrawlPart] = field(default_factory=list)

    @property
    def has_any(self) -> bool:
        """Whether there is a part that can be looked at."""
        return bool(self.logins or any(start.readers for start in self.starts))


def parts_of(spec: JSONValue, name_of: Callable[[str], str] = str) -> SpecParts:
    """Return the parts of a spec that a change of the site can break.

    Args:
        spec: The data that a person wrote.
        name_of: Returns the name of the actor that an alias stands for.
    """
    parts = SpecParts()
    data = spec if isinstance(spec, dict) else {}
    _add(parts, data.get("steps"), ("steps",), data.get("inputs"), name_of)
    return parts


def _add(
    parts: SpecParts, steps: JSONValue, place: ValuePath, inputs: JSONValue, name_of: Callable[[str], str]
) -> None:
    latest: StartPart | None = None
    for at, step in enumerate(steps if isinstance(steps, list) else []):
        if not isinstance(step, dict):
            continue
        here = (*place, at)
        actor = name_of(str(step["actor"])) if "actor" in step else ""
        subject = str(step.get("id") or actor or step.get("type", ""))
        config = cast(Config, step.get("config") or {})
        if actor in _FETCHING or (actor == "json" and config.get("url") is not None):
            latest = _start(subject, config.get("url"), (*here, "config", "url"), inputs)
            parts.starts += [latest] if latest is not None else []
        if latest is not None:
            _add_reader(parts, actor, StepPart(subject, (*here, "config"), config, latest))
        login = config.get("login") if actor == "authenticate" else None
        if isinstance(login, dict) and login.get("strategy") == "form":
            parts.logins.append(LoginPart(subject, (*here, "config", "login"), login))
        if step.get("type") == "crawl":
            crawl = CrawlPart(subject, here, step, tuple(_starts(subject, step, here, inputs)))
            parts.starts += crawl.starts
            parts.crawls.append(crawl)
        for key in _ROWS:
            _add(parts, step.get(key), (*here, key), inputs, name_of)


def _add_reader(parts: SpecParts, actor: str, part: StepPart) -> None:
    """Add a step that reads the latest page."""
    match actor:
        case "extract_list":
            part.start.readers.append("list")
            parts.lists.append(part)
        case "json":
            part.start.readers.append("json")
            parts.json.append(part)
        case "extract_detail":
            part.start.readers.append("record")


def _starts(subject: str, step: Config, place: ValuePath, inputs: JSONValue) -> Iterator[StartPart]:
    given = step.get("start")
    values = given if isinstance(given, list) else [given]
    for at, value in enumerate(values):
        where = (*place, "start", at) if isinstance(given, list) else (*place, "start")
        start = _start(subject, value, where, inputs)
        if start is not None:
            start.readers.append("crawl")
            yield start


def _start(subject: str, value: JSONValue, place: ValuePath, inputs: JSONValue) -> StartPart | None:
    """Return a start page; None where the address is known in a run only."""
    if not isinstance(value, str):
        return None
    if not is_reference(value):
        return StartPart(subject, place, value) if value.startswith(("http://", "https://")) else None
    name = _input_in(value)
    known = inputs.get(name) if isinstance(inputs, dict) and name is not None else None
    default = known.get("default") if isinstance(known, dict) else None
    if name is None or not isinstance(default, str):
        return None
    return _start(subject, default, ("inputs", name, "default"), {})


def _input_in(reference: str) -> str | None:
    """Return the name of the input that a reference takes as a whole; None if it is another reference."""
    match expression_of(reference).path:
        case ("inputs", name):
            return name
        case _:
            return None


def single_places(rules: JSONValue, key: str, unless: Collection[str]) -> dict[str, str]:
    """Return the fields whose rule is one place.

    Args:
        rules: The rules of fields, as in the spec.
        key: The key of the place in a rule that is a mapping; a rule that is a text is the place itself.
        unless: Keys of rules that are more than a place.

    Returns:
        Field -> place.
    """
    found: dict[str, str] = {}
    for name, rule in rules.items() if isinstance(rules, dict) else ():
        place = rule
        if isinstance(rule, dict):
            place = None if any(rule.get(other) for other in unless) else rule.get(key)
        if isinstance(place, str):
            found[name] = place
    return found
