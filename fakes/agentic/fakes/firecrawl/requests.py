"""What the Firecrawl v2 API is asked; options the fake has no use for (``proxy``, ``maxAge``) are let by."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasGenerator, BaseModel, ConfigDict, Field, JsonValue, PositiveInt, field_validator
from pydantic.alias_generators import to_camel

FORMATS = ("markdown", "html", "rawHtml", "links", "json")
JSON_CREDITS = 5


class _Asked(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="ignore", alias_generator=AliasGenerator(validation_alias=to_camel)
    )


class Format(_Asked):
    """One wanted form of a page; ``schema`` only goes with ``json``."""

    type: str
    wanted: dict[str, JsonValue] = Field(default_factory=dict, validation_alias="schema")

    @field_validator("type")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in FORMATS:
            raise ValueError(f"this local Firecrawl knows {', '.join(FORMATS)}")
        return value


class ScrapeOptions(_Asked):
    """How a page is to be fetched and converted; ``timeout`` is in milliseconds."""

    formats: tuple[Format, ...] = (Format(type="markdown"),)
    only_main_content: bool = True
    timeout: PositiveInt = 30_000
    headers: dict[str, str] = Field(default_factory=dict)

    @field_validator("formats", mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        """Turn ``"links"`` into ``{"type": "links"}``."""
        if not isinstance(value, list | tuple):
            return value
        return [{"type": one} if isinstance(one, str) else one for one in value]

    @property
    def credits_count(self) -> int:
        """What a page costs."""
        return JSON_CREDITS if any(one.type == "json" for one in self.formats) else 1


class ScrapeRequest(ScrapeOptions):
    """``POST /v2/scrape``."""

    url: str


class BatchRequest(ScrapeOptions):
    """``POST /v2/batch/scrape``."""

    urls: tuple[str, ...] = Field(min_length=1)
    ignore_invalid_urls: bool = Field(default=False, validation_alias="ignoreInvalidURLs")


class CrawlRequest(_Asked):
    """``POST /v2/crawl``; paths are regular expressions that have to match somewhere in a path."""

    url: str
    limit: PositiveInt = 10_000
    include_paths: tuple[str, ...] = ()
    exclude_paths: tuple[str, ...] = ()
    max_discovery_depth: int | None = None
    sitemap: Literal["include", "skip", "only"] = "include"
    ignore_query_parameters: bool = False
    crawl_entire_domain: bool = False
    ignore_robots_txt: bool = False
    regex_on_full_url: bool = Field(default=False, validation_alias="regexOnFullURL")
    scrape_options: ScrapeOptions = ScrapeOptions()


class MapRequest(_Asked):
    """``POST /v2/map``."""

    url: str
    search: str = ""
    limit: PositiveInt = 5_000
    sitemap: Literal["include", "skip", "only"] = "include"
    ignore_query_parameters: bool = False


class SearchRequest(_Asked):
    """``POST /v2/search``; ``sources`` are names or ``{"type": name}``."""

    query: str = Field(min_length=1)
    limit: PositiveInt = 5
    sources: tuple[str | dict[str, JsonValue], ...] = ("web",)
    scrape_options: ScrapeOptions | None = None
