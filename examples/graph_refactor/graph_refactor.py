"""A model refactors code, its tests must pass, and a person agrees, in minutes or days."""

import argparse
import asyncio
import difflib
from contextlib import closing
from pathlib import Path

from agentic.core import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler
from agentic.core.coding import (
    GeneratorInput,
    LLMGeneratorExecutor,
    SandboxValidator,
    TestOutput,
    TestValidatorExecutor,
    language_tools,
)
from agentic.core.graph import ApprovalRequest, CheckpointNotFoundError, CheckpointStore, RunResult
from agentic.core.llm import LLMAdapter, ScriptedModel, llm
from agentic.core.sandbox import open_sandbox
from agentic.mappers import SqlCheckpointStore
from agentic.migrations import upgrade

DATABASE = "sqlite:///refactor.db"
HERE = Path(__file__).parent
CODE, TESTS = (HERE / "prices.py").read_text(), (HERE / "test_prices.py").read_text()
TASK = "Refactor the code: short functions, good names, no repetition. Keep its behaviour."

TIDY = '''\
"""Prices of a shop."""

TAX = {"NO": {"book": 0.0, "other": 0.25}, "other": {"book": 0.05, "other": 0.19}}


def tax_of(kind, country):
    rates = TAX.get(country, TAX["other"])
    return rates.get(kind, rates["other"])


def total(items, country):
    return round(sum(item["price"] * (1 + tax_of(item["kind"], country)) for item in items), 2)
'''
SCRIPT = [  # the first answer confuses two taxes
    f"```python\n{TIDY.replace('0.05', '0.5')}```",
    f"```python\n{TIDY}```",
]


class Review(Executor):
    """Shows the change to a person. If she agrees, it is written."""

    @handler
    async def review(self, tested: TestOutput, ctx: WorkflowContext) -> str:
        """Ask, then write."""
        lines = CODE.splitlines(), tested.code.splitlines()
        change = "\n".join(difflib.unified_diff(*lines, "prices.py", "refactored.py", lineterm=""))
        await ctx.request_approval("use this code", change)
        await asyncio.to_thread(Path("refactored.py").write_text, tested.code)
        return "refactored.py is written"


def build(model: LLMAdapter, validator: SandboxValidator) -> Workflow:
    """Return the workflow."""
    refactor = LLMGeneratorExecutor("refactor", model)
    test = TestValidatorExecutor("test", validator, tests=TESTS)
    return (
        WorkflowBuilder("refactoring", version="1")
        .set_start(refactor)
        .add_edge(refactor, test)
        .add_conditional_edge(test, Review("review"), lambda tested: tested.passed, "passed")
        .add_retry_edge(test, refactor, when=lambda tested: not tested.passed, max_passes=3)
        .build()
    )


async def run(workflow: Workflow, store: CheckpointStore, *, approve: bool) -> RunResult:
    """Begin the run, or continue it. Only a change that was shown can be approved."""
    try:
        waiting = await workflow.resume("prices", checkpoints=store)
    except CheckpointNotFoundError:
        given = GeneratorInput.new(TASK, "python").with_context(CODE)
        return await workflow.run(given, run_id="prices", checkpoints=store)
    if not approve:
        return waiting
    answers = {request.id: {"approved": True} for request in waiting.pending_requests}
    return await workflow.resume("prices", checkpoints=store, responses=answers)


async def main() -> None:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--approve", action="store_true", help="agree with the change that was shown")
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="a real model; without it, a script answers")
    given = parser.parse_args()
    upgrade(DATABASE)
    with closing(SqlCheckpointStore.open(DATABASE)) as store:
        async with (
            open_sandbox(language_tools()) as sandbox,
            llm(given.model) if given.model else ScriptedModel(SCRIPT) as model,
        ):
            result = await run(build(model, SandboxValidator(sandbox)), store, approve=given.approve)
    print(*result.outputs, sep="\n")
    for request in result.pending_requests:
        if isinstance(request.data, ApprovalRequest):
            print(request.data.details)
        print("To use this code, run the example with --approve.")


if __name__ == "__main__":
    asyncio.run(main())
