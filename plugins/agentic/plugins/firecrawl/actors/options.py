"""How Firecrawl fetches a page, and which formats it returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat

from agentic.core.types import JSONValue
from agentic.plugins.firecrawl.actors.extracted import JsonSchema
from agentic.plugins.firecrawl.settings import ServiceInput

Format = Literal["markdown", "html", "links"]
Options = dict[str, JSONValue]


class PageInput(ServiceInput):
    """How pages are fetched; what is left out is as we are used to, and not as the client has it."""

    formats: tuple[Format, ...] = Field(
        default=("markdown",), description="Formats of the page; html is cleaned up."
    )
    only_main_content: bool = Field(
        default=True, description="Leave headers, navigation and footers out of these formats."
    )
    json_schema: JsonSchema | None = Field(
        default=None,
        alias="schema",
        description="Extract these fields with a model; costs more credits.",
    )
    prompt: str | None = Field(
        default=None,
        min_length=1,
        description="Prompt for the model; without fields, the model chooses them.",
    )
    headers: dict[str, str] = Field(
        default_factory=dict, description="Request headers; the service sees them."
    )
    timeout_s: PositiveFloat | None = Field(
        default=None, description="Timeout per page at the service, instead of the policy's."
    )
    wait_s: NonNegativeFloat = Field(
        default=0, description="Wait this long for scripts before the page is read."
    )
    max_age_s: NonNegativeFloat = Field(
        default=0, description="Maximum age of a cached copy; 0 always fetches the page."
    )
    proxy: Literal["basic", "enhanced", "auto"] | None = Field(
        default=None, description="Kind of proxy; enhanced ones cost more credits."
    )

    def options(self, timeout_s: float, formats: Sequence[JSONValue]) -> Options:
        """Return the keywords of the client's ``ScrapeOptions``.

        Options that we do not have keep the service's defaults. The client would change three if any other
        option is set: skip certificate checks, accept copies up to four hours old, and store copies.

        Args:
            timeout_s: For a page.
            formats: In the service's terms.
        """
        wanted: list[JSONValue] = [*formats, *([self._extraction()] if self.wants_item else [])]
        options: Options = {
            "formats": wanted,
            "headers": dict(self.headers) or None,
            "only_main_content": self.only_main_content,
            "timeout": milliseconds(timeout_s),
            "wait_for": milliseconds(self.wait_s) or None,
            "proxy": self.proxy,
            "max_age": milliseconds(self.max_age_s),
            # Content behind our own headers must not become a cached copy for others.
            "store_in_cache": self.max_age_s > 0 and not self.headers,
            "skip_tls_verification": False,
        }
        return {name: value for name, value in options.items() if value is not None}

    @property
    def wants_item(self) -> bool:
        """Whether a model reads the page."""
        return self.json_schema is not None or self.prompt is not None

    def _extraction(self) -> Options:
        asked: Options = {"type": "json", "schema": self.json_schema, "prompt": self.prompt}
        return {name: value for name, value in asked.items() if value is not None}


class ListingInput(PageInput):
    """How pages are fetched of which there is a list."""

    as_records: bool = Field(
        default=False,
        description="Return each page as a record: facts from the service in `metadata`, extracted fields in "
        "`item`.",
    )


def milliseconds(seconds: float) -> int:
    """Return seconds in the service's unit, rounded up."""
    return -int(-seconds * 1000 // 1)
