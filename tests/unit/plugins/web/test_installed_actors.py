"""What holds for every actor that is installed."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from pydantic import BaseModel, ValidationError

from agentic.core.actors import FAILURE_CLASSES, Actor
from agentic.core.hooks import get_registry

ACTORS = sorted(set(get_registry().actors.values()), key=lambda actor: actor.name)
CAPABILITIES = re.compile(r"network|browser|credentials:[a-z]+")

every_actor = pytest.mark.parametrize("actor", ACTORS, ids=[actor.name for actor in ACTORS])


@every_actor
def test_it_says_what_it_is_for(actor: type[Actor]) -> None:
    for described in (actor, actor.Input, actor.Output):
        text = (described.__doc__ or "").partition("\n")[0]
        assert text.endswith((".", ":")), described
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", actor.name)
    assert actor.version


@every_actor
def test_editors_can_complete_its_config(actor: type[Actor]) -> None:
    schema = actor.Input.model_json_schema()
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == {
        field.alias or name for name, field in actor.Input.model_fields.items()
    }
    assert actor.Output.model_json_schema()["properties"]


@every_actor
def test_it_refuses_words_it_does_not_know(actor: type[Actor]) -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        actor.Input.model_validate({"no_such_word": 1})


@every_actor
def test_what_it_takes_and_gives_cannot_be_changed(actor: type[Actor]) -> None:
    def is_frozen(model: type[BaseModel]) -> bool:
        return bool(model.model_config.get("frozen"))

    assert is_frozen(actor.Input)
    assert is_frozen(actor.Output)


@every_actor
def test_the_failures_and_capabilities_it_declares_are_words_that_are_known(actor: type[Actor]) -> None:
    assert actor.failure_classes <= FAILURE_CLASSES
    assert all(CAPABILITIES.fullmatch(word) for word in actor.capabilities)


def test_no_name_stands_for_two_actors() -> None:
    names = Counter(name for actor in ACTORS for name in (actor.name, *actor.aliases))
    assert names.most_common(1)[0][1] == 1


@pytest.mark.requirement("SP14", "SP15", "SP16", "SP17", "SP18", "SP19", "SP20")
def test_the_actors_of_the_first_sketch_are_known_by_its_names() -> None:
    actors = get_registry().actors
    sketch = {
        "InitialFetcher": "fetch",
        "Authenticate": "authenticate",
        "SearchExecutor": "search",
        "ExtractList": "extract_list",
        "FetchDetail": "fetch",
        "ExtractDetail": "extract_detail",
        "DataAggregator": "aggregate",
    }
    assert {name: actors[name].name for name in sketch} == sketch
