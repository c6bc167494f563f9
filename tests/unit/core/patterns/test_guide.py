"""The guide to patterns; its programs, outputs and pictures run as tests of the page itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentic.core import patterns

GUIDE = Path(__file__).parents[4] / "docs" / "how-to" / "choose-a-pattern.md"


@pytest.mark.requirement("PA19", "PA24")
def test_the_guide_says_when_to_choose_each_pattern_and_names_each_ready_chat() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| \[([\w ]+)\]\(#[\w-]+\) \| (.+) \|$", text, flags=re.MULTILINE))
    assert list(table) == ["Sequential", "Concurrent", "Group chat", "Handoff", "Magentic"]
    assert all(len(row.split(" | ")) == 3 for row in table.values())
    builders = [name for name in patterns.__all__ if name.endswith("Builder") and name != "PatternBuilder"]
    ready = ("code_review", "brainstorming", "research_qa", "content_creation")
    assert all(f"`{name}(" in text or f"{name}(" in text for name in (*builders, *ready))
    assert len(re.findall(r"^```mermaid$", text, flags=re.MULTILINE)) == len(builders)
