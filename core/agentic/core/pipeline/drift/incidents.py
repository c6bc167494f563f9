"""Incidents: why a crawl holds pages of a kind, in facts and in words."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict


class DriftAnswer(StrEnum):
    """The answer to the question about held pages.

    ``RESUME`` fetches them, and those that raised the alarm again: something was repaired. ``ACCEPT`` fetches
    them as they are, and learns that this is healthy. ``STOP`` leaves them.
    """

    __wire_name__ = "agentic.core.pipeline.drift.incidents.DriftAnswer"

    RESUME = "resume"
    ACCEPT = "accept"
    STOP = "stop"


class RepairAnswer(StrEnum):
    """The answer to the question about held pages and their repair.

    ``REPAIR`` applies it and fetches the pages; the others are as in :class:`DriftAnswer`, without it.
    """

    __wire_name__ = "agentic.core.pipeline.drift.incidents.RepairAnswer"

    REPAIR = "repair"
    RESUME = "resume"
    ACCEPT = "accept"
    STOP = "stop"


class Cause(StrEnum):
    """What has happened to the pages of a kind.

    ``LAYOUT`` and ``VARIANT`` are drift: fields are missing or wrong on all pages, or on a part of them. With
    the others the site shows something else instead of the page, and no selector could find the fields.
    """

    LAYOUT = "layout"
    VARIANT = "variant"
    CONSENT = "consent"
    LOGIN = "login"
    GONE = "gone"
    EMPTY = "empty"
    ELSEWHERE = "elsewhere"

    @property
    def is_drift(self) -> bool:
        """Whether selectors no longer fit, so that a repair may help."""
        return self in (Cause.LAYOUT, Cause.VARIANT)


_WORDS: Mapping[Cause, str] = {
    Cause.LAYOUT: "the layout has changed",
    Cause.VARIANT: "a part of the pages has another layout",
    Cause.CONSENT: "the site shows a consent wall instead",
    Cause.LOGIN: "the site shows a login instead",
    Cause.GONE: "the site says that the pages do not exist, with a status of success",
    Cause.EMPTY: "the pages say that they have nothing to show",
    Cause.ELSEWHERE: "the site shows other pages instead",
}

_ADVICE: Mapping[Cause, str] = {
    Cause.LAYOUT: "check the selectors with `agentic pipelines try`",
    Cause.VARIANT: "add selectors for the other layout",
    Cause.CONSENT: "accept it once in a browser (`fetch: {actor: browse}`), or send its cookie",
    Cause.LOGIN: "log in first, or again",
    Cause.GONE: "check the start pages",
    Cause.EMPTY: "check the search or the list that leads there",
    Cause.ELSEWHERE: "open one of the pages in a browser",
}


class FieldFault(BaseModel):
    """A field that alarmed, alone or with others.

    Attributes:
        field: Its name.
        fault: ``missing``, ``odd`` (another type, size or value than ever before), or ``repeated``.
        pages: Of the newest pages, how many show the fault.
        of: How many newest pages that is.
        usual: The share on healthy pages.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    field: str
    fault: Literal["missing", "odd", "repeated"]
    pages: int
    of: int
    usual: float

    @property
    def words(self) -> str:
        """The fault in words."""
        what = {"missing": "missing", "odd": "unlike before", "repeated": "always the same"}[self.fault]
        return f"{self.field} {what} on {self.pages} of {self.of} pages (usually {self.usual:.0%})"


class Incident(BaseModel):
    """All that alarmed at one time on the pages of a kind.

    Attributes:
        kind: Key of the kind.
        label: The kind for people: the globs of its rule.
        cause: The cause.
        faults: The fields; empty if the site shows something else.
        pages: Pages of the kind that were read in this run until then.
        urls: Up to three pages that show it.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: str
    label: str
    cause: Cause
    faults: tuple[FieldFault, ...] = ()
    pages: int = 0
    urls: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """What has happened, without the fields."""
        return f"{self.label}: {_WORDS[self.cause]}"

    @property
    def summary(self) -> str:
        """What has happened, with the names of the fields."""
        names = ", ".join(fault.field for fault in self.faults)
        return f"{self.headline}{f' ({names})' if names else ''}"

    @property
    def words(self) -> str:
        """The incident in a sentence."""
        details = "; ".join(fault.words for fault in self.faults)
        return f"{self.headline}{f': {details}' if details else ''}"

    @property
    def advice(self) -> str:
        """What may help."""
        return _ADVICE[self.cause]
