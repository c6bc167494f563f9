"""Specs of agents from files, text and data; all faults are reported together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError

from agentic.core.agents.errors import AgentError, ToolDefinitionError
from agentic.core.agents.specs.models import option_faults
from agentic.core.agents.specs.spec import (
    REDUCERS,
    AgentSpec,
    AgentToolSpec,
    ModelChoice,
    SummaryReducer,
    chosen,
)
from agentic.core.agents.specs.tools import make_tool, with_approval
from agentic.core.agents.specs.toolsets import McpToolSpec, toolset_faults
from agentic.core.agents.structured import OutputSchema
from agentic.core.agents.tools.tool import Tool
from agentic.core.errors import AgenticError
from agentic.core.pipeline.errors import Fault, SpecError
from agentic.core.pipeline.expressions.suggestions import unknown_word
from agentic.core.pipeline.spec.messages import plain_message, unknown_key, unknown_key_within
from agentic.core.pipeline.spec.reader import SpecDocument, given_document, read_text

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Place = tuple[str | int, ...]


class AgentSpecError(AgentError, ValueError):
    """An agent cannot be built of its data; ``faults`` holds every reason.

    Args:
        source: The file, or the name of the agent.
        faults: At least one.
    """

    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        many = f" {len(faults)} faults:" + "".join(f"\n  - {fault}" for fault in faults)
        super().__init__(f"agent {source} is invalid:{many if len(faults) > 1 else f' {faults[0]}'}")
        self.source = source
        self.faults = tuple(faults)


def load_agent_spec(path: Path | str, *, runs_code: bool = False) -> AgentSpec:
    """Read an agent from a YAML or JSON file; one without a name is named after the file.

    Args:
        path: The file. Paths in it are relative to it.
        runs_code: Use the Python files, scripts and recordings that it names, wherever they are. Only for a
            file that the user of this process has named: without it, only files below
            ``AGENTIC_MODULE_PATH`` are used.

    Raises:
        AgentSpecError: It cannot be read or used; every fault is listed.
    """
    found = load_document(Path(path), AgentSpec, runs_code=runs_code)
    return found if found.name else found.model_copy(update={"name": usable_name(Path(path).stem)})


def parse_agent_spec(text: str, *, source: str = "text", folder: Path | None = None) -> AgentSpec:
    """Read an agent from YAML or JSON text.

    Args:
        text: The spec.
        source: Names the text in errors.
        folder: Folder of the files that it names.

    Raises:
        AgentSpecError: It cannot be used; every fault is listed with its line and column.
    """
    return _read(_document(text, source), AgentSpec, source, {"folder": folder})


def load_document(path: Path, kind: type[AgentSpec], *, runs_code: bool) -> AgentSpec:
    """Read a file as a kind of spec, without a default for its name; see :func:`load_agent_spec`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not text"
        message = f"it cannot be read ({reason}); check the path"
        raise AgentSpecError(str(path), [Fault(message=message)]) from None
    context = {"folder": path.parent, "runs_code": runs_code}
    return _read(_document(text, str(path)), kind, str(path), context)


def find_faults(spec: AgentSpec) -> list[Fault]:
    """Return the faults that only the installation shows: of models, tools and the output schema."""
    return [*_faults(spec, ())]


def usable_name(name: str) -> str:
    """Return a text as the name of an agent."""
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "-" for char in name)
    return kept[:64] or "agent"


def _document(text: str, source: str) -> SpecDocument:
    if not text.strip():
        raise AgentSpecError(source, [Fault(message="it is empty; an agent needs at least 'model'")])
    try:
        return read_text(text, source)
    except SpecError as exc:
        raise AgentSpecError(source, exc.faults) from None


def _read(
    document: SpecDocument, kind: type[AgentSpec], source: str, context: Mapping[str, object]
) -> AgentSpec:
    data = document.data
    if not isinstance(data, Mapping):
        message = f"it is a {type(data).__name__}; an agent is a mapping with 'model'"
        raise AgentSpecError(source, [Fault(message=message)])
    given_document(data, source)
    try:
        spec = kind.model_validate(data, context=dict(context))
    except ValidationError as exc:
        raise AgentSpecError(source, _located(document, spec_faults(exc, data, kind))) from None
    if faults := find_faults(spec):
        raise AgentSpecError(source, _located(document, faults))
    return spec


def _located(document: SpecDocument, faults: Sequence[Fault]) -> list[Fault]:
    located = map(document.locate, dict.fromkeys(faults))
    return sorted(located, key=lambda fault: (fault.line or 0, fault.column or 0))


def spec_faults(exc: ValidationError, data: Mapping[str, object], kind: type[AgentSpec]) -> list[Fault]:
    """Return the faults of a spec, with places as in its text."""
    found = []
    for error in exc.errors():
        place = _place(error["loc"], data)
        found.append(Fault(place=place, message=_message(error, place, data, kind)))
    return found


def _message(error: ErrorDetails, place: Place, data: Mapping[str, object], kind: type[AgentSpec]) -> str:
    match error["type"]:
        case "extra_forbidden":
            owner = _owner(place[:-1], data)
            return unknown_key_within(place, kind) if owner is None else unknown_key(place[-1], owner)
        case "missing":
            return f"{place[-1]!r} is missing"
        case "union_tag_invalid":
            return unknown_word("kind", str(error.get("ctx", {})["tag"]), REDUCERS)
        case "union_tag_not_found":
            return f"'kind' is missing (known: {', '.join(sorted(REDUCERS))})"
        case "value_error":
            return str(error.get("ctx", {})["error"])
        case _:
            message, value = plain_message(error), error["input"]
            # A mapping may hold a secret, as options do.
            is_shown = "options" not in place and not isinstance(value, (dict, list, str))
            return f"{message} (it is {value!r:.80})" if is_shown and repr(value) not in message else message


def _owner(place: Place, data: object) -> type[BaseModel] | None:
    """Return the model of a mapping that a union hides from :func:`unknown_key_within`."""
    match place:
        case (*_, "reducer"):
            found = _value_at(data, place)
            return REDUCERS.get(str(found.get("kind"))) if isinstance(found, dict) else None
        case (*_, "tools", int(), "agent"):
            return AgentSpec
        case (*_, "tools", int()):
            found = _value_at(data, place)
            return McpToolSpec if isinstance(found, dict) and "mcp" in found else AgentToolSpec
        case (*_, "fallback", int()) | (*_, "model"):
            return ModelChoice
        case _:
            return None


def _value_at(data: object, place: Place) -> object:
    for part in place:
        if isinstance(data, dict):
            data = data.get(part)
        elif isinstance(data, list) and isinstance(part, int):
            data = data[part]
    return data


def _place(loc: Place, data: object) -> Place:
    """Leave out pydantic's words for variants: each other part is a key or an index of the data."""
    found: list[str | int] = []
    value = data
    for index, part in enumerate(loc):
        is_last = index == len(loc) - 1
        if isinstance(value, dict) and (part in value or is_last):
            found.append(part)
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            found.append(part)
            value = value[part]
    return tuple(found)


def _faults(spec: AgentSpec, place: Place) -> Iterator[Fault]:
    for at, choice in _choices(spec):
        for below, message in option_faults(choice):
            where = (*at, *below) if not at or isinstance(at[-1], int) else at
            yield Fault(place=(*place, *where), message=message)
    made: list[Tool] = []
    for index, entry in enumerate(spec.tools):
        here = (*place, "tools", index)
        if isinstance(entry, AgentToolSpec):
            yield from _faults(entry.agent, (*here, "agent"))
            continue
        if isinstance(entry, McpToolSpec):
            for at, message in toolset_faults(entry):
                yield Fault(place=(*here, *at), message=message)
            continue
        try:
            made.append(make_tool(entry))
        except (AgenticError, ValueError) as exc:
            yield Fault(place=here, message=str(exc))
    yield from _approval_faults(spec, made, place)
    if spec.output is not None:
        try:
            OutputSchema.of(spec.output)
        except (AgenticError, ValueError) as exc:
            yield Fault(place=(*place, "output"), message=str(exc))


def _choices(spec: AgentSpec) -> Iterator[tuple[Place, ModelChoice]]:
    yield (), spec.models[0]
    for index, one in enumerate(spec.fallback):
        yield ("fallback", index), chosen(one)
    if isinstance(spec.reducer, SummaryReducer) and spec.reducer.model is not None:
        yield ("reducer", "model"), chosen(spec.reducer.model)


def _approval_faults(spec: AgentSpec, made: Sequence[Tool], place: Place) -> Iterator[Fault]:
    below = [entry for entry in spec.tools if isinstance(entry, AgentToolSpec)]
    servers = sum(1 for entry in spec.tools if isinstance(entry, McpToolSpec))
    if len(made) + len(below) + servers < len(spec.tools):
        return  # a tool that cannot be made may be the one
    names = [entry.name or entry.agent.name or "agent" for entry in below]
    seen: set[str] = set()
    for name in (*(tool.name for tool in made), *names):
        if name in seen:
            yield Fault(place=(*place, "tools"), message=f"two tools are called {name!r}; rename one")
        seen.add(name)
    for name, wanted in spec.approval.items():
        if name in names:
            continue
        try:
            with_approval(made, {name: wanted})
        except (ToolDefinitionError, ValueError) as exc:
            yield Fault(place=(*place, "approval", name), message=str(exc))
