"""Pipelines as data: read, checked against the installed actors, compiled to a workflow.

spec = load_spec("site.yaml", get_registry().actors)
services = PipelineServices(frontier=store_of, context=lambda run_id: ActorContext(http=fetcher))
workflow = compile_pipeline(spec, get_registry().actors, services)
result = (await workflow.run({"start_url": "https://example.org/"})).output(dict)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.pipeline.compile.compiler import PipelineServices, compile_pipeline
    from agentic.core.pipeline.compile.outlines import outline
    from agentic.core.pipeline.crawl.page_items import FoundItem, PageOfItems, items_of
    from agentic.core.pipeline.crawl.store import (
        CountedWarning,
        CrawlBatch,
        CrawledPage,
        CrawlStore,
        Exchange,
        FailedPage,
        FrontierCounts,
        FrontierEntry,
        FrontierLink,
        PageContents,
        PageWarning,
        SliceId,
    )
    from agentic.core.pipeline.errors import Fault, PipelineInputError, SpecError, StepFailedError
    from agentic.core.pipeline.offered import intent_of_offer, key_of_rows
    from agentic.core.pipeline.outcome import Evidence, Judgement, judge, judge_rows
    from agentic.core.pipeline.policies.policies import DEFAULT_RULES, ErrorRule
    from agentic.core.pipeline.policies.records import ATTEMPTS, attempt_records
    from agentic.core.pipeline.shortages import shortfalls
    from agentic.core.pipeline.spec.building import RuleBuilder
    from agentic.core.pipeline.spec.inferring import ModelIntentInference, NoIntentError
    from agentic.core.pipeline.spec.inputs import InputSpec, read_inputs
    from agentic.core.pipeline.spec.intents import IntentInference, IntentSpec, ItemFilter, PipelineBuilder
    from agentic.core.pipeline.spec.loader import FILE_ENDINGS, load_spec, parse_spec, read_spec
    from agentic.core.pipeline.spec.schema import actor_schema, spec_schema
    from agentic.core.pipeline.spec.spec import (
        ActorStep,
        ChooseStep,
        CrawlStep,
        FileRules,
        Limits,
        LoopStep,
        PipelineSpec,
        PipelineStep,
        StoreRules,
    )
    from agentic.core.pipeline.spec.walking import capabilities_of
    from agentic.core.pipeline.steps.result import FailedItem, PipelineResult

__all__ = [
    "ATTEMPTS",
    "DEFAULT_RULES",
    "FILE_ENDINGS",
    "ActorStep",
    "ChooseStep",
    "CountedWarning",
    "CrawlBatch",
    "CrawlStep",
    "CrawlStore",
    "CrawledPage",
    "ErrorRule",
    "Evidence",
    "Exchange",
    "FailedItem",
    "FailedPage",
    "Fault",
    "FileRules",
    "FoundItem",
    "FrontierCounts",
    "FrontierEntry",
    "FrontierLink",
    "InputSpec",
    "IntentInference",
    "IntentSpec",
    "ItemFilter",
    "Judgement",
    "Limits",
    "LoopStep",
    "ModelIntentInference",
    "NoIntentError",
    "PageContents",
    "PageOfItems",
    "PageWarning",
    "PipelineBuilder",
    "PipelineInputError",
    "PipelineResult",
    "PipelineServices",
    "PipelineSpec",
    "PipelineStep",
    "RuleBuilder",
    "SliceId",
    "SpecError",
    "StepFailedError",
    "StoreRules",
    "actor_schema",
    "attempt_records",
    "capabilities_of",
    "compile_pipeline",
    "intent_of_offer",
    "items_of",
    "judge",
    "judge_rows",
    "key_of_rows",
    "load_spec",
    "outline",
    "parse_spec",
    "read_inputs",
    "read_spec",
    "shortfalls",
    "spec_schema",
]

_HOMES = {
    "ATTEMPTS": "policies.records",
    "DEFAULT_RULES": "policies.policies",
    "FILE_ENDINGS": "spec.loader",
    "ActorStep": "spec.spec",
    "ChooseStep": "spec.spec",
    "CountedWarning": "crawl.store",
    "CrawlBatch": "crawl.store",
    "CrawlStep": "spec.spec",
    "CrawlStore": "crawl.store",
    "CrawledPage": "crawl.store",
    "ErrorRule": "policies.policies",
    "Evidence": "outcome",
    "Exchange": "crawl.store",
    "FailedItem": "steps.result",
    "FailedPage": "crawl.store",
    "Fault": "errors",
    "FileRules": "spec.spec",
    "FoundItem": "crawl.page_items",
    "FrontierCounts": "crawl.store",
    "FrontierEntry": "crawl.store",
    "FrontierLink": "crawl.store",
    "InputSpec": "spec.inputs",
    "IntentInference": "spec.intents",
    "IntentSpec": "spec.intents",
    "ItemFilter": "spec.intents",
    "intent_of_offer": "offered",
    "key_of_rows": "offered",
    "ModelIntentInference": "spec.inferring",
    "NoIntentError": "spec.inferring",
    "Judgement": "outcome",
    "Limits": "spec.spec",
    "LoopStep": "spec.spec",
    "PageContents": "crawl.store",
    "PageOfItems": "crawl.page_items",
    "PageWarning": "crawl.store",
    "PipelineBuilder": "spec.intents",
    "PipelineInputError": "errors",
    "PipelineResult": "steps.result",
    "PipelineServices": "compile.compiler",
    "PipelineSpec": "spec.spec",
    "PipelineStep": "spec.spec",
    "RuleBuilder": "spec.building",
    "SliceId": "crawl.store",
    "SpecError": "errors",
    "StepFailedError": "errors",
    "StoreRules": "spec.spec",
    "actor_schema": "spec.schema",
    "attempt_records": "policies.records",
    "capabilities_of": "spec.walking",
    "compile_pipeline": "compile.compiler",
    "items_of": "crawl.page_items",
    "judge": "outcome",
    "judge_rows": "outcome",
    "load_spec": "spec.loader",
    "outline": "compile.outlines",
    "parse_spec": "spec.loader",
    "read_inputs": "spec.inputs",
    "read_spec": "spec.loader",
    "shortfalls": "shortages",
    "spec_schema": "spec.schema",
}


def __getattr__(name: str) -> object:
    # Loaded at the first use of one of its modules: loading all would delay every command.
    return loaded(__name__, _HOMES, name)
