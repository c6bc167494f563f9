"""Limits and manners of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agentic.core.graph.crashes import TWICE_MORE, CrashPolicy
from agentic.core.graph.errors import InvalidPolicyError
from agentic.core.graph.history import HistorySource
from agentic.core.graph.retries import ONCE, RetryPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowConfig:
    """Limits and manners of a run.

    Attributes:
        max_supersteps: A run with messages still in flight after so many ends with ``ConvergenceError``.
        strict: A message that reaches nobody fails the run; else it is only an event.
        fail_fast: The first failure cancels what runs beside it, instead of letting it finish.
        max_parallel: Activations handled at a time, over all executors; None for no limit. Sub-workflows have
            limits of their own.
        retry: For executors that have no policy of their own.
        crash: For executors that have no policy of their own.
        timeout_s: Seconds an attempt may take, for executors that have no timeout of their own.
        run_timeout_s: Seconds the run may take.
        on_checkpoint_failure: ``fail`` ends the run when a checkpoint cannot be saved; ``continue`` goes on
            with an event.
        keep_checkpoints: How many of a run's checkpoints to keep; None for all.
        history: What ``ctx.history()`` asks; without one there is no past.
    """

    max_supersteps: int = 1000
    strict: bool = True
    fail_fast: bool = False
    max_parallel: int | None = None
    retry: RetryPolicy = ONCE
    crash: CrashPolicy = TWICE_MORE
    timeout_s: float | None = None
    run_timeout_s: float | None = None
    on_checkpoint_failure: Literal["fail", "continue"] = "fail"
    keep_checkpoints: int | None = None
    history: HistorySource | None = None

    def __post_init__(self) -> None:
        for name, least in (("max_supersteps", 1), ("max_parallel", 1), ("keep_checkpoints", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise InvalidPolicyError(name, value, f"at least {least}")
        if self.on_checkpoint_failure not in {"fail", "continue"}:
            raise InvalidPolicyError(
                "on_checkpoint_failure", self.on_checkpoint_failure, "'fail' or 'continue'"
            )
        for name in ("timeout_s", "run_timeout_s"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise InvalidPolicyError(name, value, "more than 0 seconds")
