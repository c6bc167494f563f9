"""The settings of agents of the platform ``firecrawl``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Literal, Self

from pydantic import (
    BaseModel,
    Field,
    PositiveInt,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from agentic.core.actors import Actor
from agentic.core.hooks import get_registry
from agentic.core.http import HttpPolicy
from agentic.core.http.api import first_fault
from agentic.core.http.policy import SECRET
from agentic.core.pipeline import ErrorRule, PipelineSpec
from agentic.core.pipeline.policies.policies import ErrorHandling
from agentic.core.pipeline.spec.check import find_faults
from agentic.core.types import JSONValue
from agentic.plugins.firecrawl.actors.crawl import FirecrawlCrawlActor
from agentic.plugins.firecrawl.actors.map import FirecrawlMapActor
from agentic.plugins.firecrawl.actors.options import PageInput
from agentic.plugins.firecrawl.actors.rules import CrawlRules, MapRules, SearchRules
from agentic.plugins.firecrawl.actors.scrape import FirecrawlScrapeActor
from agentic.plugins.firecrawl.actors.search import FirecrawlSearchActor

Mode = Literal["scrape", "crawl", "map", "search"]
Config = dict[str, JSONValue]

MAX_URLS = 1_000
"""Limit of pages per run, because a run has one result."""

MAX_ROWS = 5_000
PARALLEL = 4
OWN = frozenset({"mode", "url", "urls", "query", "limit", "http", "error_handling"})
"""Settings of the agent, not of its actor."""

ACTORS: Mapping[Mode, type[Actor]] = MappingProxyType(
    {
        "scrape": FirecrawlScrapeActor,
        "crawl": FirecrawlCrawlActor,
        "map": FirecrawlMapActor,
        "search": FirecrawlSearchActor,
    }
)
RECORD = (
    "found.{url: page.final_url, status: page.status, scraped_at: page.fetched_at, metadata: metadata, "
    "markdown: markdown, html: html, links: links, item: item}"
)
"""Kept fields of each page of mode scrape: without its raw markup, for a thousand pages in one result."""

LIMITS: Mapping[Mode, str] = MappingProxyType({"crawl": "max_pages", "map": "limit", "search": "limit"})
"""The actor's name for ``limit``, by mode."""

ALWAYS: Mapping[Mode, Config] = MappingProxyType(
    {"crawl": {"as_records": True, "keep_looking": True}, "search": {"as_records": True}}
)
"""Fixed inputs of the actor of a mode: its rows need all fields, and a crawl costs credits."""


class FirecrawlAgentSettings(CrawlRules, MapRules, SearchRules, PageInput):
    """The config of a Firecrawl agent.

    ``{"url": "https://shop.example/"}`` fetches a page, ``{"mode": "search", "query": "lamps"}`` searches.
    """

    mode: Mode = Field(
        default="scrape", description="Mode: scrape pages, crawl a site, map its URLs, or search the web."
    )
    url: str | None = Field(default=None, min_length=1, description="URL of the page, or start of the site.")
    urls: tuple[str, ...] = Field(
        default=(), max_length=MAX_URLS, description="URLs of pages, in mode scrape."
    )
    query: str | None = Field(
        default=None, min_length=1, max_length=500, description="Search query of mode search."
    )
    limit: PositiveInt | None = Field(
        default=None,
        le=MAX_ROWS,
        description="Pages of a crawl (100), URLs of a map (5,000), results of each source of a search (10).",
    )
    wait_for: str | None = Field(
        default=None, description="In mode scrape: CSS selector that the page must match."
    )
    http: HttpPolicy = Field(
        default_factory=HttpPolicy,
        description="Only timeout_s and max_wait_s apply; the service does the rest.",
    )
    error_handling: ErrorHandling = Field(
        default_factory=lambda: {"rate_limited": ErrorRule(retry_count=5, backoff_s=2)},
        description="Rules for failures, as in a pipeline. Retries may cost credits again.",
    )

    @property
    def pages(self) -> list[str]:
        """The pages of mode scrape, each once."""
        return list(dict.fromkeys([*filter(None, [self.url]), *self.urls]))

    @cached_property
    def spec(self) -> PipelineSpec:
        """The pipeline: its result is one item, or a record for each page in mode scrape.

        It does not contain a secret, only its name.
        """
        actor: Config = {"id": "found", "actor": ACTORS[self.mode].name, "config": self._config()}
        steps: list[JSONValue] = [actor, {"actor": "aggregate", "config": {"items": ["${found}"]}}]
        if self.mode == "scrape":
            steps = [
                {
                    "type": "loop",
                    "source": "urls",
                    "item_as": "url",
                    "loop_steps": [actor],
                    "collect": RECORD,
                    "max_parallel": self.max_parallel or PARALLEL,
                }
            ]
        return PipelineSpec.model_validate(
            {
                "name": f"firecrawl_{self.mode}",
                "inputs": {"urls": {"type": "list"}} if self.mode == "scrape" else {},
                "steps": steps,
                "error_handling": self.error_handling,
                "http": self.http,
            }
        )

    def _config(self) -> Config:
        """Return the inputs of the actor, without the page from the loop."""
        known = _inputs(ACTORS[self.mode]) - OWN
        told: Config = self.model_dump(mode="json", by_alias=True, include=known, exclude_unset=True)
        if self.api_key is not None:
            told["api_key"] = self.api_key.get_secret_value()
        if self.mode in ("crawl", "map"):
            told["url"] = self.url
        if self.mode == "search":
            told["keywords"] = self.query
        if self.limit is not None and self.mode in LIMITS:
            told[LIMITS[self.mode]] = self.limit
        return {**told, **ALWAYS.get(self.mode, {})}

    @field_validator("api_key")
    @classmethod
    def _is_reference(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None and SECRET.fullmatch(key.get_secret_value()) is None:
            raise ValueError("name a stored secret, as ${secrets.NAME}; see `agentic secrets set`")
        return key

    @model_validator(mode="after")
    def _says_what_to_do(self) -> Self:
        if self.mode == "search" and (self.query is None or self.pages):
            raise ValueError("mode search needs a query, and neither url nor urls")
        if self.mode != "search" and self.query is not None:
            raise ValueError("a query is for mode search; use search in mode map")
        if self.mode == "scrape" and not self.pages:
            raise ValueError("mode scrape needs url or urls")
        if self.mode in ("crawl", "map") and (self.url is None or self.urls):
            raise ValueError(f"mode {self.mode} needs one url")
        return self

    @model_validator(mode="after")
    def _is_for_this_mode(self) -> Self:
        loop = {"max_parallel"} if self.mode == "scrape" else {"limit"}
        others = sorted(self.model_fields_set - (OWN - {"limit"}) - _inputs(ACTORS[self.mode]) - loop)
        if others:
            raise ValueError(f"mode {self.mode} does not take {', '.join(others)}")
        for url in self.pages[:1] or [""]:
            self._check_input({"url": url} if self.mode == "scrape" else {})
        return self

    @model_validator(mode="after")
    def _can_run(self) -> Self:
        """Check parts that need the installed actors: failure classes and fallback actors."""
        if faults := find_faults(self.spec, get_registry().actors):
            raise ValueError("; ".join(map(str, faults)))
        return self

    def _check_input(self, page: Config) -> None:
        try:
            ACTORS[self.mode].Input.model_validate({**self._config(), **page})
        except ValidationError as exc:
            raise ValueError(first_fault(exc)) from None


def _inputs(actor: type[Actor]) -> set[str]:
    model: type[BaseModel] = actor.Input
    return set(model.model_fields)
