"""The project file, which ``agentic projects export`` writes and ``agentic projects import`` reads.

The file never holds a secret: it has their names, and masks secrets in an agent's config.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Self

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    StringConstraints,
    ValidationError,
    model_validator,
)

from agentic.core.errors import AgenticError
from agentic.core.pipeline import Fault, SpecError
from agentic.core.pipeline.repairs.proposals import SpecChange
from agentic.core.pipeline.spec.reader import SpecDocument, read_text
from agentic.core.pipeline.spec.spec import PipelineName
from agentic.core.types import JSONValue
from agentic.core.wrappers.wrapper import MAX_BYTES
from agentic.executors.agents.redaction import MASK
from agentic.mappers import CatchUp, Overlap
from agentic.mappers.tables.notifications import Channel, NotificationEvent

HEAD = """\
# A project, written by `agentic projects export`; `agentic projects import FILE` reads it.
# Secret values are not included: store those named here with `agentic secrets set NAME`.
"""
MASKED = f"""\
# {MASK} stands for a secret in a config, a pipeline or a target; an import keeps the existing value.
"""

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]*$")]


class ProjectFileError(AgenticError, ValueError):
    """The file of a project cannot be used; none of it was applied.

    Args:
        source: The file.
        faults: At least one, with line and column; none shows a value.
    """

    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        many = f" {len(faults)} faults:" + "".join(f"\n  - {fault}" for fault in faults)
        super().__init__(f"{source} cannot be imported:{many if len(faults) > 1 else f' {faults[0]}'}")
        self.source = source
        self.faults = tuple(faults)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class ProjectPart(_Part):
    """The project itself; omitted values are None."""

    name: Name
    description: str | None = None
    max_running: PositiveInt | None = None


class AgentPart(_Part):
    """An agent; omitted goals are None, and an omitted ``disabled`` changes nothing."""

    name: Name
    platform: Name
    goals: str | None = None
    config: dict[str, JSONValue] = Field(default_factory=dict)
    disabled: bool | None = None


class SchedulePart(_Part):
    """A schedule; ``every`` is an interval like ``15m``."""

    name: Name
    agent: Name
    cron: str | None = None
    every: str | None = None
    timezone: str = "UTC"
    jitter_s: int = Field(default=0, ge=0, le=86_400)
    catch_up: CatchUp = CatchUp.LAST
    overlap: Overlap = Overlap.SKIP
    paused: bool = False

    @model_validator(mode="after")
    def _has_times(self) -> Self:
        if (self.cron is None) is (self.every is None):
            raise ValueError("a schedule has either cron or every")
        return self


class NotificationPart(_Part):
    """A notification rule; a masked target keeps its stored value."""

    name: Name
    events: tuple[NotificationEvent, ...] = Field(min_length=1)
    channel: Channel
    target: str
    agent: Name | None = None
    filter: str | None = None
    table: Name | None = None
    smtp: str | None = None
    signing_secret: str | None = None
    digest: str | None = None
    per_hour: PositiveInt = 20
    private: bool = False


class WrapperPart(_Part):
    """How a field of a pipeline looks; ``data`` is JSON of :func:`agentic.core.wrappers.encode`."""

    pipeline: PipelineName
    key: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
    data: Annotated[str, StringConstraints(max_length=MAX_BYTES)]


class RepairPart(_Part):
    """The changes of the accepted repairs over the pipeline of an agent."""

    agent: Name
    changes: tuple[SpecChange, ...]


class ProjectFile(_Part):
    """The whole file."""

    project: ProjectPart
    secrets: tuple[str, ...] = ()
    agents: tuple[AgentPart, ...] = ()
    pipelines: tuple[dict[str, JSONValue], ...] = ()
    schedules: tuple[SchedulePart, ...] = ()
    notifications: tuple[NotificationPart, ...] = ()
    wrappers: tuple[WrapperPart, ...] = ()
    repairs: tuple[RepairPart, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A parsed file, with the positions of its parts in the text."""

    content: ProjectFile
    document: SpecDocument
    source: str

    def error(self, faults: Sequence[Fault]) -> ProjectFileError:
        """Return the error of a file with these faults, in the order of their lines."""
        return _error(self.source, self.document, faults)


def write_project(content: Mapping[str, JSONValue]) -> str:
    """Return a project as YAML; see :class:`ProjectFile`."""
    text: str = yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True, width=100)
    return HEAD + (MASKED if MASK in text else "") + text


def read_project(text: str, source: str) -> ReadFile:
    """Read the file of a project, without checking whether its agents and pipelines can be used.

    Args:
        text: YAML or JSON.
        source: Its name in errors.

    Raises:
        ProjectFileError: It is something else, or a name occurs twice.
    """
    if not any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines()):
        raise ProjectFileError(source, [Fault(message="it is empty; a project needs at least its name")])
    try:
        document = read_text(text, source)
    except SpecError as exc:
        raise ProjectFileError(source, exc.faults) from None
    try:
        content = ProjectFile.model_validate(document.data)
    except ValidationError as exc:
        errors = exc.errors(include_url=False, include_input=False)
        faults = [Fault(message=error["msg"], place=error["loc"]) for error in errors]
        raise _error(source, document, faults) from None
    if twice := [*_misnamed(content)]:
        raise _error(source, document, twice)
    return ReadFile(content, document, source)


def _misnamed(content: ProjectFile) -> Iterator[Fault]:
    rows: Mapping[str, Sequence[str]] = {
        "agents": [agent.name for agent in content.agents],
        "pipelines": [str(spec.get("name", "")) for spec in content.pipelines],
        "schedules": [schedule.name for schedule in content.schedules],
        "notifications": [rule.name for rule in content.notifications],
    }
    for index, name in enumerate(rows["pipelines"]):
        if not name:
            yield Fault(message="a pipeline needs a name here", place=("pipelines", index))
    for kind, names in rows.items():
        for name, count in Counter(names).items():
            if name and count > 1:
                place = (kind, len(names) - 1 - names[::-1].index(name))
                yield Fault(message=f"{name!r} exists twice; remove or rename one", place=place)


def _error(source: str, document: SpecDocument, faults: Sequence[Fault]) -> ProjectFileError:
    located = map(document.locate, faults)
    return ProjectFileError(source, sorted(located, key=lambda fault: (fault.line or 0, fault.column or 0)))
