"""A graph of LangGraph that decides what to read, builds a pipeline for it, runs it and mends it.

infer -> build -> run -> done
           ^       |
           +- mend <+     a failure is a decision: change the intent, or ask a person after three tries
"""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel, Field
from scripted_model import scripted_model

from agentic.core.agents import PipelineTool
from agentic.core.hooks import get_registry
from agentic.core.llm import llm
from agentic.core.pipeline import IntentSpec, RuleBuilder, SpecError
from agentic.plugins.langchain import AgenticChatModel, AgenticTool

MAX_TRIES = 3


class Change(BaseModel):
    """A change of the intent after a failure."""

    items: str | None = Field(default=None, description="A better CSS selector of the items.")
    browser: Literal["never", "auto", "always"] | None = Field(default=None, description="Render the pages.")
    why: str


class State(TypedDict, total=False):
    """The state of the graph.

    words and url come from the user; spec and rows are the result, log says what was decided.
    """

    words: str
    url: str
    hosts: list[str]
    intent: dict[str, Any]
    spec: dict[str, Any]
    rows: list[dict[str, Any]]
    failure: str
    tries: int
    log: Annotated[list[str], operator.add]


def model_of(config: RunnableConfig) -> AgenticChatModel:
    """Return the model of the run: ``configurable: {model: "openai:NAME"}``, or a script."""
    name = config.get("configurable", {}).get("model")
    return AgenticChatModel(adapter=llm(name) if name else scripted_model())


async def infer(state: State, config: RunnableConfig) -> State:
    """Turn the words into an intent: the only step that needs them."""
    asked = f"Which data does the user want, and where is it? {state['words']}\nPage: {state['url']}"
    found = await model_of(config).with_structured_output(IntentSpec).ainvoke(asked)
    where = {"url": state["url"], "allow_private_hosts": state.get("hosts", []), "goal": state["words"]}
    return {"intent": {**found.model_dump(mode="json"), **where}, "tries": 0, "log": ["inferred the intent"]}


async def build(state: State) -> State:
    """Build a pipeline from the intent, by rules; a model never writes one."""
    try:
        spec = await RuleBuilder(get_registry().actors).build(IntentSpec.model_validate(state["intent"]))
    except SpecError as exc:
        return {"failure": str(exc), "spec": {}, "log": ["the intent gives no pipeline"]}
    return {"spec": spec.model_dump(mode="json", exclude_defaults=True), "failure": ""}


async def run(state: State) -> State:
    """Run the pipeline; a failure is a fact in the state, not the end."""
    from agentic.core.pipeline import read_spec

    tries = state["tries"] + 1
    if not state["spec"]:
        return {"tries": tries}
    tool = AgenticTool.of(PipelineTool(read_spec(state["spec"], get_registry().actors), name="run"))
    found = await tool.ainvoke({})
    if not isinstance(found, dict):  # the message of an error
        return {"failure": str(found), "tries": tries, "log": [f"try {tries} failed"]}
    failures = found.get("failures", {})
    if not found["items"] or failures:
        return {
            "failure": f"failures: {failures or 'no item'}",
            "tries": tries,
            "log": [f"try {tries} failed"],
        }
    return {"rows": found["items"], "tries": tries, "log": [f"try {tries}: {len(found['items'])} rows"]}


async def mend(state: State, config: RunnableConfig) -> State:
    """Decide about a failure: the model changes the intent; after three tries a person does."""
    if state["tries"] < MAX_TRIES:
        asked = f"The pipeline failed: {state['failure']}\nThe intent: {state['intent']}\nWhat must change?"
        change = await model_of(config).with_structured_output(Change).ainvoke(asked)
    else:
        question = {"question": "Which CSS selector finds the items?", "failure": state["failure"]}
        change = Change.model_validate(interrupt(question, response_schema=Change.model_json_schema()))
    changed = change.model_dump(exclude_none=True, exclude={"why"})
    return {"intent": {**state["intent"], **changed}, "failure": "", "log": [f"mended: {change.why}"]}


def after_run(state: State) -> str:
    """Return the next node."""
    return "mend" if state["failure"] else END


graph = (
    StateGraph(State)
    .add_node("infer", infer)
    .add_node("build", build)
    .add_node("run", run)
    .add_node("mend", mend)
    .add_edge(START, "infer")
    .add_edge("infer", "build")
    .add_edge("build", "run")
    .add_conditional_edges("run", after_run, ["mend", END])
    .add_edge("mend", "build")
    .compile()
)
