"""What to fetch, and how: the input of the actor."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, model_validator

from agentic.core.actors import FromResults
from agentic.core.browser import BrowserStep
from agentic.core.http.urls import Param, with_params
from agentic.core.types import JSONValue
from agentic.plugins.web.reading.selectors import Selector

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class FetchInput(BaseModel):
    """What to fetch, and how."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    unchecked_fields: ClassVar[frozenset[str]] = frozenset({"url"})
    """Fields on which no validator depends: a crawl checks the others once, not for each page."""

    url: str
    mode: Literal["http", "browser", "auto"] = Field(
        default="http",
        description="auto: over HTTP, or with a browser if scripts write the page or a wall blocks it; the "
        "choice is remembered.",
    )
    use_playwright: bool | None = Field(default=None, description="true is short for mode: browser.")
    wait_for: Selector | None = Field(
        default=None,
        description="CSS selector that the page must match; a browser waits for it. Otherwise "
        "selector_missing.",
    )
    method: Method = "GET"
    params: dict[str, Param | tuple[Param, ...]] | None = Field(
        default=None, description="Query parameters to add to the URL."
    )
    body: str | None = Field(default=None, description="Raw body, in UTF-8.")
    json_body: JSONValue = Field(default=None, alias="json", description="JSON body.")
    form: dict[str, Param | tuple[Param, ...]] | None = Field(
        default=None, description="Fields of a form, sent as a POST."
    )
    headers: dict[str, str] = Field(
        default_factory=dict, description="Headers of HTTP requests; a browser sends its own."
    )
    steps: tuple[BrowserStep, ...] = Field(
        default=(),
        description="Browser actions before the page is read: fill, click, press, scroll.",
    )
    follow_refresh: bool = Field(
        default=True,
        description="Follow a refresh within 15 seconds like a redirect; a crawl does it itself.",
    )
    timeout_s: PositiveFloat | None = Field(default=None, description="Timeout, instead of the policy's.")
    session: Annotated[str | None, FromResults()] = Field(
        default=None, description="Name of a login session."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        bodies = [body for body in (self.body, self.json_body, self.form) if body is not None]
        if self.way == "http" and not (self.use_playwright or self.steps):
            is_get = self.sent_by == "GET"
            if len(bodies) > 1 or (bodies and is_get):
                raise ValueError(
                    "a request has one of body, json and form, and a method other than GET, e.g. POST"
                )
            return self
        if self.use_playwright is False and self.mode != "http":
            raise ValueError(f"mode {self.mode!r} and use_playwright: false contradict each other")
        if self.method != "GET" or bodies:
            raise ValueError("a browser supports GET only; use mode: http, or steps that fill in a form")
        if self.way == "http":
            raise ValueError("steps are for a browser; set mode: browser or auto")
        return self

    @property
    def way(self) -> Literal["http", "browser", "auto"]:
        """How to fetch."""
        return "browser" if self.use_playwright else self.mode

    @property
    def sent_by(self) -> Method:
        """The method of the request: a form is a POST unless another one is given."""
        return "POST" if self.form is not None and "method" not in self.model_fields_set else self.method

    @property
    def address(self) -> str:
        """The URL with ``params``."""
        return with_params(self.url, self.params) if self.params else self.url
