"""Models that are opened once."""

from __future__ import annotations

import asyncio

import pytest

from agentic.core.llm import OpenModels, ScriptedModel, UnknownProviderError


async def test_a_model_is_opened_once_for_equal_options_and_closed_with_the_others() -> None:
    models = OpenModels()
    first = models.open("fake:words")
    assert models.open("fake:words", {}) is first
    assert models.open("fake:letters") is not first
    await models.aclose()
    assert models.open("fake:words") is not first


def test_each_event_loop_has_its_own_connections() -> None:
    models = OpenModels()

    async def opened() -> object:
        return models.open("fake:words")

    assert asyncio.run(opened()) is not asyncio.run(opened())


async def test_a_given_model_replaces_the_installed_one() -> None:
    scripted = ScriptedModel([], name="openai:x")
    assert OpenModels({"openai:x": scripted}).open("openai:x", {"api_key": "k"}) is scripted


async def test_an_unknown_provider_is_named() -> None:
    with pytest.raises(UnknownProviderError, match="'nobody'"):
        OpenModels().open("nobody:x")
