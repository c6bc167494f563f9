"""What holds for every actor that is installed."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from agentic.core.actors import FAILURE_CLASSES, Actor
from agentic.core.hooks import get_registry

ACTORS = sorted(set(get_registry().actors.values()), key=lambda actor: actor.name)
TESTS = Path(__file__).parents[3]
CONTRACT = re.compile(r"^class Test\w+\(\w*Contract\):\n    actor = (\w+)$", re.MULTILINE)
HELD = {
    name for path in TESTS.rglob("test_actor_contracts.py") for name in CONTRACT.findall(path.read_text())
}
"""Classes of actors that a subclass of ``ActorContract`` names."""

every_actor = pytest.mark.parametrize("actor", ACTORS, ids=[actor.name for actor in ACTORS])


@every_actor
def test_it_is_held_to_the_contract_of_all_actors(actor: type[Actor]) -> None:
    assert actor.__name__ in HELD, "give it a subclass of ActorContract in a test_actor_contracts.py"


@every_actor
def test_the_failures_it_declares_are_words_that_are_known(actor: type[Actor]) -> None:
    assert actor.failure_classes <= FAILURE_CLASSES


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
