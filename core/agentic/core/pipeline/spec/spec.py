"""A pipeline as data: inputs, steps and what to do about failures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    NonNegativeInt,
    PlainSerializer,
    PositiveFloat,
    PositiveInt,
    Tag,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import CoreSchema

from agentic.core.actors import Actor
from agentic.core.actors.own_code import own_name
from agentic.core.hooks.offers import clash_over, is_own_code
from agentic.core.http import HttpPolicy
from agentic.core.pipeline.expressions.expressions import Lookup
from agentic.core.pipeline.expressions.references import is_reference, resolve
from agentic.core.pipeline.expressions.suggestions import unknown_word
from agentic.core.pipeline.policies.policies import ErrorHandling
from agentic.core.pipeline.spec.amounts import Amount
from agentic.core.pipeline.spec.inputs import InputSpec
from agentic.core.types import JSONValue

RESERVED_NAMES = frozenset({"inputs", "secrets"})


def unknown_actor(name: str, actors: Mapping[str, type[Actor]]) -> str:
    """Return the message for an unknown actor: the plugins that claim it, or the nearest and all names."""
    if clash := clash_over(name, actors):
        return str(clash)
    if name in STEP_TYPES:
        return f"{name!r} is a kind of step, not an actor: write `type: {name}` instead of `actor: {name}`"
    return unknown_word("actor", name, actors, sorted({actor.name for actor in actors.values()}))


def _known_actor(name: str, info: ValidationInfo) -> str:
    context = info.context or {}
    actors: Mapping[str, type[Actor]] | None = context.get("actors")
    folder: Path | None = context.get("folder")
    if folder is not None and is_own_code(name):
        name = own_name(name, folder, is_trusted=bool(context.get("runs_code")))
    if actors is None:
        return name
    if name not in actors:
        raise ValueError(unknown_actor(name, actors))
    if is_own_code(name):
        actors[name]  # it may not be usable
    return name


def _free_name(name: str) -> str:
    if name in RESERVED_NAMES:
        raise ValueError(f"{name!r} is reserved in references; choose another name")
    return name


def _value_or_reference(value: object, check: ValidatorFunctionWrapHandler, info: ValidationInfo) -> object:
    is_resolved = bool((info.context or {}).get("resolved"))
    return value if is_reference(value) and not is_resolved else check(value)


def _as_it_is(value: object) -> object:
    return value


def _one_or_more(value: object) -> object:
    return (value,) if isinstance(value, str) else value


class _OneInSchema:
    """Says in the JSON Schema that one text may stand for a list of them."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        return {"anyOf": [handler(core), {"type": "string"}]}


class _OrReferenceInSchema:
    """Says in the JSON Schema that a reference may stand for the value."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        return {"anyOf": [handler(core), REFERENCE_SCHEMA]}


REFERENCE_SCHEMA = {"type": "string", "pattern": r"\$\{.+\}"}

OR_REFERENCE = WrapValidator(_value_or_reference)
"""Accepts a reference instead of the value; :func:`resolved_crawl` then validates its result."""

IN_SCHEMA = _OrReferenceInSchema()

ONE_IN_SCHEMA = _OneInSchema()

AS_IT_IS = PlainSerializer(_as_it_is)
"""Writes the value or the reference, without a type."""

ActorName = Annotated[str, Field(min_length=1), AfterValidator(_known_actor)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$", max_length=64), AfterValidator(_free_name)]
PipelineName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$", max_length=100)]
Count = Annotated[PositiveInt, OR_REFERENCE, IN_SCHEMA, AS_IT_IS]
Depth = Annotated[NonNegativeInt, OR_REFERENCE, IN_SCHEMA, AS_IT_IS]
Seconds = Annotated[PositiveFloat, OR_REFERENCE, IN_SCHEMA, AS_IT_IS]
Texts = Annotated[
    tuple[str, ...], BeforeValidator(_one_or_more), ONE_IN_SCHEMA, OR_REFERENCE, IN_SCHEMA, AS_IT_IS
]
"""Texts; one alone needs no list."""
Config = dict[str, JSONValue]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Step(_Part):
    id: Name | None = Field(
        default=None, description="Name of the step and its results. Default: from its actor."
    )
    save_as: Name | None = Field(default=None, description="Name of the results. Default: the id.")
    error_handling: ErrorHandling = Field(default_factory=dict, description="Rules that override outer ones.")


class _WhenStep(_Step):
    when: str | None = Field(
        default=None, min_length=1, description="Expression; the step is skipped if it is not true."
    )


def _spec_or_name(value: object) -> str:
    return "name" if isinstance(value, str) else "spec"


class ActorStep(_WhenStep):
    """Run one actor."""

    type: Literal["actor"] = "actor"
    actor: ActorName
    config: Config = Field(default_factory=dict, description="Input of the actor; may contain references.")
    timeout_s: PositiveFloat | None = Field(default=None, description="Timeout of each attempt.")


class LoopStep(_WhenStep):
    """Run ``loop_steps`` once for each item of an earlier result, some at a time.

    Gives ``items``, what ``collect`` leads to for each item, and ``failed``, how many items failed.
    """

    type: Literal["loop"]
    source: str = Field(description="Dotted path to a list: list_item_urls, or ${categories.list_item_urls}.")
    loop_steps: tuple[Step, ...] = Field(min_length=1)
    item_as: Name = Field(default="url", description="Name of the item in the loop's steps.")
    collect: str = Field(default="item", description="Dotted path to the result of each item.")
    max_items: PositiveInt = Field(default=1_000, description="Further items are skipped and counted.")
    max_parallel: PositiveInt = 16


class ChooseStep(_Step):
    """Run ``steps`` where ``when`` is true, else ``otherwise``; both stand for one step in the row."""

    type: Literal["choose"]
    when: str = Field(min_length=1, description="Expression; null, 0, false and empty values are not true.")
    steps: tuple[Step, ...] = Field(min_length=1)
    otherwise: tuple[Step, ...] = ()


class PipelineStep(_WhenStep):
    """Run a whole pipeline as a step; it sees nothing but its inputs.

    Gives ``items`` and ``counts`` as the pipeline does. Politeness and limits of requests are those of the
    pipeline around it.
    """

    type: Literal["pipeline"]
    pipeline: Annotated[
        Annotated[PipelineSpec, Tag("spec")] | Annotated[str, Tag("name")], Discriminator(_spec_or_name)
    ] = Field(description="A spec, or the name or file of one.")
    inputs: Config = Field(default_factory=dict, description="Its inputs; may contain references.")


class PageActor(_Part):
    """An actor that a crawl calls for each page; the page is given to it."""

    actor: ActorName
    config: Config = Field(default_factory=dict)


class FollowRules(_Part):
    """Which links a crawl follows.

    Patterns are globs in which ``*`` also stands for slashes. One that begins with ``/`` is held against the
    path and query of a URL, any other against the whole URL.
    """

    include: Texts = Field(default=("*",), description="At least one must match.")
    exclude: Texts = Field(default=(), description="None may match.")
    same_host: bool = Field(default=True, description="Stay on the hosts and ports of the start pages.")
    obey_nofollow: bool = Field(default=True, description="Skip links marked nofollow.")


class DetailRules(_Part):
    """Which pages describe an item or several, and how they are read."""

    match: Texts = Field(description="Globs as for follow; one must match.")
    actor: ActorName = Field(
        default="extract_detail", description="Extracts the item of a page; extract_list extracts several."
    )
    config: Config = Field(default_factory=dict)
    python: ActorName | None = Field(
        default=None,
        description="Your own function for each item, ./shop.py:clean; it takes item, perhaps page, and "
        "returns the item, or None to leave it out.",
    )
    item_key: str | None = Field(
        default=None, description="Field that identifies these items. Default: that of the pipeline."
    )


def _rule_or_rules(value: object) -> str:
    return "rules" if isinstance(value, (list, tuple)) else "rule"


Details = Annotated[
    Annotated[DetailRules, Tag("rule")]
    | Annotated[tuple[DetailRules, ...], Field(min_length=1), Tag("rules")],
    Discriminator(_rule_or_rules),
]


class StoreRules(_Part):
    """What a crawl keeps of each page: unasked a row and the item on it, as all else takes time and room."""

    pages: bool = Field(
        default=True, description="Store a row for the page itself. false: only the items of detail."
    )
    links: bool = Field(default=False, description="All links of the page, followed or not.")
    text: bool = Field(default=False, description="Readable text of the page.")
    markdown: bool = Field(default=False, description="Readable text as Markdown.")
    html: bool = Field(default=False, description="Raw body of the page.")

    @property
    def is_wanted(self) -> bool:
        """Whether anything is kept besides the row."""
        return self.links or self.text or self.markdown or self.html


class FileRules(_Part):
    """Which files of its pages a crawl downloads; each becomes a row."""

    select: str = Field(
        min_length=1, description="CSS selector of the elements that name files: img, a[href$='.pdf' i]."
    )
    attr: str | None = Field(
        default=None,
        min_length=1,
        description="Attribute with the URL. Default: src, srcset, href and so on.",
    )
    match: Texts = Field(default=("*",), description="Globs as for follow: the pages that have such files.")
    types: Texts = Field(
        default=(), description="Media types to accept, such as image/*; others are not stored."
    )
    max_bytes: Count = Field(default=100_000_000, description="Largest file.")
    max_per_page: Count = Field(default=100, description="Largest number of files of a page.")
    folder: str = Field(
        default="downloads",
        min_length=1,
        description="Folder below the project's files, or a URL of an object store: s3://bucket/images.",
    )
    timeout_s: Seconds = Field(default=600.0, description="Timeout for each file.")


class AutoRepair(_Part):
    """When a repair is applied without asking."""

    min_score: float = Field(
        default=0.9, gt=0, le=1, description="Least probability of the new place of each field."
    )
    min_pages: PositiveInt = Field(
        default=3, description="Pages of the new layout, besides those it was made from, that prove it."
    )


class AutoRepairPolicy(_Part):
    """Apply sure repairs, and propose the others."""

    auto: AutoRepair


def _repair_policy(value: object) -> object:
    return {"auto": {}} if value == "auto" else value


class CrawlStep(_WhenStep):
    """Fetch pages and follow their links until none is left; pages and items go straight to the tables.

    The frontier of URLs is kept in the store, so a crawl that was killed goes on where it was. Gives
    ``done``, ``failed`` and ``left``: pages fetched, given up, and known but not fetched for the limits.
    """

    type: Literal["crawl"]
    start: str | tuple[str, ...] = Field(description="URL, or a list of them.")
    follow: FollowRules = FollowRules()
    fetch: PageActor = PageActor(actor="fetch")
    links: PageActor = PageActor(actor="extract_list", config={"item_selector": "a[href], area[href]"})
    detail: Details | None = Field(default=None, description="A rule, or several: the first match extracts.")
    store: StoreRules = StoreRules()
    files: FileRules | None = Field(default=None, description="Files to download; none by default.")
    sitemaps: bool | tuple[str, ...] = Field(
        default=False,
        description="Also start at the pages of these sitemaps; true: those in robots.txt.",
    )
    max_pages: Count = 10_000
    max_depth: Depth = Field(default=100, description="Maximum number of links from the start.")
    max_parallel: Count = 16
    slices: Count = Field(
        default=1,
        description="Slices processed in parallel, each by any worker; they share max_parallel.",
    )
    slice_pages: Count = Field(default=1_000, description="Pages between checkpoints.")
    slice_seconds: Seconds = Field(default=30.0, description="Time between checkpoints.")
    commit_pages: Count = Field(default=50, description="Maximum number of pages written at once.")
    commit_seconds: Seconds = Field(default=1.0, description="Age at which finished pages are written.")
    on_drift: Literal["hold", "continue", "stop"] = Field(
        default="hold",
        description="When fields of its items change on page after page: hold takes no further pages of that "
        "kind and asks, stop leaves them, continue reads them all the same.",
    )
    hold_seconds: Seconds = Field(
        default=604_800.0, description="Time to wait for the answer; without one, the held pages are left."
    )
    repair: Annotated[Literal["never", "propose"] | AutoRepairPolicy, BeforeValidator(_repair_policy)] = (
        Field(
            default="propose",
            description="When pages are held because fields changed: propose looks for their new places and "
            "asks, auto also applies sure ones (min_score, min_pages), never only asks.",
        )
    )

    @model_validator(mode="after")
    def _repairs_held_pages(self, info: ValidationInfo) -> Self:
        is_written = "repair" in self.model_fields_set and not (info.context or {}).get("resolved")
        if is_written and self.repair != "never" and self.on_drift != "hold":
            raise ValueError(f"repair needs on_drift: hold, not {self.on_drift}; remove one of them")
        return self

    @property
    def details(self) -> tuple[DetailRules, ...]:
        """The rules of ``detail``, however many."""
        if self.detail is None:
            return ()
        return self.detail if isinstance(self.detail, tuple) else (self.detail,)


def _step_type(step: object) -> object:
    if isinstance(step, Mapping):
        return step.get("type", "actor")
    return getattr(step, "type", None)


Step = Annotated[
    Annotated[ActorStep, Tag("actor")]
    | Annotated[LoopStep, Tag("loop")]
    | Annotated[CrawlStep, Tag("crawl")]
    | Annotated[ChooseStep, Tag("choose")]
    | Annotated[PipelineStep, Tag("pipeline")],
    Discriminator(_step_type),
]
"""One step, selected by ``type``; without one it runs an actor."""

STEP_TYPES: Mapping[str, type[BaseModel]] = {
    "actor": ActorStep,
    "choose": ChooseStep,
    "crawl": CrawlStep,
    "loop": LoopStep,
    "pipeline": PipelineStep,
}


class Limits(_Part):
    """What makes a run of the pipeline failed, or partial.

    Numbers, or shares as ``5%``: of pages, of items, or of rows, whichever is looked at.
    """

    max_seconds: PositiveFloat | None = Field(default=None, description="Time limit of the whole run.")
    max_failed: Amount | None = Field(
        default=None,
        description="Limit of failed steps, loop items and crawl pages; above it the run failed. A number "
        "ends the run at once, a share (5%) at the end of the loop or crawl.",
    )
    partial_above: Amount = Field(
        default="5%",
        description="Limit of failed or rejected pages, or items and rows; above it the run is partial.",
    )
    min_items: NonNegativeInt | None = Field(
        default=None,
        description="Minimum number of items; below it the run failed. Unset: a run without items failed "
        "if a selector matched nothing.",
    )


class PipelineSpec(_Part):
    """A whole pipeline: pure data, to be stored, compared and run again."""

    schema_version: Literal[1] = 1
    name: PipelineName = "pipeline"
    description: str = ""
    inputs: dict[Name, InputSpec] = Field(default_factory=dict)
    steps: tuple[Step, ...] = Field(min_length=1)
    error_handling: ErrorHandling = Field(default_factory=dict)
    limits: Limits = Limits()
    http: HttpPolicy = Field(default_factory=HttpPolicy, description="HTTP policy of every request.")
    item_key: str = Field(default="url", description="Field that identifies an item within this pipeline.")


def resolved_crawl(step: CrawlStep, lookup: Lookup) -> CrawlStep:
    """Return ``step`` with every reference replaced by its value.

    Raises:
        ReferenceFailedError: A reference leads nowhere.
        ValidationError: A value does not fit its place.
    """
    data = resolve(step.model_dump(mode="json"), lookup)
    return CrawlStep.model_validate(data, context={"resolved": True})


for _model in (LoopStep, ChooseStep, PipelineStep):
    _model.model_rebuild()
