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
    from agentic.core.pipeline.building import RuleBuilder
    from agentic.core.pipeline.compiler import PipelineServices, compile_pipeline
    from agentic.core.pipeline.crawl_store import (
        CrawlBatch,
        CrawledPage,
        CrawlStore,
        Exchange,
        FailedPage,
        FrontierCounts,
        FrontierEntry,
        FrontierLink,
        PageContents,
        SliceId,
    )
    from agentic.core.pipeline.errors import Fault, PipelineInputError, SpecError, StepFailedError
    from agentic.core.pipeline.inputs import InputSpec, read_inputs
    from agentic.core.pipeline.intents import IntentInference, IntentSpec, PipelineBuilder
    from agentic.core.pipeline.judging import Evidence, Judgement, judge, judge_rows
    from agentic.core.pipeline.loader import FILE_ENDINGS, load_spec, parse_spec, read_spec
    from agentic.core.pipeline.outlines import outline
    from agentic.core.pipeline.page_items import FoundItem, PageOfItems, items_of
    from agentic.core.pipeline.policies import DEFAULT_RULES, ErrorRule
    from agentic.core.pipeline.records import ATTEMPTS, attempt_records
    from agentic.core.pipeline.result import FailedItem, PipelineResult
    from agentic.core.pipeline.schema import actor_schema, spec_schema
    from agentic.core.pipeline.shortages import shortfalls
    from agentic.core.pipeline.spec import (
        ActorStep,
        ChooseStep,
        CrawlStep,
        Limits,
        LoopStep,
        PipelineSpec,
        PipelineStep,
        StoreRules,
    )
    from agentic.core.pipeline.walking import capabilities_of

__all__ = [
    "ATTEMPTS",
    "DEFAULT_RULES",
    "FILE_ENDINGS",
    "ActorStep",
    "ChooseStep",
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
    "FoundItem",
    "FrontierCounts",
    "FrontierEntry",
    "FrontierLink",
    "InputSpec",
    "IntentInference",
    "IntentSpec",
    "Judgement",
    "Limits",
    "LoopStep",
    "PageContents",
    "PageOfItems",
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
    "items_of",
    "judge",
    "judge_rows",
    "load_spec",
    "outline",
    "parse_spec",
    "read_inputs",
    "read_spec",
    "shortfalls",
    "spec_schema",
]

_HOMES = {
    "ATTEMPTS": "records",
    "DEFAULT_RULES": "policies",
    "FILE_ENDINGS": "loader",
    "ActorStep": "spec",
    "ChooseStep": "spec",
    "CrawlBatch": "crawl_store",
    "CrawlStep": "spec",
    "CrawlStore": "crawl_store",
    "CrawledPage": "crawl_store",
    "ErrorRule": "policies",
    "Evidence": "judging",
    "Exchange": "crawl_store",
    "FailedItem": "result",
    "FailedPage": "crawl_store",
    "Fault": "errors",
    "FoundItem": "page_items",
    "FrontierCounts": "crawl_store",
    "FrontierEntry": "crawl_store",
    "FrontierLink": "crawl_store",
    "InputSpec": "inputs",
    "IntentInference": "intents",
    "IntentSpec": "intents",
    "Judgement": "judging",
    "Limits": "spec",
    "LoopStep": "spec",
    "PageContents": "crawl_store",
    "PageOfItems": "page_items",
    "PipelineBuilder": "intents",
    "PipelineInputError": "errors",
    "PipelineResult": "result",
    "PipelineServices": "compiler",
    "PipelineSpec": "spec",
    "PipelineStep": "spec",
    "RuleBuilder": "building",
    "SliceId": "crawl_store",
    "SpecError": "errors",
    "StepFailedError": "errors",
    "StoreRules": "spec",
    "actor_schema": "schema",
    "attempt_records": "records",
    "capabilities_of": "walking",
    "compile_pipeline": "compiler",
    "items_of": "page_items",
    "judge": "judging",
    "judge_rows": "judging",
    "load_spec": "loader",
    "outline": "outlines",
    "parse_spec": "loader",
    "read_inputs": "inputs",
    "read_spec": "loader",
    "shortfalls": "shortages",
    "spec_schema": "schema",
}


def __getattr__(name: str) -> object:
    # Loaded by whoever asks for one of its modules: all of them would delay every command.
    return loaded(__name__, _HOMES, name)
