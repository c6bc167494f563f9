"""What a builder and a run refuse."""

from typing import assert_type

from agentic.core import Case, Default, Executor, RunResult, Workflow, WorkflowBuilder
from agentic.core.types import EdgeId, ExecutorId, TaskId, WorkflowId


def no_condition() -> str:
    return ""


def build(builder: WorkflowBuilder) -> None:
    builder.set_start(3)  # error: mypy[arg-type] pyright[reportArgumentType]
    builder.add_edge("a", no_condition)  # error: mypy[arg-type] pyright[reportArgumentType]
    builder.add_edge("a")  # error: mypy[call-arg] pyright[reportCallIssue]
    builder.add_edge("a", "b", no_condition)  # error: mypy[arg-type] pyright[reportArgumentType]
    builder.add_edge("a", "b", on="error")  # error: mypy[arg-type] pyright[reportArgumentType]
    builder.add_conditional_edge("a", "b")  # error: mypy[call-arg] pyright[reportCallIssue]
    builder.add_switch_edge("a", [(bool, "b")])  # error: mypy[list-item] pyright[reportArgumentType]
    builder.add_switch_edge("a", [Case("b", bool), Default("b")])  # error: mypy[arg-type] pyright[reportArgumentType]
    builder.add_fan_out_edge("a", ["b"], select=bool)  # error: mypy[arg-type] pyright[reportArgumentType]
    builder.add_fan_in_edge(["a", "b"], "c", mode="any")  # error: mypy[arg-type] pyright[reportArgumentType]
    builder.add_retry_edge("a", "b")  # error: mypy[call-arg] pyright[reportCallIssue]
    builder.add_state("a", max)  # error: mypy[call-arg] pyright[reportCallIssue]
    WorkflowBuilder()  # error: mypy[call-arg] pyright[reportCallIssue]


async def run(workflow: Workflow, result: RunResult) -> None:
    await workflow.run()  # error: mypy[call-arg] pyright[reportCallIssue]
    await workflow.run(1, id="one")  # error: mypy[call-arg] pyright[reportCallIssue]
    assert_type(result.output(str), int)  # error: mypy[assert-type] pyright[reportAssertTypeFailure]
    result.output("str")  # error: mypy[arg-type] pyright[reportArgumentType]
    result.outputs = ()  # error: mypy[misc] pyright[reportAttributeAccessIssue]
    for event in workflow.run_stream(1):  # error: mypy[attr-defined] pyright[reportGeneralTypeIssues]
        pass


def names(workflow: Workflow, node: Executor, task: TaskId) -> None:
    one: WorkflowId = node.id  # error: mypy[assignment] pyright[reportAssignmentType]
    two: ExecutorId = workflow.id  # error: mypy[assignment] pyright[reportAssignmentType]
    three: EdgeId = task  # error: mypy[assignment] pyright[reportAssignmentType]
    four: TaskId = "task"  # error: mypy[assignment] pyright[reportAssignmentType]
    assert one, (two, three, four)
