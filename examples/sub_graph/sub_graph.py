"""A graph within a graph: the inner one writes a skeleton, then its methods, until they compile."""

import argparse
import asyncio
import textwrap

from agentic.core import EventKind, Workflow, WorkflowBuilder, executor
from agentic.core.coding import (
    CompileOutput,
    CompileValidatorExecutor,
    GeneratedCode,
    GeneratorInput,
    LLMGeneratorExecutor,
    SandboxValidator,
    TestOutput,
    TestValidatorExecutor,
    language_tools,
)
from agentic.core.llm import LLMAdapter, ScriptedModel, llm
from agentic.core.sandbox import open_sandbox

TESTS = """\
from main import Stack


def test_the_last_one_comes_first():
    stack = Stack()
    stack.push(1)
    stack.push(2)
    assert [stack.pop(), stack.pop()] == [2, 1]
"""
SKELETON = """\
class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        raise NotImplementedError

    def pop(self):
        raise NotImplementedError
"""
FILLED = SKELETON.replace("raise NotImplementedError", "self.items.append(item)", 1).replace(
    "raise NotImplementedError", "return self.items.pop()"
)
SCRIPT = [
    SKELETON,
    FILLED.replace("def pop(self):", "def pop(self)"),  # does not compile
    FILLED,
]


@executor(id="done")
async def done(output: CompileOutput) -> GeneratedCode:
    """Pass the code that compiles on: the output of the inner graph."""
    return GeneratedCode(code=output.code, language=output.language)


@executor(id="deliver")
async def deliver(output: TestOutput) -> str:
    """Return the code that passed."""
    return output.code


def implementation(model: LLMAdapter, validator: SandboxValidator) -> Workflow:
    """Return the inner graph: skeleton, methods, compiler."""
    skeleton = LLMGeneratorExecutor(
        "skeleton", model, system_prompt="Write signatures only: no bodies.", yields_status=False
    )
    methods = LLMGeneratorExecutor(
        "methods", model, system_prompt="Write the methods of the skeleton.", yields_status=False
    )
    compiler = CompileValidatorExecutor("compile", validator, yields_status=False)
    return (
        WorkflowBuilder("impl")
        .set_start(skeleton)
        .add_edge(skeleton, methods)
        .add_edge(methods, compiler)
        .add_conditional_edge(compiler, done, lambda output: output.passed, "compiles")
        .add_retry_edge(compiler, methods, when=lambda output: not output.passed, max_passes=3)
        .build()
    )


def build(model: LLMAdapter, validator: SandboxValidator) -> Workflow:
    """Return the outer graph: it tests the code that the inner one wrote."""
    impl = implementation(model, validator)
    test = TestValidatorExecutor("test", validator, tests=TESTS, yields_status=False)
    return (
        WorkflowBuilder("program")
        .set_start(impl)
        .add_edge(impl, test)
        .add_conditional_edge(test, deliver, lambda output: output.passed, "passed")
        .add_retry_edge(test, impl, when=lambda output: not output.passed, max_passes=2)
        .build()
    )


async def run(model: LLMAdapter) -> None:
    """Run it; print the nodes that worked, in order, and the code."""
    async with open_sandbox(language_tools()) as sandbox:
        given = GeneratorInput.new("A class Stack with push and pop.", "python")
        result = await build(model, SandboxValidator(sandbox)).run(given)
    done = [event.path for event in result.events if event.kind is EventKind.EXECUTOR_COMPLETED]
    print(textwrap.fill(" > ".join(done), 80), result.output(str), sep="\n\n")


async def main() -> None:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="a real model; without it, a script answers")
    name = parser.parse_args().model
    async with llm(name) if name else ScriptedModel(SCRIPT) as model:
        await run(model)


if __name__ == "__main__":
    asyncio.run(main())
