"""What the documentation says of actors is what they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from agentic.core.actors import Actor
from agentic.core.hooks import get_registry
from agentic.core.pipeline import parse_spec

DOCS = Path(__file__).parents[4] / "docs"
ACTORS = sorted(set(get_registry().actors.values()), key=lambda actor: actor.name)


def row_of(actor: type[Actor]) -> list[str]:
    """Return the cells of an actor's row in the table."""
    text = (DOCS / "reference" / "pipelines.md").read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith(f"| `{actor.name}` |"))
    return [cell.strip() for cell in row.strip("|").split("|")]


def words(cell: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", cell))


def inputs(model: type[BaseModel], *, required: bool) -> set[str]:
    fields = model.model_fields.items()
    return {field.alias or name for name, field in fields if field.is_required() is required}


@pytest.mark.parametrize("actor", ACTORS, ids=[actor.name for actor in ACTORS])
def test_the_table_of_actors_says_what_each_takes_gives_and_fails_with(actor: type[Actor]) -> None:
    _, aliases, takes, gives, fails = row_of(actor)
    required = "".join(re.findall(r"\*\*(.*?)\*\*", takes))
    assert words(aliases) == set(actor.aliases)
    assert words(required) == inputs(actor.Input, required=True)
    assert words(takes) - words(required) == inputs(actor.Input, required=False)
    assert set(actor.Output.model_fields) <= words(gives)
    assert words(fails) == actor.failure_classes


def test_every_pipeline_that_is_shown_can_be_used() -> None:
    text = (DOCS / "how-to" / "read-a-page.md").read_text(encoding="utf-8")
    shown = re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
    assert len(shown) == 6
    for block in shown:
        assert parse_spec(block, get_registry().actors).steps
