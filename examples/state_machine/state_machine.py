"""A TypeScript state machine: types and tests are made apart; compiler and tests send code back."""

import argparse
import asyncio
from collections.abc import Sequence

from agentic.core import Workflow, WorkflowBuilder, executor
from agentic.core.coding import (
    CodeToValidate,
    CompileValidatorExecutor,
    GeneratedCode,
    GenerationRequest,
    LLMGeneratorExecutor,
    SandboxValidator,
    TestOutput,
    TestValidatorExecutor,
    language_tools,
)
from agentic.core.llm import FunctionModel, LLMAdapter, ModelRequest, llm
from agentic.core.sandbox import ConfiguredSandbox, open_sandbox
from agentic.executors import submit

TASK = """\
Create a TypeScript state machine of an order. Its states are new, paid, sent and cancelled; its events are
pay, send and cancel. An order can be cancelled until it is sent. Export the types State and OrderEvent, and
next(state: State, event: OrderEvent): State, which throws an Error if the event is not allowed."""
REQUEST = GenerationRequest(task=TASK, language="typescript")
WRITE_TYPES = "Write only the exported types."
WRITE_TESTS = "Write only tests of the task."
WRITE_FUNCTIONS = "Write only the functions. The types are above them in the module: leave them out."

TYPES = """\
export type State = "new" | "paid" | "sent" | "cancelled";
export type OrderEvent = "pay" | "send" | "cancel";
"""
TESTS = """\
import assert from "node:assert/strict";
import { test } from "node:test";
import { next } from "./main.ts";

test("an order is paid, then sent", () => {
  assert.equal(next(next("new", "pay"), "send"), "sent");
});

test("an order can be cancelled until it is sent", () => {
  assert.equal(next("paid", "cancel"), "cancelled");
  assert.throws(() => next("sent", "cancel"), Error);
});
"""
RIGHT = """\
const WAYS: Record<State, Partial<Record<OrderEvent, State>>> = {
  new: { pay: "paid", cancel: "cancelled" },
  paid: { send: "sent", cancel: "cancelled" },
  sent: {},
  cancelled: {},
};

export function next(state: State, event: OrderEvent): State {
  const found = WAYS[state][event];
  if (found === undefined) throw new Error(`${event} is not allowed in ${state}`);
  return found;
}
"""
DRAFTS = [
    RIGHT.replace("  if (found === undefined) throw new Error(`${event} is not allowed in ${state}`);\n", ""),
    RIGHT.replace("sent: {}", 'sent: { cancel: "cancelled" }'),
    RIGHT,
]
"""The first does not compile, the second fails a test."""


def script(request: ModelRequest) -> str:
    """Stand in for a model: choose the reply by the instructions and the number of failed attempts."""
    if request.instructions.startswith(WRITE_TYPES):
        return TYPES
    if request.instructions.startswith(WRITE_TESTS):
        return TESTS
    return DRAFTS[request.messages[-1].text.count("\nAttempt ")]


@executor(id="assembler")
async def assembler(parts: list[GeneratedCode]) -> CodeToValidate:
    """Make one module of types and implementation; the tests stay in a file of their own."""
    types, impl, tests = parts
    return CodeToValidate(code=f"{types.code}\n{impl.code}", language=types.language, tests=tests.code)


@executor(id="deliver")
async def deliver(output: TestOutput) -> str:
    """Return the code that passed."""
    return output.code


def build(model: LLMAdapter, validator: SandboxValidator) -> Workflow:
    """Return the workflow."""
    type_gen = LLMGeneratorExecutor("type_gen", model, system_prompt=WRITE_TYPES)
    test_gen = LLMGeneratorExecutor("test_gen", model, system_prompt=WRITE_TESTS)
    impl_gen = LLMGeneratorExecutor("impl_gen", model, system_prompt=WRITE_FUNCTIONS)
    compile_val = CompileValidatorExecutor("compile_val", validator)
    test_val = TestValidatorExecutor("test_val", validator)
    return (
        WorkflowBuilder("state_machine", version="1")
        .set_start(type_gen, test_gen)
        .add_edge(type_gen, impl_gen)
        .add_fan_in_edge([type_gen, impl_gen, test_gen], assembler, mode="latest")
        .add_edge(assembler, compile_val)
        .add_conditional_edge(compile_val, test_val, lambda output: output.passed, "compiles")
        .add_conditional_edge(test_val, deliver, lambda output: output.passed, "passes")
        .add_retry_edge(compile_val, impl_gen, when=lambda output: not output.passed, max_passes=3)
        .add_retry_edge(test_val, impl_gen, when=lambda output: not output.passed, max_passes=3)
        .build()
    )


def on_workers() -> Workflow:
    """Return the workflow for durable runs: workers build it by its name."""
    return build(FunctionModel(script), SandboxValidator(ConfiguredSandbox(language_tools())))


async def run(name: str | None) -> Sequence[object]:
    """Run the workflow in this process."""
    async with (
        open_sandbox(language_tools()) as sandbox,
        llm(name) if name else FunctionModel(script) as model,
    ):
        result = await build(model, SandboxValidator(sandbox)).run(REQUEST)
    return result.outputs


def run_durably() -> Sequence[object]:
    """Run the workflow as a durable run: here, or on workers if the settings say so."""
    return submit("state_machine:on_workers", REQUEST).result().outputs


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="a real model; without it, a script answers")
    parser.add_argument("--durable", action="store_true", help="a durable run, with the script")
    given = parser.parse_args()
    print(*(run_durably() if given.durable else asyncio.run(run(given.model))), sep="\n")
