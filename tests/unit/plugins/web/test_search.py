"""Searching where there is nothing to search with, and on platforms."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from agentic.core.actors import Actor, ActorContext, ActorError
from agentic.core.hooks import get_registry
from agentic.plugins.web.actors.search import SearchActor


class NotesInput(BaseModel):
    query: str


class NotesOutput(BaseModel):
    items: tuple[dict[str, str], ...]


class NotesSearch(Actor[NotesInput, NotesOutput]):
    name = "notes_search"
    version = "1"
    Input = NotesInput
    Output = NotesOutput

    async def run(self, ctx: ActorContext, given: NotesInput, /) -> NotesOutput:
        return NotesOutput(items=({"title": given.query},))


async def test_a_platform_searches_by_an_actor_of_its_own(act: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(get_registry()), "actors", {"notes_search": NotesSearch})
    found = await act(SearchActor, keywords=["two", "words"], platform="notes")
    assert found.items == ({"title": "two words"},)
    assert "page" not in found.model_dump()


async def test_a_platform_nobody_searches_is_named(act: Any) -> None:
    with pytest.raises(ActorError, match="no plugin searches 'nowhere'") as caught:
        await act(SearchActor, keywords="a", platform="nowhere")
    assert caught.value.failure_class == "reference"


async def test_a_search_needs_a_place_to_search(act: Any) -> None:
    with pytest.raises(ActorError, match="no search page is known") as caught:
        await act(SearchActor, keywords="a")
    assert caught.value.failure_class == "reference"


async def test_a_page_without_a_search_is_a_failure(act: Any, page: Any) -> None:
    with pytest.raises(ActorError, match="has neither a search form nor an OpenSearch description") as caught:
        await act(SearchActor, keywords="a", page=page("<p>hi</p>"))
    assert caught.value.failure_class == "selector_missing"


async def test_a_page_that_is_no_html_is_a_failure(act: Any, page: Any) -> None:
    with pytest.raises(ActorError) as caught:
        await act(SearchActor, keywords="a", page=page("", content_type="text/plain"))
    assert caught.value.failure_class == "not_html"


@pytest.mark.parametrize(
    "given", [{"keywords": ""}, {"keywords": []}, {"keywords": "a", "url_template": "http://a"}]
)
async def test_a_search_for_nothing_or_nowhere_is_refused(act: Any, given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        await act(SearchActor, **given)
