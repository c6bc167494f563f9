"""After: the same as a graph, which can be drawn, stored, continued and run on workers."""

import argparse
import asyncio

from before import SCRIPT, TASK, TESTS

from agentic.core import Workflow, WorkflowBuilder, executor
from agentic.core.coding import (
    CompileValidatorExecutor,
    GeneratorInput,
    LLMGeneratorExecutor,
    SandboxValidator,
    TestOutput,
    TestValidatorExecutor,
    language_tools,
)
from agentic.core.llm import LLMAdapter, ScriptedModel, llm
from agentic.core.sandbox import open_sandbox


@executor(id="deliver")
async def deliver(output: TestOutput) -> str:
    """Return the code that passed."""
    return output.code


def build(model: LLMAdapter, validator: SandboxValidator) -> Workflow:
    """Return the workflow."""
    write = LLMGeneratorExecutor("write", model)
    compiler = CompileValidatorExecutor("compile", validator, tests=TESTS)
    test = TestValidatorExecutor("test", validator, tests=TESTS)
    return (
        WorkflowBuilder("grounded_loop")
        .set_start(write)
        .add_edge(write, compiler)
        .add_conditional_edge(compiler, test, lambda output: output.passed, "compiles")
        .add_conditional_edge(test, deliver, lambda output: output.passed, "passes")
        .add_retry_edge(compiler, write, when=lambda output: not output.passed, max_passes=3)
        .add_retry_edge(test, write, when=lambda output: not output.passed, max_passes=3)
        .build()
    )


async def run(model: LLMAdapter) -> None:
    """Run the workflow."""
    async with open_sandbox(language_tools()) as sandbox:
        result = await build(model, SandboxValidator(sandbox)).run(GeneratorInput.new(TASK, "python"))
    print(*result.outputs, sep="\n")


async def main() -> None:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="a real model; without it, a script answers")
    name = parser.parse_args().model
    async with llm(name) if name else ScriptedModel(SCRIPT) as model:
        await run(model)


if __name__ == "__main__":
    asyncio.run(main())
