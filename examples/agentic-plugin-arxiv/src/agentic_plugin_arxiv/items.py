"""What is asked of arXiv, and what it says, typed."""

from __future__ import annotations

from typing import Literal

from agentic.core.types import JSONValue
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt

Answer = dict[str, JSONValue]
"""A paper as it was read. Whether it is one shows when it is stored: a bad one costs no other."""


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Search(_Message):
    """What a run reads."""

    query: str
    sort: Literal["submittedDate", "lastUpdatedDate", "relevance"]
    limit: PositiveInt
    per_page: PositiveInt


class Slice(_Message):
    """Some of the results of a search.

    Attributes:
        search: The search.
        start: Position of the first of them.
        count: How many.
        papers: They themselves, once they are read.
    """

    search: Search
    start: NonNegativeInt = 0
    count: PositiveInt
    papers: tuple[Answer, ...] | None = None


class Page(_Message):
    """An answer. ``total``: of all results, as arXiv counts them."""

    total: NonNegativeInt
    papers: tuple[Answer, ...]


class Found(_Message):
    """What was read, in arXiv's order. ``warnings`` holds a sentence for what was not."""

    papers: tuple[Answer, ...] = ()
    warnings: tuple[str, ...] = ()


class Paper(BaseModel):
    """A paper, in the version that is the newest now."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1)
    version: PositiveInt
    title: str = Field(min_length=1)
    summary: str | None = None
    authors: list[str] = Field(default_factory=list)
    primary_category: str | None = None
    categories: list[str] = Field(default_factory=list)
    published: AwareDatetime | None = None
    updated: AwareDatetime | None = None
    doi: str | None = None
    journal_ref: str | None = None
    comment: str | None = None
    pdf_url: str | None = None
    raw: dict[str, JSONValue]
