"""Actions on a page before it is read: enough for a login form and for "load more"."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, SecretStr

CssSelector = Annotated[str, Field(min_length=1, description="CSS selector; the first match counts.")]


class _Step(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Fill(_Step):
    """Put a text into a form field. A ``SecretStr`` is shown nowhere."""

    type: Literal["fill"] = "fill"
    selector: CssSelector
    value: SecretStr | str


class Click(_Step):
    """Click an element once it can be clicked; with ``times``, again until it no longer can."""

    type: Literal["click"] = "click"
    selector: CssSelector
    times: PositiveInt = Field(
        default=1, le=100, description="Maximum number of clicks, for a `load more` button."
    )
    wait_s: PositiveFloat = Field(default=2.0, le=60, description="Longest wait until it is back.")


class Press(_Step):
    """Press a key with the focus on an element, as in ``Enter`` or ``Control+A``."""

    type: Literal["press"] = "press"
    selector: CssSelector
    key: str = Field(min_length=1, max_length=40)


class WaitFor(_Step):
    """Wait until an element is in the page, seen or not."""

    type: Literal["wait_for"] = "wait_for"
    selector: CssSelector


class Scroll(_Step):
    """Scroll to the end of the page, and again as long as it grows."""

    type: Literal["scroll"] = "scroll"
    times: PositiveInt = Field(default=1, le=100, description="Maximum number of scrolls.")
    wait_s: PositiveFloat = Field(default=2.0, le=60, description="Longest wait until the page grows.")


BrowserStep = Annotated[Click | Fill | Press | Scroll | WaitFor, Field(discriminator="type")]
