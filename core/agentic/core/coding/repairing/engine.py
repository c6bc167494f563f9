"""Writes a program and repairs it until it passes its checks: a loop in a graph."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Never

from agentic.core.coding.checking import SandboxValidator
from agentic.core.coding.errors import CodingError
from agentic.core.coding.executors.generator import ERRORS_META, LLMGeneratorExecutor, listed
from agentic.core.coding.executors.validators import CompileValidatorExecutor, TestValidatorExecutor
from agentic.core.coding.fingerprints import CodeFingerprinter
from agentic.core.coding.messages import CodingTask, ValidatorOutput, input_of
from agentic.core.coding.repairing.judging import (
    RepairEnd,
    RepairResult,
    RepairState,
    RepairVerdict,
    judge,
)
from agentic.core.coding.repairing.learning import FailedDraft, draft_of, lessons_of, without_secrets
from agentic.core.coding.repairing.lessons import Lesson, LessonStore
from agentic.core.errors import AgenticError, line_of
from agentic.core.graph import (
    Executor,
    ExecutorKind,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    handler,
)
from agentic.core.llm import ErrorFingerprinter, LLMAdapter, ModelRequest
from agentic.core.llm.wrappers.tiered import Tier
from agentic.core.logging import get_logger
from agentic.core.sandbox import Sandbox

MAX_ROUNDS = 5
_STATE, _DRAFT = "repair", "draft"
_LESSONS = "agentic.coding.lessons"
_OFFER = "Errors in earlier programs of this project, each with a change that mended it:"

log = get_logger(__name__)


class RepairEngine(Executor):
    """Writes a program, checks it, and has the model repair it by the findings, until it passes all checks.

    The loop ends with the best draft so far if the same errors came back twice in a row and nothing got
    better, or after ``max_rounds`` drafts. It is the graph ``workflow``, which also runs alone;
    as a node, the engine runs it for each message. Each step is stored: after a crash the model is not asked
    again for a draft that it has written. Sends :class:`RepairResult`.

    Args:
        id: Of the node, and of the workflow.
        model: Writes the drafts. A :class:`~agentic.core.llm.TieredModel` with :class:`RepairPick` chooses
            between a fast and a smart one by the errors.
        checks: Checks each draft, in this order, until one fails: executors that take code and send
            :class:`ValidatorOutput`. A validator or a sandbox stands for a compiler, then tests.
        max_rounds: Most drafts, at least 1.
        lessons: Changes that mended errors before are offered to the model, and new ones are kept. If the
            store fails, the repair continues with a warning.
        config: Limits of the workflow, such as retries after failures of the sandbox or the model.

    Raises:
        CodingError: The checks are missing, or ``max_rounds`` is less than 1.
        InvalidGraphError: The checks cannot be nodes of one graph.
    """

    def __init__(
        self,
        id: str,  # noqa: A002  # as of every executor
        model: LLMAdapter,
        checks: Sequence[Executor] | SandboxValidator | Sandbox,
        *,
        max_rounds: int = MAX_ROUNDS,
        lessons: LessonStore | None = None,
        config: WorkflowConfig | None = None,
    ) -> None:
        super().__init__(id, kind=ExecutorKind.WORKER)
        chosen = _checks(checks)
        if not chosen:
            raise CodingError(f"the repair engine {id!r} has no check; give it a validator, or executors")
        if max_rounds < 1:
            raise CodingError(f"max_rounds of the repair engine {id!r} is {max_rounds}; give at least 1")
        self.workflow = _loop(
            id, _Writer(model, lessons), chosen, _Judge(chosen, lessons), max_rounds, config
        )

    @property
    def called_workflows(self) -> tuple[Workflow, ...]:
        """Its loop: stored runs know the messages in it."""
        return (self.workflow,)

    @handler
    async def on_task(self, task: CodingTask, ctx: WorkflowContext) -> RepairResult:
        """Write and repair a program for a task."""
        result = await ctx.run_workflow(self.workflow, input_of(task))
        return result.output(RepairResult)


class RepairPick:
    """Picks a model of a :class:`~agentic.core.llm.TieredModel` by the errors of a code generator's drafts.

    The smart model is picked if the errors of the last draft are complex or were there before, and after
    ``patience`` drafts with errors of any kind.

    Args:
        fingerprinter: Recognizes errors.
        patience: Drafts with errors, one after the other, that the fast model may see.
    """

    def __init__(self, fingerprinter: ErrorFingerprinter | None = None, *, patience: int = 2) -> None:
        self._fingerprinter = CodeFingerprinter() if fingerprinter is None else fingerprinter
        self._patience = patience

    def __call__(self, request: ModelRequest) -> Tier:
        """Return the tier of a request."""
        told = request.messages[-1].meta.get(ERRORS_META) if request.messages else None
        found = [self._fingerprinter.fingerprint(str(one)) for one in told] if isinstance(told, list) else []
        if not found:
            return "fast"
        came_back = found[-1].key in {one.key for one in found[:-1]}
        return "smart" if found[-1].is_complex or came_back or len(found) > self._patience else "fast"


class _Writer(LLMGeneratorExecutor):
    """Writes drafts. A reply without code is a draft that fails."""

    takes_empty = True

    def __init__(self, model: LLMAdapter, lessons: LessonStore | None) -> None:
        super().__init__("write", model, yields_status=False)
        self.lessons = lessons

    async def advice(self, language: str, errors: str, ctx: WorkflowContext[Never, str]) -> str:
        """Return lessons about the errors; for a first draft, the most frequent lessons."""
        if self.lessons is None:
            return ""
        lessons = self.lessons
        return await ctx.once(_LESSONS, lambda: _offered(lessons, language, errors))


class _Judge(Executor):
    """Remembers the best draft, and decides whether another one makes sense."""

    def __init__(self, checks: Sequence[Executor], lessons: LessonStore | None) -> None:
        super().__init__("judge", kind=ExecutorKind.ORCHESTRATOR)
        self.checks = [check.id for check in checks]
        self.lessons = lessons
        self.fingerprinter = CodeFingerprinter()

    @handler
    async def on_output(self, output: ValidatorOutput, ctx: WorkflowContext) -> RepairVerdict:
        """Judge a draft by the output of its last check."""
        check = ctx.source_ids[0]
        position = self.checks.index(check)
        state, verdict = judge(
            RepairState.model_validate(ctx.local.get(_STATE) or {}),
            output,
            check,
            position,
            self.fingerprinter.fingerprint(listed(output)),
        )
        ctx.local[_STATE] = state.model_dump(mode="json")
        if self.lessons is not None:
            await self._learn(self.lessons, output, position, ctx)
        return verdict

    async def _learn(
        self, lessons: LessonStore, output: ValidatorOutput, position: int, ctx: WorkflowContext
    ) -> None:
        kept = ctx.local.get(_DRAFT)
        before = None if kept is None else FailedDraft.model_validate(kept)
        draft = draft_of(output, position)
        ctx.local[_DRAFT] = None if draft is None else draft.model_dump(mode="json")
        if learnt := lessons_of(before, output, position):
            source = hashlib.blake2b(ctx.idempotency_key.encode(), digest_size=8).hexdigest()
            with _continuing():
                await lessons.keep(learnt, source)


class _Deliver(Executor):
    """Gives the best draft to the caller."""

    def __init__(self) -> None:
        super().__init__("deliver")

    @handler
    async def on_verdict(self, verdict: RepairVerdict, ctx: WorkflowContext[Never, RepairResult]) -> None:
        """Yield the best draft."""
        ended = verdict.ended or RepairEnd.ROUNDS
        await ctx.yield_output(verdict.best.model_copy(update={"ended": ended}))


def goes_on(verdict: RepairVerdict) -> bool:
    """Whether a repair continues after this verdict, if a round is left."""
    return verdict.ended is None


def has_ended(verdict: RepairVerdict) -> bool:
    """Whether a repair ends with this verdict."""
    return verdict.ended is not None


def passed(output: ValidatorOutput) -> bool:
    """Whether a draft passed a check."""
    return output.passed


def failed(output: ValidatorOutput) -> bool:
    """Whether a draft failed a check."""
    return not output.passed


async def _offered(lessons: LessonStore, language: str, errors: str) -> str:
    causes = CodeFingerprinter().causes(without_secrets(errors))
    found: Sequence[Lesson] = ()
    with _continuing():
        found = await lessons.find(language, causes)
    return "\n".join([_OFFER, *map(str, found)]) if found else ""


@contextmanager
def _continuing() -> Iterator[None]:
    """Log that the store of lessons cannot be used; a repair does not depend on it."""
    try:
        yield
    except (AgenticError, OSError) as exc:
        log.warning("lessons.unavailable", reason=line_of(exc))


def _checks(given: Sequence[Executor] | SandboxValidator | Sandbox) -> tuple[Executor, ...]:
    if isinstance(given, SandboxValidator | Sandbox):
        validator = SandboxValidator(given) if isinstance(given, Sandbox) else given
        return (
            CompileValidatorExecutor("compile", validator, yields_status=False),
            TestValidatorExecutor("test", validator, yields_status=False),
        )
    return tuple(given)


def _loop(
    id_: str,
    write: Executor,
    checks: Sequence[Executor],
    verdict: Executor,
    max_rounds: int,
    config: WorkflowConfig | None,
) -> Workflow:
    deliver = _Deliver()
    builder = WorkflowBuilder(id_, config=config).set_start(write).add_edge(write, checks[0])
    for check, following in pairwise(checks):
        builder.add_edge(check, following, passed).add_edge(check, verdict, failed)
    builder.add_edge(checks[-1], verdict)
    if max_rounds == 1:
        return builder.add_edge(verdict, deliver).build()
    builder.add_edge(verdict, deliver, has_ended)
    builder.add_retry_edge(verdict, write, when=goes_on, max_passes=max_rounds - 1, exhausted=deliver)
    return builder.build()
