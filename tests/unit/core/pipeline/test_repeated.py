from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from agentic.core.actors import Actor
from agentic.core.pipeline.crawl.repeated import RepeatedInput
from agentic.plugins.web.actors.fetch import FetchActor


class Sheet(BaseModel):
    text: str


class PlainInput(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    sheet: Sheet
    url: str = Field(default="", max_length=5)
    rules: dict[str, int] = Field(default_factory=dict, alias="schema")


class LinkInput(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    url: str = Field(max_length=5)
    sheet: str
    rules: dict[str, int] = Field(alias="schema")


class ShoutingInput(PlainInput):
    @field_validator("sheet")
    @classmethod
    def _loud(cls, sheet: Sheet) -> Sheet:
        return Sheet(text=sheet.text.upper())


def repeated(model: type[BaseModel], name: str, value: object, **config: str) -> RepeatedInput:
    actor: Any = type("ReadActor", (), {"Input": model})
    kept: type[Actor] = actor
    return RepeatedInput(kept, {"schema": {"a": "1"}, **config}, name, value)


def test_what_stays_is_kept_and_what_changes_is_as_given() -> None:
    first = Sheet(text="one")
    found = repeated(PlainInput, "sheet", first).of(Sheet(text="two"))
    assert found == PlainInput(sheet=Sheet(text="two"), schema={"a": 1})


def test_what_changes_is_checked_unless_it_is_a_model_of_the_very_class() -> None:
    inputs = repeated(PlainInput, "sheet", Sheet(text="one"))
    assert inputs.of({"text": "two"}) == inputs.of(Sheet(text="two"))
    for wrong in (PlainInput(sheet=Sheet(text="x")), {"text": 1}, None):
        with pytest.raises(ValidationError):
            inputs.of(wrong)


def test_a_text_that_changes_is_held_against_its_rules() -> None:
    inputs = repeated(LinkInput, "url", "one", sheet="s")
    assert inputs.of("two") == LinkInput(url="two", sheet="s", schema={"a": 1})
    with pytest.raises(ValidationError, match="url"):
        inputs.of("too long")


def test_checks_of_the_input_itself_are_made_each_time() -> None:
    inputs = repeated(ShoutingInput, "sheet", Sheet(text="one"))
    found = inputs.of(Sheet(text="two"))
    assert isinstance(found, ShoutingInput)
    assert found.sheet.text == "TWO"


def test_what_stays_is_refused_with_the_first_call() -> None:
    with pytest.raises(ValidationError, match="url"):
        repeated(PlainInput, "sheet", Sheet(text="one"), url="too long")
    with pytest.raises(ValidationError, match="unknown"):
        repeated(PlainInput, "sheet", Sheet(text="one"), unknown="1")


def test_the_url_of_a_fetch_is_given_unchecked_and_the_rest_stays() -> None:
    inputs = RepeatedInput(
        FetchActor, {"headers": {"a": "b"}, "follow_refresh": False}, "url", "https://a.example/"
    )
    given = inputs.of("https://b.example/")
    checked = FetchActor.Input.model_validate(
        {"headers": {"a": "b"}, "follow_refresh": False, "url": "https://b.example/"}
    )
    assert given == checked
    assert given.model_fields_set == checked.model_fields_set


def test_a_value_of_another_type_is_still_refused() -> None:
    inputs = RepeatedInput(FetchActor, {}, "url", "https://a.example/")
    with pytest.raises(ValidationError, match="url"):
        inputs.of(3)
    with pytest.raises(ValidationError, match="a request has one of body"):
        RepeatedInput(FetchActor, {"body": "x"}, "url", "https://a.example/")
