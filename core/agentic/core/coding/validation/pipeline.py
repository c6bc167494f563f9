"""Validators one after the other or side by side: in a graph, by conditional edges, or without one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from agentic.core.coding.errors import CodingError, WrongResultError
from agentic.core.coding.messages import AnyCode, ValidatorOutput
from agentic.core.coding.validation.linear import LinearContext, handle_linearly
from agentic.core.coding.validation.report import ValidationMode, ValidationReport, report_of
from agentic.core.graph import Executor, ExecutorKind, Workflow, WorkflowBuilder, WorkflowContext, handler
from agentic.core.graph.build.builder import Node


class ValidatorPipeline:
    """Validators in a fixed order. It has no state: one serves any number of graphs and supervisors.

    A graph gets its nodes by :meth:`connect`, or all of it as a workflow by :meth:`as_workflow`. If all run,
    they run at a time; otherwise an edge leads from each to the next one if it passed. The report equals
    the report of :meth:`validate`, which uses no graph.

    Args:
        validators: Nodes that take code and send a :class:`ValidatorOutput`, such as
            :class:`CompileValidatorExecutor`.
        id: Of the node that sends the report.

    Raises:
        CodingError: The list is empty, or two of them have one id.
    """

    def __init__(self, validators: Sequence[Executor], *, id: str = "report") -> None:  # noqa: A002  # as of nodes
        names = [validator.id for validator in validators]
        if not names or len({*names, id}) <= len(names):
            raise CodingError(
                f"a pipeline needs validators, each with an id of its own, but has {', '.join([*names, id])}"
            )
        self.id = id
        self.validators = tuple(validators)

    @property
    def names(self) -> tuple[str, ...]:
        """The ids of the validators, in order."""
        return tuple(validator.id for validator in self.validators)

    def connect(
        self, builder: WorkflowBuilder, source: Node, mode: ValidationMode = ValidationMode.FAIL_FAST
    ) -> Executor:
        """Add the validators to a graph; return the node that sends the :class:`ValidationReport`.

        Args:
            builder: Of the graph.
            source: Sends code.
            mode: Whether the validators after a failed one still run.
        """
        for first in self._first(mode):
            builder.add_edge(source, first)
        return self._join(builder, mode)

    def as_workflow(self, id: str, mode: ValidationMode = ValidationMode.FAIL_FAST) -> Workflow:  # noqa: A002
        """Return a workflow that takes code and yields the report.

        Args:
            id: Of the workflow.
            mode: Whether the validators after a failed one still run.
        """
        builder = WorkflowBuilder(id).set_start(*self._first(mode))
        self._join(builder, mode)
        return builder.build()

    async def validate(
        self,
        code: AnyCode,
        mode: ValidationMode = ValidationMode.FAIL_FAST,
        outputs: list[object] | None = None,
    ) -> ValidationReport:
        """Run the validators one after the other, without a graph.

        Args:
            code: The code.
            mode: Whether the validators after a failed one still run.
            outputs: Gets the lines of text that they yield.

        Raises:
            Exception: As of the first validator that could not run.
        """
        found: dict[str, ValidatorOutput] = {}
        given: object = code
        for validator in self.validators:
            ctx = LinearContext(validator.id, outputs=outputs)
            output = await handle_linearly(validator, given, ctx)
            if not isinstance(output, ValidatorOutput):
                raise WrongResultError(validator.id, output, "a ValidatorOutput")
            found[validator.id] = output
            if mode is ValidationMode.FAIL_FAST:
                given = output
                if not output.passed:
                    break
        return report_of(found, self.names)

    def _first(self, mode: ValidationMode) -> Sequence[Executor]:
        return self.validators[:1] if mode is ValidationMode.FAIL_FAST else self.validators

    def _join(self, builder: WorkflowBuilder, mode: ValidationMode) -> Executor:
        report = _Report(self.id, self.names)
        builder.add_executor(*self.validators)
        if mode is ValidationMode.FAIL_FAST:
            for one, following in pairwise(self.validators):
                builder.add_conditional_edge(one, following, _passed, "passed")
        if len(self.validators) == 1:
            builder.add_edge(self.validators[0], report)
        else:
            is_all = mode is ValidationMode.ALL
            builder.add_fan_in_edge(self.validators, report, mode="all" if is_all else "available")
        return report


class _Report(Executor):
    """Makes one report of the outputs of validators."""

    def __init__(self, id: str, validators: Sequence[str]) -> None:  # noqa: A002  # as of every executor
        super().__init__(id, kind=ExecutorKind.VALIDATOR)
        self.validators = tuple(validators)

    @handler
    async def on_outputs(self, outputs: list[ValidatorOutput], ctx: WorkflowContext) -> ValidationReport:
        """Make the report of the validators that ran."""
        if len(outputs) != len(ctx.source_ids):
            raise CodingError(
                f"the validators of {self.id!r} were given several programs at once; check each in a run "
                "of its own, such as in the body of a map edge"
            )
        return report_of(dict(zip(ctx.source_ids, outputs, strict=True)), self.validators)

    @handler
    async def on_output(self, output: ValidatorOutput) -> ValidationReport:
        """Make the report of the only validator."""
        return report_of({self.validators[0]: output}, self.validators)


def _passed(output: ValidatorOutput) -> bool:
    return output.passed
