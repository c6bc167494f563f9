"""What the documentation says of Firecrawl is what there is."""

from __future__ import annotations

import re
from pathlib import Path

from agentic.core.hooks import get_registry
from agentic.core.pipeline import parse_spec
from agentic.plugins.firecrawl import agentic_actors

PAGE = (Path(__file__).parents[4] / "docs" / "how-to" / "use-firecrawl.md").read_text(encoding="utf-8")


def test_every_pipeline_that_is_shown_can_be_used() -> None:
    shown = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(shown) == 2
    for block in shown:
        assert parse_spec(block, get_registry().actors).steps


def test_every_failure_class_that_an_actor_declares_is_explained() -> None:
    explained = set(re.findall(r"`(\w+)`", PAGE.partition("## When it fails")[2]))
    declared = frozenset[str]().union(*(at.load().failure_classes for at in agentic_actors()))
    assert declared <= explained
