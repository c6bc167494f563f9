"""A graph with each kind of edge: a choice, two steps at the same time, a join, a retry, a condition."""

import asyncio
from dataclasses import dataclass, replace

from agentic.core import Case, Default, ExecutorKind, Workflow, WorkflowBuilder, WorkflowContext, executor

PRICES = {"lamp": 39, "bulb": 3}
STOCK = {"lamp": 2, "bulb": 0}


@dataclass(frozen=True)
class Letter:
    """A letter to a customer, and whether it may be sent."""

    text: str
    reason: str = ""


@executor(id="read")
async def read(question: str) -> str:
    """Find the product: the last word."""
    return question.lower().strip("?.! ").split()[-1]


@executor(id="unknown")
async def unknown(product: str) -> str:
    """Answer questions about other products."""
    return f"We do not sell a {product}."


@executor(id="look_up")
async def look_up(product: str) -> str:
    """Pass the product to those who know something about it."""
    return product


@executor(id="price")
async def price(product: str) -> str:
    """Say the price."""
    return f"The {product} costs {PRICES[product]}."


@executor(id="stock")
async def stock(product: str) -> str:
    """Say how many there are."""
    return f"We have {STOCK[product]}."


@executor(id="write")
async def write(facts: list[str], ctx: WorkflowContext) -> Letter:
    """Write a letter; after a refusal, with a greeting."""
    return Letter(" ".join(["Dear customer,", *facts] if ctx.previous_errors else facts))


@executor(id="check", kind=ExecutorKind.VALIDATOR)
async def check(letter: Letter) -> Letter:
    """Refuse letters without a greeting."""
    return letter if letter.text.startswith("Dear") else replace(letter, reason="it is not polite")


@executor(id="send")
async def send(letter: Letter) -> str:
    """Send a letter."""
    return letter.text


def build() -> Workflow:
    """Return the workflow."""
    return (
        WorkflowBuilder("letters")
        .set_start(read)
        .add_switch_edge(read, [Case(lambda product: product in PRICES, look_up), Default(unknown)])
        .add_fan_out_edge(look_up, [price, stock])
        .add_fan_in_edge([price, stock], write)
        .add_edge(write, check)
        .add_retry_edge(check, write, when=lambda letter: bool(letter.reason), max_passes=1)
        .add_conditional_edge(check, send, lambda letter: not letter.reason, "polite")
        .build()
    )


async def run() -> None:
    """Answer two questions."""
    workflow = build()
    for question in ("What is the price of a lamp?", "Do you sell a bicycle?"):
        result = await workflow.run(question)
        print(f"{question}\n  {result.output(str)}\n  {result.superstep_count} supersteps")


if __name__ == "__main__":
    asyncio.run(run())
