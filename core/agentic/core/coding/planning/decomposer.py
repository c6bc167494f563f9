"""Divides a task into tasks with dependencies, as a node of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pydantic import ValidationError

from agentic.core.coding.errors import BadPlanError
from agentic.core.coding.languages.registry import find_language
from agentic.core.coding.messages import CodingTask, input_of
from agentic.core.coding.planning.plan import CodePlan, CodeTaskKind, usual_plan
from agentic.core.graph import Executor, ExecutorKind, RetryPolicy, WorkflowContext, handler
from agentic.core.llm import ChatMessage, LLMAdapter, ModelRequest
from agentic.core.llm.structured import bind_schema, read_json
from agentic.core.types import JSONValue

TRIES = 3
"""Plans of a model that may be wrong."""
_INSTRUCTIONS = (
    "You plan programs. Divide the task into parts for different writers: types (data and interfaces), stubs "
    "(signatures without logic), tests, and logic. A part needs the parts whose code its writer must see. "
    "The writer of tests must not see logic. Each text must make sense without the others."
)


class TaskDecomposer(Executor):
    """Divides a task into parts with dependencies. Sends a :class:`CodePlan`.

    Without a model the parts are types, stubs, tests and logic. A model makes a plan for the task; if the
    plan is not valid, it is asked again with the reason. Its replies are stored at once: a worker that
    dies does not ask again.

    Args:
        id: Of the node.
        model: Plans; the usual plan is made if omitted.
        retry: How often a failing activation is tried.
    """

    def __init__(
        self,
        id: str,  # noqa: A002  # as of every executor
        model: LLMAdapter | None = None,
        *,
        retry: RetryPolicy | None = None,
    ) -> None:
        super().__init__(id, kind=ExecutorKind.ORCHESTRATOR, retry=retry)
        self.model = model

    @handler
    async def on_task(self, given: CodingTask, ctx: WorkflowContext) -> CodePlan:
        """Divide a task, with its context."""
        given = input_of(given)
        task = f"{given.prompt}\n\nContext:\n{given.context}" if given.context else given.prompt
        language = find_language(given.language).name
        model = self.model
        if model is None:
            return usual_plan(task, language, given.tests)
        faults: list[str] = []
        for number in range(TRIES):
            ask = partial(_ask, model, task, language, tuple(faults))
            reply = await ctx.once(f"agentic.coding.plan {number}", ask)
            try:
                return plan_in(reply, task, language, given.tests)
            except ValueError as exc:
                faults.append(str(exc))
        raise BadPlanError(self.id, faults[-1])


async def _ask(model: LLMAdapter, task: str, language: str, faults: Sequence[str]) -> str:
    told = "\n".join(f"Your plan was not valid: {fault}" for fault in faults)
    request = ModelRequest(
        instructions=_INSTRUCTIONS,
        messages=(ChatMessage.user("\n\n".join(filter(None, [f"In {language}: {task}", told]))),),
    )
    reply = await model.complete(bind_schema(request, _SCHEMA, model.capabilities.structured, name="plan"))
    return reply.message.model_dump_json()


def plan_in(reply: str, task: str, language: str, tests: str = "") -> CodePlan:
    """Return the plan in a model's message.

    Raises:
        ValueError: It is not valid; the text is for the model.
    """
    found = read_json(ChatMessage.model_validate_json(reply))
    tasks = found.get("tasks") if isinstance(found, dict) else None
    facts = {"task": task, "language": language, "tasks": tasks, "tests": tests}
    try:
        return CodePlan.model_validate(facts)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"{place}: {first['msg']}" if place else str(first["msg"])) from None


_SCHEMA: dict[str, JSONValue] = {
    "type": "object",
    "properties": {
        "tasks": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "kind": {"type": "string", "enum": [kind.value for kind in CodeTaskKind]},
                    "task": {"type": "string"},
                    "needs": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["id", "kind", "task", "needs"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["tasks"],
    "additionalProperties": False,
}
