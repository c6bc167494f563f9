"""Actors, pipelines and workflows as tools of agents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from pydantic import SecretStr

from agentic.core.actors import ActorContext
from agentic.core.agents import (
    ActorTool,
    ChatAgent,
    PipelineTool,
    Tool,
    ToolDefinitionError,
    WorkflowTool,
    build_agent,
    load_agent_spec,
)
from agentic.core.agents.tools.functions import as_tool
from agentic.core.graph import Workflow, WorkflowBuilder, WorkflowContext, executor
from agentic.core.hooks import get_registry
from agentic.core.http import Fetcher, HttpPolicy
from agentic.core.http.transports.port import Transport
from agentic.core.llm import OpenModels, ScriptedModel, ToolCall, ToolResult
from agentic.core.pipeline import parse_spec
from agentic.core.types import JSONValue, RunId

Item = dict[str, JSONValue]

NAMES = """
name: name-things
description: Names each thing.
inputs: {things: {type: list, description: The things.}, limit: {type: integer, default: 10}}
steps:
  - type: loop
    source: things
    item_as: thing
    loop_steps:
      - {actor: classify, config: {model: "fake:words", text: "${thing}", labels: [lamp, chair]}}
    collect: item
  - {actor: aggregate, config: {limit: "${inputs.limit}"}}
"""


class Secrets:
    """Keeps one secret."""

    async def secret(self, name: str) -> SecretStr:
        assert name.upper() == "KEY"
        return SecretStr("sk-very-secret")


class Services:
    """The services of a project, which notes the runs that use them."""

    def __init__(self) -> None:
        self.runs: list[RunId] = []
        self._context = ActorContext(
            http=Fetcher(HttpPolicy(), cast(Transport, None)), secrets=Secrets(), models=OpenModels()
        )

    def __call__(self, run_id: RunId) -> ActorContext:
        self.runs.append(run_id)
        return self._context


@pytest.fixture
def services() -> Services:
    return Services()


def call(name: str, **arguments: JSONValue) -> ToolCall:
    return ToolCall(id="", name=name, arguments=arguments)


async def result_of(tool: Tool, asked: ToolCall) -> ToolResult:
    """Return the result of one call by an agent."""
    model = ScriptedModel([asked, "done"])
    response = await ChatAgent(model, tools=[tool]).run("go")
    (result,) = next(one for one in response.messages if one.tool_results).tool_results
    return result


async def test_an_actor_is_a_tool_with_the_schema_of_its_input(services: Services) -> None:
    tool = ActorTool("aggregate", services)
    assert tool.description == "Merges items into one list: without duplicates, sorted, limited and counted."
    assert tool.parameters["required"] == ["items"]
    items: JSONValue = [{"n": 2}, {"n": 1}]
    result = await result_of(tool, call("aggregate", items=items, sort_by="n"))
    assert cast(Item, result.content)["items"] == [{"n": 1}, {"n": 2}]
    assert len(services.runs) == 1


async def test_fixed_parts_are_hidden_from_the_model_and_secrets_are_read_at_the_call(
    services: Services,
) -> None:
    labels: JSONValue = ["lamp", "${secrets.KEY}"]
    config: Item = {"model": "fake:words", "labels": labels, "may_be_unknown": True}
    tool = ActorTool("classify", services, config=config, name="sort")
    assert not {"model", "labels", "page"} & {*cast(Item, tool.parameters["properties"])}
    result = await result_of(tool, call("sort", text="very secret sk"))
    assert cast(Item, result.content)["item"] == {"label": "***"}


async def test_the_use_of_models_by_an_actor_counts_for_the_agent(services: Services) -> None:
    tool = ActorTool("summarize", services, config={"model": "fake:words"})
    model = ScriptedModel([call("summarize", text="a long story"), "done"])
    response = await ChatAgent(model, tools=[tool]).run("go")
    assert response.usage.requests == 3


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"items": 1}, "items: Input should be a valid tuple"),
        ({"items": [], "colour": "red"}, "unknown argument 'colour'"),
    ],
)
async def test_arguments_that_do_not_fit_are_returned_to_the_model(
    services: Services, arguments: Item, expected: str
) -> None:
    result = await result_of(ActorTool("aggregate", services), call("aggregate", **arguments))
    assert result.is_error
    assert expected in str(result.content)


async def test_a_failure_of_an_actor_is_its_class_and_message(services: Services) -> None:
    tool = ActorTool("classify", services, config={"model": "nobody:x", "labels": ["a"]})
    result = await result_of(tool, call("classify", text="x"))
    assert result.is_error
    assert str(result.content).startswith("unknown_model: no plugin provides models of 'nobody'")


def test_an_actor_that_reads_a_page_takes_a_url(services: Services) -> None:
    parameters = ActorTool("extract_detail", services).parameters
    assert parameters["required"] == ["url", "schema"]
    assert "page" not in cast(Item, parameters["properties"])
    assert cast("list[str]", ActorTool("fetch", services).parameters["required"]) == ["url"]


def test_an_actor_that_is_unknown_or_a_config_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="did you mean 'aggregate'"):
        ActorTool("agregate")
    with pytest.raises(ToolDefinitionError, match="has no input 'colour'"):
        ActorTool("aggregate", config={"colour": 1})


def test_an_actor_class_is_a_tool_of_an_agent() -> None:
    assert isinstance(as_tool(get_registry().actors["aggregate"]), ActorTool)


async def test_a_pipeline_is_a_tool_with_its_inputs_and_gives_rows(services: Services) -> None:
    tool = PipelineTool(parse_spec(NAMES, get_registry().actors), services, max_rows=2)
    assert (tool.name, tool.description) == ("name-things", "Names each thing.")
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "things": {"type": "array", "description": "The things."},
            "limit": {"type": "integer", "default": 10},
        },
        "required": ["things"],
        "additionalProperties": False,
    }
    result = await result_of(tool, call("name-things", things=["a lamp", "a chair", "a lamp"]))
    assert result.content == {
        "items": [{"label": "lamp"}, {"label": "chair"}],
        "item_count": 3,
        "items_left_out": 1,
    }


async def test_inputs_of_a_pipeline_that_do_not_fit_are_returned_to_the_model(services: Services) -> None:
    tool = PipelineTool(parse_spec(NAMES, get_registry().actors), services)
    result = await result_of(tool, call("name-things", limit=1))
    assert result.is_error
    assert "'things' is missing (The things.)" in str(result.content)


async def test_long_texts_in_rows_are_cut(services: Services) -> None:
    text = "steps: [{actor: aggregate, config: {items: '${inputs.items}'}}]\ninputs: {items: {type: list}}"
    tool = PipelineTool(parse_spec(text, get_registry().actors), services)
    result = await result_of(tool, call(tool.name, items=[{"text": "x" * 1_500}]))
    (item,) = cast("list[Item]", cast(Item, result.content)["items"])
    assert item["text"] == "x" * 1_000 + "... (1500 characters)"


def test_a_pipeline_that_crawls_is_no_tool(services: Services) -> None:
    text = "steps: [{type: crawl, start: 'http://a/'}]"
    with pytest.raises(ToolDefinitionError, match="run it as an agent of the platform 'web'"):
        PipelineTool(parse_spec(text, get_registry().actors), services)


@executor
async def shout(text: str, ctx: WorkflowContext) -> None:
    await ctx.yield_output(text.upper())


@dataclass(frozen=True)
class Order:
    """What to buy."""

    article: str
    count: int = 1


@executor
async def buy(order: Order, ctx: WorkflowContext) -> None:
    await ctx.yield_output({"bought": order.article, "count": order.count})


@executor
async def break_down(text: str) -> None:
    raise RuntimeError(f"no {text}")


def workflow_of(start: object) -> Workflow:
    return WorkflowBuilder("shop").set_start(start).build()  # type: ignore[arg-type]  # any executor


async def test_a_workflow_that_takes_a_text_is_a_tool_with_a_task() -> None:
    result = await result_of(workflow_of(shout).as_tool("shout"), call("shout", task="hello"))
    assert result.content == "HELLO"


async def test_the_fields_of_a_start_message_are_the_arguments() -> None:
    tool = workflow_of(buy).as_tool()
    assert isinstance(tool, WorkflowTool)
    assert (tool.name, tool.parameters["required"]) == ("shop", ["article"])
    assert (await result_of(tool, call("shop", article="lamp"))).content == {"bought": "lamp", "count": 1}
    refused = await result_of(tool, call("shop", count="many"))
    assert refused.is_error
    assert "article: Field required" in str(refused.content)


async def test_a_workflow_that_fails_is_an_error_for_the_model() -> None:
    result = await result_of(workflow_of(break_down).as_tool("it"), call("it", task="luck"))
    assert result.is_error
    assert "it failed: " in str(result.content)


async def test_in_a_graph_a_pipeline_is_a_part_of_the_run_and_runs_once(services: Services) -> None:
    tool = PipelineTool(parse_spec(NAMES, get_registry().actors), services)
    model = ScriptedModel([call("name-things", things=["a lamp"]), "a lamp"])
    agent = ChatAgent(model, tools=[tool], name="namer")
    result = await WorkflowBuilder("naming").set_start(agent.as_executor()).build().run("What is it?")
    assert "lamp" in str(result.outputs[-1])
    assert any("tool" not in event.path and "pipeline.result" in event.path for event in result.events)


@pytest.mark.parametrize("tool", ["actor:aggregate", "pipeline:names.yaml"])
async def test_an_agent_that_is_data_names_actors_and_pipelines(
    tool: str, tmp_path: Path, services: Services
) -> None:
    (tmp_path / "names.yaml").write_text(NAMES)
    (tmp_path / "agent.yaml").write_text(f"model: 'fake:words'\ntools: ['{tool}']\n")
    agent = build_agent(load_agent_spec(tmp_path / "agent.yaml", runs_code=True), context=services)
    expected = {"actor:aggregate": "aggregate", "pipeline:names.yaml": "name-things"}[tool]
    assert [one.name for one in agent.tools] == [expected]
