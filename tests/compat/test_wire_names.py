"""The names that the types of the product are stored under: they stay, wherever a type moves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from tests.compat.write import CRAWL, LOOP

from agentic.core.agents import AgentExecutorResponse, ChatAgent
from agentic.core.graph import Workflow
from agentic.core.graph.codec.codec import describe
from agentic.core.graph.codec.plans import LEAN, WIRE_NAME, stored_name
from agentic.core.graph.codec.types import collect_types
from agentic.core.graph.definition.subgraph import WorkflowExecutor
from agentic.core.graph.definition.workflow import WorkflowDefinition
from agentic.core.hooks import get_registry
from agentic.core.llm import ScriptedModel
from agentic.core.patterns import ConcurrentBuilder, GroupChatBuilder, HandoffBuilder, MagenticBuilder
from agentic.core.patterns.conversation import ConversationEntry
from agentic.core.pipeline import outline, parse_spec
from agentic.core.pipeline.drift.incidents import DriftAnswer, RepairAnswer
from agentic.plugins.hackernews.searching import search_workflow, tree_workflow, user_workflow

ROOT = Path(__file__).parents[2]
NAMES = Path(__file__).with_name("wire_names.txt")
"""Each was stored by some version: a line may be added, none may change."""

DEFAULTS = Path(__file__).with_name("lean_defaults.txt")
"""The fields that lean models leave out of stored values, with the value that readers give them."""


def test_each_type_that_a_run_of_the_product_stores_has_its_name() -> None:
    stored = {cls for workflow in workflows() for cls in types_of(workflow)} | {DriftAnswer, RepairAnswer}
    nameless = {f"{cls.__module__}.{cls.__qualname__}" for cls in stored if not is_named(cls)}
    assert not nameless


def is_named(cls: Any) -> bool:
    """Whether a type has a name of its own, or the one of its generic type."""
    generic = getattr(cls, "__pydantic_generic_metadata__", None)
    return WIRE_NAME in vars(cls) or bool(generic and generic["origin"] and is_named(generic["origin"]))


def test_every_name_is_listed_and_none_is_lost() -> None:
    line = re.compile(rf'^ +{WIRE_NAME}(?:: ClassVar\[str\])? = "([\w.]+)"$', re.MULTILINE)
    rooms = [ROOT / room / "agentic" for room in ("core", "executors", "mappers", "plugins")]
    files = (path for room in rooms for path in room.rglob("*.py"))
    assert NAMES.read_text().split() == sorted(
        name for path in files for name in line.findall(path.read_text(encoding="utf-8"))
    )


def test_no_default_of_a_lean_model_changes() -> None:
    """A value that was stored without a field would change with the field's default: add lines only."""
    assert DEFAULTS.read_text().splitlines() == sorted(lean_defaults())


def lean_defaults() -> Iterator[str]:
    """Yield the defaults of the lean models of the product."""
    for cls in collect_types((AgentExecutorResponse, ConversationEntry)):
        if issubclass(cls, BaseModel) and vars(cls.__pydantic_generic_metadata__["origin"] or cls).get(LEAN):
            for name, field in cls.model_fields.items():
                if not field.is_required():
                    default = describe(field.get_default(call_default_factory=True))
                    yield f"{stored_name(cls)}.{name} = {json.dumps(default)}"


def workflows() -> Iterator[Workflow]:
    """Yield the workflows that the product brings, and pipelines with all kinds of steps."""
    registry = get_registry()
    yield from (make() for make in registry.workflows.values())
    for spec in (CRAWL, LOOP):
        yield outline(parse_spec(json.dumps(spec), registry.actors), registry.actors)
    client: Any = None  # nothing is asked
    yield search_workflow(client, 0.0)
    yield tree_workflow(client, client, max_comments=1, max_wait_s=0.0)
    yield user_workflow(client, 0.0)
    team = [ChatAgent(ScriptedModel(["yes"]), name=name) for name in ("a", "b")]
    yield ConcurrentBuilder("concurrent").participants(team).build()
    yield GroupChatBuilder("chat").participants(team).build()
    yield HandoffBuilder("handoff").participants(team).with_person("c").build()
    yield MagenticBuilder("magentic").participants(team).with_manager(ScriptedModel(["yes"])).build()


def types_of(workflow: WorkflowDefinition) -> Iterator[type]:
    """Yield the types of the product that messages of a workflow may be made of."""
    for executor in workflow.graph.executors.values():
        if isinstance(executor, WorkflowExecutor):
            yield from types_of(executor.workflow)
            continue
        declared = (executor.input_types, executor.send_types, executor.output_types, executor.return_types)
        found = collect_types(annotation for some in declared for annotation in some or ())
        yield from (cls for cls in found if cls.__module__.startswith("agentic."))
