"""LangGraph's interrupts and breakpoints as requests of our runs."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from langgraph.types import Interrupt, StateSnapshot

from agentic.core.graph import ApprovalRequest, ApprovalResponse, RejectedError, WorkflowContext
from agentic.core.graph.definition.context import ParkedSignal
from agentic.core.reading.schemas.validating import schema_faults
from agentic.core.types import JSONValue
from agentic.plugins.langgraph.running.values import json_of
from agentic.plugins.langgraph.savers.saver import configurable


class Questions:
    """The interrupts of one activation as its requests: each is asked once, in every try and entry.

    Args:
        ctx: Of the activation.
        answer_s: Seconds until an unanswered request fails the activation; None for never.
    """

    def __init__(self, ctx: WorkflowContext[Any, Any], answer_s: float | None) -> None:
        self._ctx = ctx
        self._deadline = None if answer_s is None else timedelta(seconds=answer_s)
        self._numbers: dict[str, int] = {}

    async def answers(self, snapshot: StateSnapshot) -> dict[str, JSONValue]:
        """Return the answers to the interrupts that a graph waits for, by id; the activation waits for them.

        Raises:
            RequestExpiredError: No answer came in time.
        """
        nodes = {one.id: task.name for task in snapshot.tasks for one in task.interrupts}
        found: dict[str, JSONValue] = {}
        parked: ParkedSignal | None = None
        for interrupt in snapshot.interrupts:
            try:
                found[interrupt.id] = await self._answer(interrupt, nodes.get(interrupt.id, ""))
            except ParkedSignal as signal:  # the others are asked, too
                parked = signal
        if parked is not None:
            raise parked
        return found

    async def approve(self, snapshot: StateSnapshot) -> None:
        """Ask whether a graph continues at a breakpoint; return if it does.

        Raises:
            RejectedError: It does not.
            RequestExpiredError: No answer came in time.
        """
        number = await self._number(f"breakpoint.{configurable(snapshot.config)['checkpoint_id']}")
        action = f"continue with {', '.join(snapshot.next)}"
        asked = ApprovalRequest(action=action)
        response = await self._ctx.request_info(
            asked, ApprovalResponse, deadline=self._deadline, number=number
        )
        if not response.approved:
            raise RejectedError(action, response.reason)

    async def _answer(self, interrupt: Interrupt[Any], node: str) -> JSONValue:
        """Return an answer that fits the schema of the question; one that does not is asked for again."""
        schema = interrupt.response_schema if isinstance(interrupt.response_schema, dict) else None
        asked: dict[str, JSONValue] = {"value": json_of(interrupt.value), "node": node}
        if schema is not None:
            asked["response_schema"] = json_of(schema)
        count = 0
        while True:
            number = await self._number(f"{interrupt.id}.{count}")
            answer: JSONValue = await self._ctx.request_info(
                asked,
                Any,  # type: ignore[arg-type]  # any JSON
                deadline=self._deadline,
                number=number,
            )
            faults = [] if schema is None else schema_faults(answer, json.dumps(schema))
            if not faults:
                return answer
            count += 1
            asked = {**asked, "refused": f"the last answer does not fit: {'; '.join(faults)}"}

    async def _number(self, key: str) -> int:
        """Return the number of a request, by its key: interrupts of a step come in any order."""
        while key not in self._numbers:
            number = len(self._numbers) + 1
            owner = await self._ctx.once(f"langgraph.request.{number}", lambda: key)
            self._numbers[owner] = number
        return self._numbers[key]
