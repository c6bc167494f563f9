"""The linear predecessor of graphs: one worker and its validators, in a loop without an engine."""

from __future__ import annotations

from agentic.core.coding.errors import CodingError, WrongResultError
from agentic.core.coding.messages import AnyCode
from agentic.core.coding.validation.linear import LinearContext, handle_linearly
from agentic.core.coding.validation.pipeline import ValidatorPipeline
from agentic.core.coding.validation.report import ValidationMode, ValidationReport
from agentic.core.graph import Executor
from agentic.core.records import record


@record(kw_only=True)
class SupervisedResult:
    """The result of a supervised task.

    Attributes:
        code: The last code.
        language: Its language.
        report: The validators' report on it; None without validators.
        attempt_count: How often the worker wrote code.
        outputs: The texts that the worker and the validators yielded, in order.
    """

    code: str
    language: str
    report: ValidationReport | None
    attempt_count: int
    outputs: tuple[object, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the validators accepted the code; true without validators."""
        return self.report is None or self.report.passed


class Supervisor:
    """Has a worker write code until its validators accept it: generate, validate, repeat with their feedback.

    It calls executors one after the other, without a graph: no checkpoints, no events, no parallel steps. Use
    it for a short script, and as the reference for the cost of a graph. The same executors and the same
    :class:`ValidatorPipeline` work in both, and a model gets the same prompts.

    Args:
        max_attempts: How often the worker may write code for one task.

    Raises:
        CodingError: ``max_attempts`` is less than 1.
    """

    def __init__(self, *, max_attempts: int = 4) -> None:
        if max_attempts < 1:
            raise CodingError(f"max_attempts is {max_attempts}, but must be at least 1")
        self.max_attempts = max_attempts

    async def execute_with_validation(
        self,
        task: object,
        executor: Executor,
        pipeline: ValidatorPipeline | None = None,
        mode: ValidationMode = ValidationMode.FAIL_FAST,
    ) -> SupervisedResult:
        """Return the first code that passes, or the last one.

        Args:
            task: A message that ``executor`` takes, such as :class:`GeneratorInput`.
            executor: Writes code, such as :class:`LLMGeneratorExecutor`.
            pipeline: Its validators; without them the first code counts.
            mode: Whether the validators after a failed one still run.

        Raises:
            MessageTypeError: The executor does not take the task.
            WrongResultError: The executor returns no code, or a validator no output.
            NeedsGraphError: One of them needs a graph.
            Exception: As of the executor or a validator that could not run.
        """
        outputs: list[object] = []
        failed: list[ValidationReport] = []
        while True:
            ctx = LinearContext(executor.id, previous_errors=tuple(failed), outputs=outputs)
            code = await handle_linearly(executor, task, ctx)
            if not isinstance(code, AnyCode):
                raise WrongResultError(executor.id, code, "a message with code, such as GeneratedCode,")
            report = None if pipeline is None else await pipeline.validate(code, mode, outputs)
            if report is None or report.passed or len(failed) + 1 == self.max_attempts:
                return SupervisedResult(
                    code=code.code,
                    language=code.language,
                    report=report,
                    attempt_count=len(failed) + 1,
                    outputs=tuple(outputs),
                )
            failed.append(report)
