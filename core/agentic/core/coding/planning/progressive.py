"""Writes a program part after part, and locks each part that is valid: types, stubs, tests, logic."""

from __future__ import annotations

from collections.abc import Mapping

from agentic.core.coding.checking import SandboxValidator
from agentic.core.coding.errors import BadPlanError
from agentic.core.coding.executors.validators import (
    CoherenceValidator,
    CompileValidatorExecutor,
    TestValidatorExecutor,
)
from agentic.core.coding.messages import (
    CodingMessage,
    CodingTask,
    GeneratorInput,
    LockedPart,
    ValidatorOutput,
    input_of,
)
from agentic.core.coding.planning.locking import LockValidator
from agentic.core.coding.planning.plan import CodePlan, CodeTaskKind, usual_plan
from agentic.core.coding.repairing.engine import MAX_ROUNDS, RepairEngine
from agentic.core.coding.repairing.judging import RepairEnd, RepairResult
from agentic.core.coding.repairing.lessons import LessonStore
from agentic.core.graph import (
    Executor,
    ExecutorKind,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
)
from agentic.core.llm import LLMAdapter
from agentic.core.sandbox import Sandbox

_PLAN, _DONE = "plan", "done"


class StageResult(CodingMessage):
    """The result of a stage.

    Attributes:
        kind: The part that it was for.
        ended: Why its repair ended.
        rounds: Drafts that were written.
    """

    __wire_name__ = "agentic.coding.StageResult"

    kind: CodeTaskKind
    ended: RepairEnd
    rounds: int


class ProgressiveResult(ValidatorOutput):
    """A program that was written part after part.

    If a stage failed, the rest was not tried: ``errors`` belong to its best draft, and ``code`` and
    ``tests`` are the newest ones.

    Attributes:
        stages: The stages, in order.
    """

    __wire_name__ = "agentic.coding.ProgressiveResult"

    stages: tuple[StageResult, ...] = ()


class ProgressiveWriter(Executor):
    """Writes a program in stages: types, stubs (signatures without logic), tests, logic.

    Each stage is a :class:`RepairEngine` with checks of its own. A valid part is locked: later drafts that
    change it are refused, with the lines that they changed. Tests are written against the stubs, and must fit
    to them; the writer of the logic sees their failures only. Sends :class:`ProgressiveResult`.

    Its graph is ``workflow``; a stage that ended is not run again after a crash.

    Args:
        id: Of the node, and of the workflow.
        model: Writes the parts.
        validator: Checks them; or a sandbox, with the tools of the languages.
        max_rounds: Most drafts of a stage.
        lessons: See :class:`RepairEngine`.
    """

    def __init__(
        self,
        id: str,  # noqa: A002  # as of every executor
        model: LLMAdapter,
        validator: SandboxValidator | Sandbox,
        *,
        max_rounds: int = MAX_ROUNDS,
        lessons: LessonStore | None = None,
    ) -> None:
        super().__init__(id, kind=ExecutorKind.ORCHESTRATOR)
        stages = _Stages()
        builder = WorkflowBuilder(id).set_start(stages)
        for kind, checks in _checks(validator).items():
            engine = RepairEngine(kind.value, model, checks, max_rounds=max_rounds, lessons=lessons)
            builder.add_edge(stages, engine).add_edge(engine, stages, has_result)
        self.workflow = builder.build()

    @property
    def called_workflows(self) -> tuple[Workflow, ...]:
        """Its graph: stored runs know the messages in it."""
        return (self.workflow,)

    @handler
    async def on_plan(self, plan: CodePlan, ctx: WorkflowContext) -> ProgressiveResult:
        """Write a program by a plan. Tasks of one kind are one stage; types and stubs can be left out.

        Raises:
            BadPlanError: The plan has no task for the logic, or neither tests nor a task for tests.
        """
        kinds = {task.kind for task in plan.tasks}
        if CodeTaskKind.LOGIC not in kinds:
            raise BadPlanError(self.id, "it has no task for the logic")
        if CodeTaskKind.TESTS not in kinds and not plan.tests:
            raise BadPlanError(self.id, "it has no tests, and no task for tests")
        result = await ctx.run_workflow(self.workflow, plan)
        return result.output(ProgressiveResult)

    @handler
    async def on_task(self, task: CodingTask, ctx: WorkflowContext) -> ProgressiveResult:
        """Write a program by the usual plan. Tests that come with the task are not written again."""
        given = input_of(task)
        whole = f"{given.prompt}\n\nContext:\n{given.context}" if given.context else given.prompt
        return await self.on_plan(usual_plan(whole, given.language, given.tests), ctx)


class _Stages(Executor):
    """Begins one stage after the other, and locks the result of each."""

    def __init__(self) -> None:
        super().__init__("stages", kind=ExecutorKind.ORCHESTRATOR)

    @handler
    async def on_plan(self, plan: CodePlan, ctx: WorkflowContext[GeneratorInput, ProgressiveResult]) -> None:
        """Begin the first stage."""
        ctx.local[_PLAN] = plan.model_dump(mode="json")
        await _go_on(plan, {}, ctx)

    @handler
    async def on_result(
        self, result: RepairResult, ctx: WorkflowContext[GeneratorInput, ProgressiveResult]
    ) -> None:
        """Lock the result of a stage, and begin the next one."""
        kept = ctx.local.get(_DONE)
        done = (
            {name: RepairResult.model_validate(one) for name, one in kept.items()}
            if isinstance(kept, dict)
            else {}
        )
        done[ctx.source_ids[0]] = result
        ctx.local[_DONE] = {name: one.model_dump(mode="json") for name, one in done.items()}
        await _go_on(CodePlan.model_validate(ctx.local[_PLAN]), done, ctx)


async def _go_on(
    plan: CodePlan, done: Mapping[str, RepairResult], ctx: WorkflowContext[GeneratorInput, ProgressiveResult]
) -> None:
    """Begin the next stage; after the last or a failed one, yield the result."""
    left = [kind for kind in stages_of(plan) if kind not in done]
    if left and all(one.passed for one in done.values()):
        await ctx.send_message(stage_input(plan, left[0], done), target=left[0].value)
    else:
        await ctx.yield_output(_result(plan, done))


def stages_of(plan: CodePlan) -> list[CodeTaskKind]:
    """Return the stages of a plan, in order: without tests, if they are there already."""
    kinds = {task.kind for task in plan.tasks} - ({CodeTaskKind.TESTS} if plan.tests else set())
    return [kind for kind in CodeTaskKind if kind in kinds]


def stage_input(plan: CodePlan, kind: CodeTaskKind, done: Mapping[str, RepairResult]) -> GeneratorInput:
    """Return the input of a stage.

    Args:
        plan: The plan.
        kind: The stage.
        done: Kind -> result of the stages before.
    """
    texts = [task.task for task in plan.order() if task.kind is kind]
    given = GeneratorInput.new("\n\n".join(texts), plan.language)
    parts = tuple(
        LockedPart(name=f"the {name}", code=done[name].code, keeps_bodies=name == CodeTaskKind.TYPES)
        for name in (CodeTaskKind.TYPES, CodeTaskKind.STUBS)
        if name in done
    )
    match kind:
        case CodeTaskKind.TESTS:
            return given.model_copy(update={"program": parts[-1].code if parts else ""})
        case CodeTaskKind.LOGIC:
            return given.model_copy(update={"locked": parts, "tests": _tests(plan, done)})
        case _:
            return given.model_copy(update={"locked": parts})


def has_result(result: RepairResult) -> bool:
    """Whether a stage ended with some draft."""
    return result.rounds > 0


def _tests(plan: CodePlan, done: Mapping[str, RepairResult]) -> str:
    return plan.tests or (done[CodeTaskKind.TESTS].code if CodeTaskKind.TESTS in done else "")


def _result(plan: CodePlan, done: Mapping[str, RepairResult]) -> ProgressiveResult:
    last = list(done.values())[-1]
    programs = [one.code for kind, one in done.items() if kind != CodeTaskKind.TESTS]
    return ProgressiveResult(
        code=programs[-1] if programs else "",
        language=plan.language,
        tests=_tests(plan, done),
        passed=last.passed,
        errors=last.errors,
        feedback=last.feedback,
        execution_time_ms=last.execution_time_ms,
        findings=last.findings,
        stages=tuple(
            StageResult(kind=CodeTaskKind(kind), ended=one.ended, rounds=one.rounds)
            for kind, one in done.items()
        ),
    )


def _checks(validator: SandboxValidator | Sandbox) -> dict[CodeTaskKind, list[Executor]]:
    """Return the checks of each stage. Each specialised loop mends one kind of fault (LLMLOOP, 2025)."""

    def compiles() -> Executor:
        return CompileValidatorExecutor("compile", validator, yields_status=False)

    def locks() -> Executor:
        return LockValidator("locks", yields_status=False)

    return {
        CodeTaskKind.TYPES: [compiles()],
        CodeTaskKind.STUBS: [locks(), compiles()],
        CodeTaskKind.TESTS: [CoherenceValidator("coherence", validator, yields_status=False)],
        CodeTaskKind.LOGIC: [
            locks(),
            compiles(),
            TestValidatorExecutor("test", validator, yields_status=False),
        ],
    }
