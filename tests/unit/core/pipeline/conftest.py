"""Pipelines over actors made in the test, and a crawl over a site and a frontier in memory."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Protocol

import pytest
from pydantic import BaseModel, ConfigDict, SecretStr, create_model

from agentic.core.actors import (
    Actor,
    ActorContext,
    ActorError,
    AggregateActor,
    ItemOutput,
    LinksOutput,
    Page,
    PageOutput,
    UnknownSecretError,
)
from agentic.core.audit import Decision
from agentic.core.graph import Workflow
from agentic.core.http import Fetcher, HttpPolicy, HttpRequest, HttpResponse
from agentic.core.http.exits.uses import ProxyUse, added_uses
from agentic.core.pipeline import (
    CountedWarning,
    CrawlBatch,
    Exchange,
    FrontierCounts,
    FrontierEntry,
    FrontierLink,
    PipelineResult,
    PipelineServices,
    SliceId,
    compile_pipeline,
    parse_spec,
)
from agentic.core.pipeline.crawl.page_items import items_of
from agentic.core.pipeline.drift.incidents import Incident
from agentic.core.pipeline.drift.looking import UsualLook
from agentic.core.pipeline.steps.state import FailureTally
from agentic.core.types import JSONValue, SaveCounts

STRICT = ConfigDict(extra="forbid", frozen=True)


class NoNetwork:
    """A transport for tests that have none."""

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        raise AssertionError(f"{request.url} was asked for")


@dataclass
class MemoryFrontier:
    """A frontier in memory; ``commits`` holds the batches as they came.

    A page of ``stored`` is read from there, by its key; ``is_offline`` makes a crawl fetch no other.
    """

    links: dict[str, FrontierLink] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    holders: dict[str, SliceId] = field(default_factory=dict)
    claims: Counter[str] = field(default_factory=Counter)
    commits: list[CrawlBatch] = field(default_factory=list)
    stored: dict[str, Page | None] = field(default_factory=dict)
    is_offline: bool = False

    async def seed(self, urls: Sequence[FrontierLink]) -> int:
        unseen = [link for link in urls if link.url_key not in self.links]
        self.links.update({link.url_key: link for link in unseen})
        self.states.update({link.url_key: "new" for link in unseen})
        return len(unseen)

    async def begin(self, slice_id: SliceId) -> FrontierCounts:
        for key, holder in list(self.holders.items()):
            if holder == slice_id or holder.superstep != slice_id.superstep:
                self._change([key], "new")
        return self._counts()

    async def exchange(
        self,
        slice_id: SliceId,
        batch: CrawlBatch,
        limit: int,
        *,
        without: Collection[str] = (),
    ) -> Exchange:
        if batch != CrawlBatch():
            self.commits.append(batch)
        await self.seed(batch.links)
        self._change([page.url_key for page in batch.done], "done")
        self._change([page.url_key for page in batch.failed], "failed")
        sites = tuple(without)
        new = [key for key, state in self.states.items() if state == "new"]
        new = [key for key in new if key in self.stored or not self.is_offline]
        new = [key for key in new if not self.links[key].url.startswith(sites)][:limit]
        self._change(new, "taken")
        self.holders.update(dict.fromkeys(new, slice_id))
        found = [self.links[key] for key in new]
        entries = [
            FrontierEntry(
                url=f.url,
                url_key=f.url_key,
                depth=f.depth,
                attempts=self.claims[f.url_key],
                page_key=f.url_key if f.url_key in self.stored else None,
            )
            for f in found
        ]
        self.claims.update(new)
        saved = SaveCounts(inserted=len(batch.done))
        return Exchange(saved=saved, entries=entries, counts=self._counts())

    async def give_back(self, slice_id: SliceId, entries: Sequence[FrontierEntry]) -> None:
        keys = [e.url_key for e in entries if self.holders.get(e.url_key) == slice_id]
        self._change(keys, "new")
        self.claims.subtract(keys)

    def _change(self, keys: Sequence[str], state: str) -> None:
        for key in keys:
            self.states[key] = state
            self.holders.pop(key, None)

    def _counts(self) -> FrontierCounts:
        states = list(self.states.values())
        done = states.count("done")
        return FrontierCounts(
            total=len(states),
            done=done,
            failed=states.count("failed"),
            items=sum(len(items_of(page)) for batch in self.commits for page in batch.done),
            beyond=len({key for batch in self.commits for key in batch.beyond if key not in self.links}),
            outside=sum(batch.outside for batch in self.commits),
            moves=tuple(move for batch in self.commits for move in batch.moves),
            saved=SaveCounts(inserted=done),
            to_reread=len(self.stored),
            reread=sum(self.states[key] in {"done", "failed"} for key in self.stored),
            is_offline=self.is_offline,
        )

    async def stored_page(self, key: str) -> Page | None:
        return self.stored[key]

    async def failures(self, examples: int) -> Sequence[FailureTally]:
        found: dict[str, list[str]] = {}
        for page in (page for batch in self.commits for page in batch.failed):
            found.setdefault(page.failure_class, []).append(page.message)
        return [
            FailureTally(failure_class=name, count=len(said), examples=tuple(said[:examples]))
            for name, said in sorted(found.items())
        ]

    async def warnings(self) -> Sequence[CountedWarning]:
        found = [warning for batch in self.commits for page in batch.done for warning in page.warnings]
        return [
            CountedWarning(
                subject=subject,
                count=sum(warning.subject == subject for warning in found),
                example=next(warning.sentence for warning in found if warning.subject == subject),
            )
            for subject in dict.fromkeys(warning.subject for warning in found)
        ]

    async def proxies(self) -> Sequence[ProxyUse]:
        return added_uses((), (use for batch in self.commits for use in batch.proxies))

    async def looks(self) -> Mapping[str, UsualLook]:
        return {}

    async def incidents(self) -> Sequence[Incident]:
        return ()

    async def release(self, *, is_accepted: bool, repaired: Collection[str] = ()) -> None:
        raise NotImplementedError

    def urls(self, state: str) -> list[str]:
        return [self.links[key].url for key, found in self.states.items() if found == state]


class SiteActor(Actor[Any, PageOutput]):
    """Fetches from ``pages``: URL -> text, or the error to raise, or a function that says either."""

    name = "fetch"
    version = "1"
    aliases = ("FetchDetail",)
    Input = create_model("FetchInput", __config__=STRICT, url=(str, ...))
    Output = PageOutput
    pages: ClassVar[dict[str, object]] = {}
    fetched: ClassVar[list[str]] = []

    async def run(self, ctx: ActorContext, given: Any, /) -> PageOutput:
        self.fetched.append(given.url)
        answer = self.pages.get(given.url, ActorError("not there", failure_class="http_404", status=404))
        if callable(answer):
            answer = answer()
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        page = Page(
            url=given.url,
            final_url=given.url,
            status=200,
            content_type="text/html",
            text=str(answer),
            content_hash=str(answer),
            fetched_at=datetime(2026, 1, 1, tzinfo=UTC),
        )
        return PageOutput(page=page)


class PageInput(BaseModel):
    """A page and nothing else of interest."""

    model_config = STRICT

    page: Page
    item_selector: str = ""


class WordsActor(Actor[PageInput, LinksOutput]):
    """Takes every word of the page for a link."""

    name = "extract_list"
    version = "1"
    Input = PageInput
    Output = LinksOutput

    async def run(self, ctx: ActorContext, given: PageInput, /) -> LinksOutput:
        return LinksOutput(list_item_urls=tuple(given.page.text.split()), title=given.page.url[-1])


class TextActor(Actor[PageInput, ItemOutput]):
    """Makes an item of the page's text; an empty page has none."""

    name = "extract_detail"
    version = "1"
    Input = PageInput
    Output = ItemOutput

    async def run(self, ctx: ActorContext, given: PageInput, /) -> ItemOutput:
        if not given.page.text:
            raise ActorError("the page is empty", failure_class="selector_missing")
        return ItemOutput(item={"url": given.page.final_url, "text": given.page.text})


class MakeActor(Protocol):
    """Makes an actor of a function: its parameters are the input, what it returns the output."""

    def __call__(
        self, name: str, function: Callable[..., object], *, gives: str, aliases: Iterable[str] = ()
    ) -> type[Actor]: ...


@pytest.fixture
def frontier() -> MemoryFrontier:
    return MemoryFrontier()


@pytest.fixture
def site() -> Iterable[type[SiteActor]]:
    yield SiteActor
    SiteActor.pages.clear()
    SiteActor.fetched.clear()


@pytest.fixture
def actors(site: type[SiteActor]) -> dict[str, type[Actor]]:
    known: list[type[Actor]] = [site, WordsActor, TextActor, AggregateActor]
    return {name: actor for actor in known for name in (actor.name, *actor.aliases)}


@pytest.fixture
def make_actor(actors: dict[str, type[Actor]]) -> MakeActor:
    def make(
        name: str, function: Callable[..., object], *, gives: str, aliases: Iterable[str] = ()
    ) -> type[Actor]:
        fields: dict[str, Any] = {
            p.name: (JSONValue, ... if p.default is p.empty else p.default)
            for p in inspect.signature(function).parameters.values()
        }

        async def run(self: Actor, ctx: ActorContext, given: BaseModel, /) -> BaseModel:
            value = function(**dict(given))
            return self.Output(**{gives: await value if inspect.isawaitable(value) else value})

        members = {
            "name": name,
            "version": "1",
            "aliases": tuple(aliases),
            "Input": create_model("Input", __config__=STRICT, **fields),
            "Output": create_model("Output", **{gives: (JSONValue, ...)}),  # type: ignore[call-overload] # by name
            "run": run,
        }
        made: type[Actor] = type(name, (Actor,), members)
        actors.update(dict.fromkeys((name, *aliases), made))
        return made

    return make


Compile = Callable[[str], Workflow]
Run = Callable[..., Any]


class DictSecrets:
    """Secrets of a dictionary."""

    def __init__(self, values: dict[str, str]) -> None:
        self.values = values

    async def secret(self, name: str) -> SecretStr:
        if name not in self.values:
            raise UnknownSecretError(name)
        return SecretStr(self.values[name])


@pytest.fixture
def secrets() -> dict[str, str]:
    return {}


@pytest.fixture
def decisions() -> list[Decision]:
    """What was decided."""
    return []


@pytest.fixture
def compiled(
    actors: Mapping[str, type[Actor]],
    frontier: MemoryFrontier,
    secrets: dict[str, str],
    decisions: list[Decision],
) -> Compile:
    """Compile a spec from YAML."""

    async def decide(decision: Decision) -> None:
        decisions.append(decision)

    def compiled(text: str) -> Workflow:
        context = ActorContext(
            http=Fetcher(HttpPolicy(), NoNetwork()), secrets=DictSecrets(secrets), decide=decide
        )
        services = PipelineServices(frontier=lambda _: frontier, context=lambda _: context)
        return compile_pipeline(parse_spec(text, actors), actors, services)

    return compiled


@pytest.fixture
def run(compiled: Compile) -> Run:
    """Run a spec from YAML with inputs; return its result."""

    async def run(text: str, /, **inputs: JSONValue) -> PipelineResult:
        done = await compiled(text).run(inputs)
        return PipelineResult.model_validate(done.output(dict))

    return run
