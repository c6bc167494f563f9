"""A cache for async Rust: tests are made apart, and a draft is repaired until rustc and they accept it."""

import argparse
import asyncio

from script import MOVED, NAIVE, RIGHT, TESTS

from agentic.core import Workflow, WorkflowBuilder, executor
from agentic.core.coding import (
    CompileValidatorExecutor,
    GeneratedCode,
    GenerationRequest,
    GeneratorInput,
    LintValidator,
    LLMGeneratorExecutor,
    RepairEngine,
    RepairResult,
    SandboxValidator,
    TestValidatorExecutor,
    language_tools,
)
from agentic.core.llm import FunctionModel, LLMAdapter, ModelRequest, llm
from agentic.core.sandbox import open_sandbox

TASK = """\
Write a cache for async Rust: `Cache::<K, V>::new()` and `async fn get(&self, key, load) -> V`, where `load`
is called without arguments and returns a future. Two that ask for one key at the same time load it once. If a
load is dropped, the next one that asks loads again."""
WRITE_TESTS = "Write only tests of the task."


def script(request: ModelRequest) -> str:
    """Stand in for a model: choose the reply by the instructions and the number of failed attempts."""
    if request.instructions.startswith(WRITE_TESTS):
        return TESTS
    return (MOVED, NAIVE, RIGHT)[request.messages[-1].text.count("\nAttempt ")]


@executor(id="with_tests")
async def with_tests(tests: GeneratedCode) -> GeneratorInput:
    """Give the same task to the next model, with tests that it does not see."""
    return GeneratorInput.new(tests.prompt, tests.language).with_tests(tests.code)


@executor(id="deliver")
async def deliver(result: RepairResult) -> str:
    """Return the best draft, after the story of the repair."""
    errors = [f"  draft {number}: {error or 'passed'}" for number, error in enumerate(result.fingerprints, 1)]
    return "\n".join([f"{result.ended} after {result.rounds} drafts", *errors, "", result.code])


def repair(model: LLMAdapter, validator: SandboxValidator) -> RepairEngine:
    """Return the node that writes and repairs; it is a graph, too."""
    checks = [
        CompileValidatorExecutor("compile", validator),
        LintValidator("lint", validator),
        TestValidatorExecutor("test", validator),
    ]
    return RepairEngine("repair", model, checks, max_rounds=5)


def build(model: LLMAdapter, validator: SandboxValidator) -> Workflow:
    """Return the workflow."""
    write_tests = LLMGeneratorExecutor("write_tests", model, system_prompt=WRITE_TESTS, yields_status=False)
    engine = repair(model, validator)
    return (
        WorkflowBuilder("async_cache", version="1")
        .set_start(write_tests)
        .add_edge(write_tests, with_tests)
        .add_edge(with_tests, engine)
        .add_edge(engine, deliver)
        .build()
    )


async def run(model: LLMAdapter) -> None:
    """Run the workflow."""
    async with open_sandbox(language_tools()) as sandbox:
        request = GenerationRequest(task=TASK, language="rust")
        result = await build(model, SandboxValidator(sandbox)).run(request)
    print(result.output(str))


async def main() -> None:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="a real model; without it, a script answers")
    name = parser.parse_args().model
    async with llm(name) if name else FunctionModel(script) as model:
        await run(model)


if __name__ == "__main__":
    asyncio.run(main())
