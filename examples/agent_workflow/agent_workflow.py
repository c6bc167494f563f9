"""Two agents and a function in a workflow, and the workflow as an agent with a thread."""

import argparse
import asyncio

from agentic.core import Workflow, WorkflowBuilder, executor
from agentic.core.agents import AgentExecutorResponse, ChatAgent, tool
from agentic.core.llm import LLMAdapter, ScriptedModel, ScriptLine, ToolCall

SCRIPT: list[ScriptLine] = [
    ToolCall(id="", name="find_order", arguments={"number": 7}),  # the clerk, first turn
    "Order 7 is a lamp. It arrived broken.",
    "We are sorry that your lamp arrived broken. You get a new one.",  # the writer
    "The customer thanks us. Order 7 is settled.",  # the clerk, second turn
    "You are welcome! Enjoy your new lamp.",  # the writer
]


@tool
async def find_order(number: int) -> dict[str, str]:
    """Find an order by its number."""
    return {"order": str(number), "product": "lamp", "arrived": "broken"}


@executor(id="sign")
async def sign(letter: AgentExecutorResponse) -> str:
    """Add the signature: a step that needs no model."""
    return f"{letter.text}\n      -- Your lamp shop"


def build(model: LLMAdapter | str) -> Workflow:
    """Return the workflow: a clerk finds the facts, a writer answers, a function signs."""
    clerk = ChatAgent(model, "Find the facts about the customer's order.", name="clerk", tools=[find_order])
    writer = ChatAgent(model, "Answer the customer in one or two sentences.", name="writer")
    return WorkflowBuilder("letters").set_start(clerk).add_edge(clerk, writer).add_edge(writer, sign).build()


async def run(model: LLMAdapter | str) -> None:
    """Talk to the workflow as to any agent."""
    desk = build(model).as_agent("desk")
    thread = desk.new_thread(user_id="ada")
    for question in ("What about order 7?", "Thank you!"):
        answer = await desk.run(question, thread)
        print(f"ada:  {question}\ndesk: {answer.text}")
    print(f"{len(thread.messages)} messages are in the thread.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="a real model; without it, a script answers")
    asyncio.run(run(parser.parse_args().model or ScriptedModel(SCRIPT)))
