"""Libraries that are not installed."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from pydantic import ValidationError

from agentic.core.actors import ActorError
from agentic.plugins.web.actors.article import ArticleActor
from agentic.plugins.web.actors.extract_detail import ExtractDetailActor


@pytest.fixture
def lacking(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Hide a library."""
    return lambda name: monkeypatch.setitem(sys.modules, name, None)


async def test_an_actor_says_what_to_install(act: Any, page: Any, lacking: Any) -> None:
    lacking("trafilatura")
    with pytest.raises(ActorError, match=r"pip install 'agentic-pipelines\[article\]'") as caught:
        await act(ArticleActor, page=page("<p>hi</p>"))
    assert caught.value.failure_class == "error"


async def test_a_spec_that_needs_a_library_is_refused_before_anything_runs(
    act: Any, page: Any, lacking: Any
) -> None:
    lacking("jsonschema")
    with pytest.raises(ValidationError, match=r"agentic-pipelines\[schema\]"):
        await act(ExtractDetailActor, page=page(""), schema={"a": "b"}, json_schema={"title": "unheard of"})
