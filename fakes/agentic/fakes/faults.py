"""What can be made to go wrong with a request."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, model_validator


class Fault(BaseModel):
    """What goes wrong with requests whose path fits ``path``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str = Field(pattern=r"^[/*]", description="Pattern of paths without query; * also crosses slashes.")
    status: int | None = Field(
        default=None, ge=300, le=599, description="Answer with this status and nothing else."
    )
    times: PositiveInt | None = Field(
        default=1, description="Number of requests that fail; null: until the reset."
    )
    delay_s: float = Field(default=0.0, ge=0, le=600, description="Seconds to wait before answering.")
    retry_after_s: NonNegativeInt | None = Field(
        default=None, description="Sent as Retry-After with the status."
    )
    retry_after_date: bool = Field(
        default=False, description="Send it as a date, by the clock of the fakes, instead of seconds."
    )
    location: str | None = Field(default=None, description="Where a status below 400 sends the client on to.")
    truncate: NonNegativeInt | None = Field(
        default=None, description="Bytes of the body to send before the connection is cut."
    )
    bad_json: Literal["cut", "text"] | None = Field(
        default=None,
        description="Half of the body, as if complete; or words instead of JSON.",
    )
    html_instead_of_json: Literal[200, 403] | None = Field(
        default=None, description="Answer with a challenge page and this status."
    )
    close: Literal["before", "within"] | None = Field(
        default=None, description="Close the connection before a byte is sent, or in the middle of the body."
    )

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        if self.retry_after_s is not None and self.status is None:
            raise ValueError("retry_after_s needs a status, for example 429")
        if self.retry_after_date and self.retry_after_s is None:
            raise ValueError("retry_after_date needs retry_after_s")
        if (self.location is not None) != (self.status is not None and self.status < 400):
            raise ValueError("location and a status below 400, for example 301, need each other")
        kinds = [name for name in KINDS if getattr(self, name) is not None]
        if not kinds and not self.delay_s:
            raise ValueError(f"no fault is set; give delay_s or one of {', '.join(KINDS)}")
        if len(kinds) > 1 and set(kinds) != {"status", "truncate"}:
            raise ValueError(f"{' and '.join(kinds)} cannot be combined")
        return self


KINDS = ("status", "truncate", "bad_json", "html_instead_of_json", "close")
"""Kinds of faults, besides a delay."""
