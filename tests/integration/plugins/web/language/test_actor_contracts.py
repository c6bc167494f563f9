"""The actors with language models keep what every actor promises."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from agentic.core.actors import ActorContext
from agentic.core.llm import (
    BadModelRequestError,
    ContentRefusedError,
    ContextWindowExceededError,
    CutReplyError,
    FunctionModel,
    LLMAdapter,
    ModelAuthError,
    ModelConnectionError,
    ModelError,
    ModelRequest,
    ModelTimeoutError,
    OpenModels,
    OverloadedError,
    QuotaExhaustedError,
    RateLimitedError,
    ScriptedModel,
    UnknownModelError,
)
from agentic.core.types import JSONValue
from agentic.executors.testing import ActorContract, Failing
from agentic.plugins.web.language.classify import ClassifyActor
from agentic.plugins.web.language.llm_extract import LlmExtractActor
from agentic.plugins.web.language.summarize import SummarizeActor

pytestmark = pytest.mark.integration

Config = dict[str, JSONValue]
Failures = Mapping[str, Failing]

NAME = "function:model"
ANSWER = json.dumps({"label": "lamp", "price": 5})
ERRORS: tuple[type[ModelError], ...] = (
    BadModelRequestError,
    ContentRefusedError,
    ContextWindowExceededError,
    CutReplyError,
    ModelAuthError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    QuotaExhaustedError,
    RateLimitedError,
    UnknownModelError,
)


def page(text: str, **more: JSONValue) -> Config:
    facts: Config = {"url": "http://shop.example/", "final_url": "http://shop.example/", "status": 200}
    facts |= {"content_type": "text/html", "content_hash": "", "fetched_at": "2026-01-01T00:00:00Z"}
    return {**facts, "text": text, **more}


class LanguageContract(ActorContract):
    """The contract of the three actors, with the failures that they share."""

    @pytest.fixture
    def ctx(self, loopback: ActorContext) -> ActorContext:
        return answering(loopback, FunctionModel(lambda _: ANSWER, name=NAME))

    @pytest.fixture(autouse=True)
    def impatient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def no_wait(seconds: float) -> None:
            del seconds

        monkeypatch.setattr("agentic.plugins.web.language.asking._wait", no_wait)

    @pytest.fixture
    def failures(self, loopback: ActorContext, given: Config) -> Failures:
        without_price = ScriptedModel([], name=NAME, cost_usd=None)
        deep = page("<div>" * 2_100)
        return {
            **{kind.failure_class: Failing(given=given, ctx=failing(loopback, kind)) for kind in ERRORS},
            "schema_invalid": Failing(given=given, ctx=saying(loopback, "")),
            "budget_exceeded": Failing(given={**given, "max_tokens": 1}),
            "error": Failing(given={**given, "max_usd": 1}, ctx=answering(loopback, without_price)),
            "empty": Failing(given={**given, "page": page("<script>x</script>")}),
            "reference": Failing(given={name: part for name, part in given.items() if name != "page"}),
            "selector_missing": Failing(
                given={**given, "schema": {"title": {"selector": ".none", "required": True}}}
            ),
            "too_large": Failing(given={**given, "page": deep}),
        }


def answering(ctx: ActorContext, model: LLMAdapter) -> ActorContext:
    return replace(ctx, models=OpenModels({NAME: model}))


def saying(ctx: ActorContext, text: str) -> ActorContext:
    return answering(ctx, FunctionModel(lambda _: text, name=NAME))


def failing(ctx: ActorContext, kind: type[ModelError]) -> ActorContext:
    def fail(request: ModelRequest) -> ModelError:
        del request
        return kind(NAME, "no reason")

    return answering(ctx, FunctionModel(fail, name=NAME))


class TestClassify(LanguageContract):
    actor = ClassifyActor

    @pytest.fixture
    def given(self) -> Config:
        return {"page": page("<h1>A lamp</h1>"), "model": NAME, "labels": ["lamp", "chair"]}


class TestLlmExtract(LanguageContract):
    actor = LlmExtractActor

    @pytest.fixture
    def given(self) -> Config:
        fields: JSONValue = {"price": {"type": "number", "required": True}}
        return {"page": page("<h1>A lamp</h1> 5 EUR"), "model": NAME, "fields": fields}


class TestSummarize(LanguageContract):
    actor = SummarizeActor

    @pytest.fixture
    def given(self) -> Config:
        return {"page": page("<h1>A lamp</h1>"), "model": NAME}
