"""Pipelines as data: read, checked against the installed actors, compiled to a workflow.

spec = load_spec("site.yaml", get_registry().actors)
services = PipelineServices(frontier=store_of, context=lambda run_id: ActorContext(http=fetcher))
workflow = compile_pipeline(spec, get_registry().actors, services)
result = (await workflow.run({"start_url": "https://example.org/"})).output(dict)
"""

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
from agentic.core.pipeline.outline import outline
from agentic.core.pipeline.page_items import FoundItem, PageOfItems, items_of
from agentic.core.pipeline.policies import DEFAULT_RULES, ErrorRule
from agentic.core.pipeline.records import ATTEMPTS, attempt_records
from agentic.core.pipeline.result import FailedItem, PipelineResult
from agentic.core.pipeline.schema import actor_schema, spec_schema
from agentic.core.pipeline.shortfalls import shortfalls
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
