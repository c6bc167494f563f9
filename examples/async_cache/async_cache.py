"""A cache for async Rust: code and tests are made apart; rustc, its warnings and the tests judge."""

import argparse
import asyncio

from script import MOVED, NAIVE, RIGHT, TESTS

from agentic.core import Workflow, WorkflowBuilder, executor
from agentic.core.coding import (
    CodeToValidate,
    CompileValidatorExecutor,
    GeneratedCode,
    GenerationRequest,
    LintValidator,
    LLMGeneratorExecutor,
    SandboxValidator,
    TestValidatorExecutor,
    ValidationReport,
    ValidatorPipeline,
    language_tools,
)
from agentic.core.llm import FunctionModel, LLMAdapter, ModelRequest, llm
from agentic.core.sandbox import open_sandbox

TASK = """\
Write a cache for async Rust: `Cache::<K, V>::new()` and `async fn get(&self, key, load) -> V`, where `load`
is called without arguments and returns a future. Two that ask for one key at the same time load it once. If a
load is dropped, the next one that asks loads again."""
WRITE_CODE = "Write the module, without tests."
WRITE_TESTS = "Write only tests of the task."


def script(request: ModelRequest) -> str:
    """Stand in for a model: choose the reply by the instructions and the number of failed attempts."""
    if request.instructions.startswith(WRITE_TESTS):
        return TESTS
    return (MOVED, NAIVE, RIGHT)[request.messages[-1].text.count("\nAttempt ")]


@executor(id="join")
async def join(parts: list[GeneratedCode]) -> CodeToValidate:
    """Put the code and its tests side by side."""
    code, tests = parts
    return CodeToValidate(code=code.code, language=code.language, tests=tests.code)


@executor(id="deliver")
async def deliver(report: ValidationReport) -> str:
    """Return the code that passed."""
    return report.code


def build(model: LLMAdapter, validator: SandboxValidator) -> Workflow:
    """Return the workflow."""
    write = LLMGeneratorExecutor("write", model, system_prompt=WRITE_CODE)
    write_tests = LLMGeneratorExecutor("write_tests", model, system_prompt=WRITE_TESTS)
    checks = ValidatorPipeline(
        [
            CompileValidatorExecutor("compile", validator),
            LintValidator("lint", validator),
            TestValidatorExecutor("test", validator),
        ]
    )
    builder = (
        WorkflowBuilder("async_cache", version="1")
        .set_start(write, write_tests)
        .add_fan_in_edge([write, write_tests], join, mode="latest")
    )
    report = checks.connect(builder, join)
    return (
        builder.add_conditional_edge(report, deliver, lambda report: report.passed, "passed")
        .add_retry_edge(report, write, when=lambda report: not report.passed, max_passes=3)
        .build()
    )


async def run(model: LLMAdapter) -> None:
    """Run the workflow."""
    async with open_sandbox(language_tools()) as sandbox:
        request = GenerationRequest(task=TASK, language="rust")
        result = await build(model, SandboxValidator(sandbox)).run(request)
    print(*result.outputs, sep="\n")


async def main() -> None:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="a real model; without it, a script answers")
    name = parser.parse_args().model
    async with llm(name) if name else FunctionModel(script) as model:
        await run(model)


if __name__ == "__main__":
    asyncio.run(main())
