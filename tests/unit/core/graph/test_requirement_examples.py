"""The examples of the requirement documents, as they would be written here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pytest

from agentic.core import (
    CustomEvent,
    EventKind,
    Executor,
    ExecutorKind,
    MemoryCheckpointStore,
    RetryPolicy,
    RunStatus,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
    handler,
)
from agentic.core.graph import ApprovalRequest, RejectedError, UndeliverableMessageError
from agentic.core.types import ExecutorId


@dataclass(frozen=True)
class Code:
    """What a generator wrote."""

    kind: str
    text: str


@dataclass(frozen=True)
class Validation:
    """What a validator found."""

    stage: str
    passed: bool
    errors: tuple[str, ...] = ()


class CodeGenerator(Executor):
    """Writes code; a feedback makes the next version better."""

    @handler
    async def write(self, task: str, ctx: WorkflowContext) -> Code:
        return self.version(ctx)

    @handler
    async def after_types(self, types: Code, ctx: WorkflowContext) -> Code:
        return self.version(ctx)

    @handler
    async def mend(self, feedback: Validation, ctx: WorkflowContext) -> Code:
        await ctx.add_event(CustomEvent(type="generation.progress", data={"phase": feedback.stage}))
        return self.version(ctx)

    def version(self, ctx: WorkflowContext) -> Code:
        number = int(str(ctx.local.get("version", 0))) + 1
        ctx.local["version"] = number
        return Code(self.id, f"{self.id} v{number}")


class Assembler(Executor):
    """Puts the parts of a project together."""

    @handler
    async def assemble(self, parts: list[Code]) -> Code:
        return Code("project", ", ".join(part.text for part in parts))


class Validator(Executor):
    """Is content from a version of the implementation on."""

    def __init__(self, id: str, needs: int) -> None:
        super().__init__(id, kind=ExecutorKind.VALIDATOR)
        self.needs = needs

    @handler
    async def check(self, project: Code) -> Validation:
        passed = f"impl_gen v{self.needs}" in project.text or f"impl_gen v{self.needs + 1}" in project.text
        return Validation(self.id, passed, () if passed else ("not yet",))

    @handler
    async def check_further(self, before: Validation, ctx: WorkflowContext) -> Validation:
        passed = bool(ctx.local.get("asked"))
        ctx.local["asked"] = True
        if passed:
            await ctx.yield_output("state machine")
        return Validation(self.id, passed)


def state_machine() -> Workflow:
    return (
        WorkflowBuilder("state machine", version="1")
        .set_start(CodeGenerator("type_gen"), CodeGenerator("test_gen"))
        .add_edge("type_gen", CodeGenerator("impl_gen"))
        .add_fan_in_edge(["type_gen", "impl_gen", "test_gen"], Assembler("assembler"), mode="latest")
        .add_edge("assembler", Validator("compile_val", needs=2))
        .add_conditional_edge(
            "compile_val", Validator("test_val", 0), lambda r: r.passed, "on_compile_success"
        )
        .add_conditional_edge("compile_val", "impl_gen", lambda r: not r.passed, "on_compile_failure")
        .add_conditional_edge("test_val", "impl_gen", lambda r: not r.passed, "on_test_failure")
        .build()
    )


@pytest.mark.requirement("BU12", "BU13", "EX07", "EX20", "OR02", "OR03")
async def test_state_machine_is_generated_with_feedback_from_two_validators() -> None:
    result = await state_machine().run("Create a TypeScript state machine")
    assert result.outputs == ("state machine",)
    checked = [
        event.data["input"]["v"]["text"]  # type: ignore[index, call-overload]  # a Code as JSON
        for event in result.events
        if event.kind is EventKind.EXECUTOR_INVOKED and event.path == "compile_val"
    ]
    assert checked == [f"type_gen v1, impl_gen v{n}, test_gen v1" for n in (1, 2, 3)]


@pytest.mark.requirement("CX04", "CX21", "CX22")
async def test_progress_of_a_generation_is_told_while_it_goes_on() -> None:
    stream = state_machine().run_stream("Create a TypeScript state machine")
    told = [event.data async for event in stream if event.kind is EventKind.CUSTOM]
    assert [facts["data"] for facts in told] == [{"phase": "compile_val"}, {"phase": "test_val"}]


@pytest.mark.requirement("CX23")
async def test_large_content_goes_through_the_shared_state_and_only_its_name_over_the_edge() -> None:
    @executor(id="file_reader")
    async def read(path: str, ctx: WorkflowContext) -> str:
        ctx.set_state(f"file:{path}", "three short words")
        return f"file:{path}"

    @executor(id="word_counter")
    async def count(name: str, ctx: WorkflowContext) -> int:
        return len(ctx.get_state(name, "").split())

    flow = WorkflowBuilder("words").set_start(read).add_edge(read, count).build()
    assert (await flow.run("a.txt")).outputs == (3,)


class Deploy(Executor):
    """Deploys what somebody approved."""

    @handler
    async def deploy(self, service: str, ctx: WorkflowContext) -> str:
        await ctx.request_approval("deploy", {"service": service})
        return f"{service} deployed"


@pytest.mark.requirement("CX19", "CX24", "EX13")
@pytest.mark.parametrize("approved", [True, False])
async def test_deployment_waits_for_an_approval_and_a_refusal_is_an_error(approved: bool) -> None:
    store = MemoryCheckpointStore()
    flow = WorkflowBuilder("deploy", version="1").set_start(Deploy("deploy")).build()
    waiting = await flow.run("web", run_id="r", checkpoints=store)
    assert waiting.status is RunStatus.WAITING_INPUT
    (request,) = waiting.pending_requests
    assert request.data == ApprovalRequest(action="deploy", details={"service": "web"})
    responses: dict[str, object] = {request.id: {"approved": approved, "reason": "not on Fridays"}}
    if approved:
        result = await flow.resume("r", checkpoints=store, responses=responses)
        assert result.outputs == ("web deployed",)
    else:
        with pytest.raises(RejectedError, match="not on Fridays"):
            await flow.resume("r", checkpoints=store, responses=responses)


class Priority(StrEnum):
    """How urgent a message is."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


def by_priority(priority: Priority, targets: Sequence[str]) -> Sequence[str]:
    """High ones have one handler, normal ones two, low ones all."""
    return targets[: {Priority.HIGH: 1, Priority.NORMAL: 2, Priority.LOW: len(targets)}[priority]]


@pytest.mark.requirement("ED07", "ED08", "BU08")
@pytest.mark.parametrize(("priority", "count"), [("high", 1), ("normal", 2), ("low", 3)])
async def test_selection_picks_targets_by_the_message(priority: str, count: int) -> None:
    @executor(id="classify")
    async def classify(text: str) -> Priority:
        return Priority(text)

    class Handle(Executor):
        @handler
        async def handle_it(self, priority: Priority) -> str:
            return self.id

    handlers = [Handle(f"h{number}") for number in range(3)]
    flow = (
        WorkflowBuilder("priorities")
        .set_start(classify)
        .add_fan_out_edge(classify, handlers, select=by_priority)
        .build()
    )
    assert len((await flow.run(priority)).outputs) == count


@dataclass(frozen=True)
class Task:
    """Work whose graph is only known when it is there."""

    steps: tuple[str, ...]


class Orchestrator(Executor):
    """Builds a graph for a task and runs it."""

    @handler
    async def orchestrate(self, task: Task, ctx: WorkflowContext) -> list[str]:
        builder = WorkflowBuilder("task").set_start(step(task.steps[0]))
        for before, after in zip(task.steps, task.steps[1:], strict=False):
            builder.add_edge(before, step(after))
        result = await ctx.run_workflow(builder.build(), "")
        return [result.output(str)]


def step(name: str) -> Executor:
    @executor(id=name)
    async def add(text: str) -> str:
        return text + name

    return add


@pytest.mark.requirement("OR01", "OR04", "OR07", "OR10", "EX21")
async def test_orchestrator_builds_the_graph_of_a_task_at_run_time() -> None:
    flow = WorkflowBuilder("orchestrate").set_start(Orchestrator("orchestrator")).build()
    result = await flow.run(Task(("plan", "write", "check")))
    assert result.outputs == (["planwritecheck"],)
    assert {"orchestrator/plan", "orchestrator/check"} <= {event.path for event in result.events}


@pytest.mark.requirement("OR05", "OR08")
async def test_deadlock_is_named_and_not_waited_for() -> None:
    @executor(id="never")
    async def never(text: str) -> str | None:
        return None

    @executor(id="join")
    async def join(parts: list[str]) -> str:
        return "".join(parts)

    flow = WorkflowBuilder("stuck").set_start(step("a"), never).add_fan_in_edge(["a", "never"], join).build()
    result = await flow.run("")
    assert (result.waiting_fan_ins, result.outputs) == (("join",), ())


@pytest.mark.requirement("EX19", "EX22", "EN08", "EN13")
def test_a_workflow_is_executors_by_id_with_a_configuration_each_and_one_of_its_own() -> None:
    @executor(id="fetch", retry=RetryPolicy(max_attempts=4), timeout_s=2.5, max_parallel=3)
    async def fetch(url: str) -> str:
        return url

    @executor(id="store")
    async def store(page: str) -> None:
        """Keep it."""

    config = WorkflowConfig(max_supersteps=7)
    workflow = WorkflowBuilder("pages", config=config).set_start(fetch).add_edge(fetch, store).build()
    assert workflow.config.max_supersteps == 7
    assert workflow.graph.executors[ExecutorId("fetch")] is fetch
    definition = json.loads(json.dumps(workflow.to_dict()))
    by_id = {node["id"]: node for node in definition["executors"]}
    assert by_id["fetch"]["timeout_s"] == 2.5
    assert by_id["fetch"]["max_parallel"] == 3
    assert by_id["fetch"]["retry"]["max_attempts"] == 4
    assert by_id["store"]["retry"] is None
    assert [edge["name"] for edge in definition["edges"]] == ["fetch->store"]


@pytest.mark.requirement("EX09")
async def test_json_values_pass_between_executors_and_each_checks_what_it_takes() -> None:
    @executor(id="parse")
    async def parse(text: str) -> Any:
        return json.loads(text)

    @executor(id="count")
    async def count(values: dict[str, int]) -> int:
        return sum(values.values())

    workflow = WorkflowBuilder("json").set_start(parse).add_edge(parse, count).build()
    assert (await workflow.run('{"a": 1, "b": 2}')).outputs == (3,)
    with pytest.raises(UndeliverableMessageError, match="'count' does not accept dict"):
        await workflow.run('{"a": "one"}')
