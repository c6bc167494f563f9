"""Workflows and pipelines as tools of agents: a call is a run, and a part of the run around it in a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn, cast

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from agentic.core.agents.errors import ToolArgumentsError, ToolDefinitionError, ToolError
from agentic.core.agents.outer import OuterTurn
from agentic.core.agents.tools.actors import ContextOf, faults_of, run_of, services_of
from agentic.core.agents.tools.calling import as_json
from agentic.core.agents.tools.tool import Approval, Tool, ToolContext
from agentic.core.errors import line_of
from agentic.core.graph.build.workflow import Workflow
from agentic.core.graph.model.result import RunResult, RunStatus
from agentic.core.llm.usage import TokenUsage
from agentic.core.types import JSONValue, RunId

if TYPE_CHECKING:  # agents without such a tool load no pipeline
    from agentic.core.pipeline import PipelineResult, PipelineSpec

TASK = "task"
MAX_ROWS = 50
MAX_CHARS = 1_000
"""Of a text in a row of a result; longer texts are cut."""


class WorkflowTool(Tool):
    """A workflow as a tool; the result is its last output.

    The arguments are the fields of the start executor's message, if that is a model or a dataclass. A start
    executor that takes a text gets the argument ``task``.

    Args:
        workflow: The workflow.
        name: Of the tool.
        description: For the model.
        approval: Whether a person must approve a call.
        timeout_s: Seconds that a call may take.

    Raises:
        ToolDefinitionError: No start executor takes a text, or fields with a JSON Schema.
    """

    def __init__(
        self,
        workflow: Workflow,
        name: str,
        *,
        description: str = "",
        approval: Approval = "never",
        timeout_s: float | None = None,
    ) -> None:
        self.workflow = workflow
        self._adapter, schema = _input_of(workflow, name)
        super().__init__(
            name, description or f"Run the workflow {name}.", schema, approval=approval, timeout_s=timeout_s
        )

    async def call(self, arguments: Mapping[str, JSONValue], context: ToolContext) -> JSONValue:
        """Run the workflow; see :class:`Tool`."""
        result = await run_within(context, self.workflow, self._message(arguments), self.name)
        return as_json(result.outputs[-1]) if result.outputs else None

    def _message(self, arguments: Mapping[str, JSONValue]) -> object:
        if self._adapter is None:
            task = arguments.get(TASK)
            if not isinstance(task, str):
                raise ToolArgumentsError(f"the argument {TASK!r} must be a text")
            return task
        try:
            return self._adapter.validate_python(dict(arguments))
        except ValidationError as exc:
            raise ToolArgumentsError(f"the arguments do not fit: {faults_of(exc)}") from None


class PipelineTool(Tool):
    """A pipeline as a tool; the arguments are its inputs, the result its first rows and its counts.

    In a graph it is a sub-run. If the process dies before its end, it begins again.

    Args:
        pipeline: A spec, checked against the installed actors.
        context: Services of its actors. Without them it fetches politely, by its own ``http``, with no
            secrets and no memory.
        name: The pipeline's if omitted.
        description: The pipeline's if omitted.
        max_rows: Items in the result; the others are counted.
        approval: Whether a person must approve a call.
        timeout_s: Seconds that a call may take.

    Raises:
        ToolDefinitionError: It crawls, so its pages need tables: run it as an agent of the platform ``web``.
    """

    def __init__(  # noqa: PLR0913  # the facts of a tool, all optional
        self,
        pipeline: PipelineSpec,
        context: ContextOf | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        max_rows: int = MAX_ROWS,
        approval: Approval = "never",
        timeout_s: float | None = None,
    ) -> None:
        from agentic.core.pipeline.spec.walking import find_crawls

        if any(find_crawls(pipeline.steps, ())):
            raise ToolDefinitionError(
                f"the pipeline {pipeline.name!r} crawls, and a tool has no tables for its pages; run it as "
                "an agent of the platform 'web', or use fetch and extract_list in a loop"
            )
        self.pipeline = pipeline
        self.max_rows = max_rows
        self._context = context
        super().__init__(
            name or _word(pipeline.name),
            description or pipeline.description or f"Run the pipeline {pipeline.name}.",
            _schema_of(pipeline),
            approval=approval,
            timeout_s=timeout_s,
        )

    async def call(self, arguments: Mapping[str, JSONValue], context: ToolContext) -> JSONValue:
        """Run the pipeline; see :class:`Tool`."""
        from agentic.core.pipeline import PipelineInputError, PipelineResult, read_inputs

        try:
            read_inputs(self.pipeline, arguments)
        except PipelineInputError as exc:
            raise ToolArgumentsError(str(exc)) from None
        own_run = run_of(context)
        async with services_of(self._context, own_run, self.pipeline.http) as services:
            # Files and cookies belong to the run of the agent.
            workflow = self._workflow(lambda _: services)
            result = await run_within(context, workflow, dict(arguments), self.name, is_kept=False)
        found = PipelineResult.model_validate(result.output(dict))
        if found.models is not None:
            facts = found.models.model_dump(include={"requests", "input_tokens", "output_tokens", "cost_usd"})
            context.add_usage(TokenUsage.model_validate(facts))
        return shown(found, self.max_rows)

    def _workflow(self, context: ContextOf) -> Workflow:
        from agentic.core.hooks import get_registry
        from agentic.core.pipeline import PipelineServices, compile_pipeline

        services = PipelineServices(frontier=_no_frontier, context=context)
        return compile_pipeline(self.pipeline, get_registry().actors, services)


async def run_within(
    context: ToolContext, workflow: Workflow, message: object, name: str, *, is_kept: bool = True
) -> RunResult:
    """Return the result of a run: a sub-run of the agent's run in a graph, else a run of its own.

    Raises:
        ToolError: It failed, or it waits for a person outside of a graph.
    """
    call = f"tool.{name}"
    try:
        outer = await OuterTurn.begin(context.journal, call, context.limit_reached, context.add_usage)
        with outer.around():
            result = await context.journal.run_workflow(call, workflow, message, is_kept=is_kept)
            if result is None:
                result = await workflow.run(message)
    except Exception as exc:
        raise ToolError(f"{name} failed: {line_of(exc)}") from exc
    if result.status is RunStatus.WAITING_INPUT:
        raise ToolError(
            f"{name} waits for a person; outside of a graph only a workflow that is an agent can: give the "
            "agent workflow.as_agent(name) as its tool"
        )
    return result


def shown(result: PipelineResult, max_rows: int) -> dict[str, JSONValue]:
    """Return a result for a model: the first rows with short texts, counts, failures and warnings."""
    found: dict[str, JSONValue] = {
        "items": [_cut(item) for item in result.items[:max_rows]],
        "item_count": len(result.items),
    }
    if (more := len(result.items) - max_rows) > 0:
        found["items_left_out"] = more
    if result.failures:
        found["failures"] = {
            name: {"count": total.count, "example": total.examples[0] if total.examples else ""}
            for name, total in result.failures.items()
        }
    if result.warnings:
        found["warnings"] = [*result.warnings[:10]]
    return found


def _cut(value: JSONValue) -> JSONValue:
    if isinstance(value, str):
        return value if len(value) <= MAX_CHARS else f"{value[:MAX_CHARS]}... ({len(value)} characters)"
    if isinstance(value, dict):
        return {name: _cut(part) for name, part in value.items()}
    return [_cut(part) for part in value] if isinstance(value, list) else value


def _input_of(workflow: Workflow, name: str) -> tuple[TypeAdapter[object] | None, dict[str, JSONValue]]:
    """Return the way to check the arguments, and their schema; None for a task in words."""
    starts = [workflow.graph.executors[start] for start in workflow.graph.starts]
    if all(start.accepts("") for start in starts):
        task: dict[str, JSONValue] = {"type": "string", "description": "The task, complete in itself."}
        parts: dict[str, JSONValue] = {TASK: task}
        return None, {
            "type": "object",
            "properties": parts,
            "required": [TASK],
            "additionalProperties": False,
        }
    for kind in starts[0].input_types:
        try:
            adapter: TypeAdapter[object] = TypeAdapter(cast("type[object]", kind))
            schema = adapter.json_schema()
        except (PydanticSchemaGenerationError, PydanticUserError):
            continue
        if schema.get("type") == "object" and "properties" in schema:
            return adapter, {key: part for key, part in schema.items() if key != "title"}
    raise ToolDefinitionError(
        f"the workflow of tool {name!r} cannot be called by a model: its start executors take neither a text "
        "nor a model with fields; use workflow.as_agent(name, to_input=...).as_tool()"
    )


def _schema_of(pipeline: PipelineSpec) -> dict[str, JSONValue]:
    kinds: dict[str, JSONValue] = {"list": {"type": "array"}, "object": {"type": "object"}}
    properties: dict[str, JSONValue] = {}
    for name, one in pipeline.inputs.items():
        part = cast("dict[str, JSONValue]", kinds.get(one.type, {"type": one.type}))
        facts: dict[str, JSONValue] = {"description": one.description} if one.description else {}
        if one.default is not None:
            facts["default"] = one.default
        properties[name] = {**part, **facts}
    required: list[JSONValue] = [name for name, one in pipeline.inputs.items() if one.is_required]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _no_frontier(run_id: RunId) -> NoReturn:
    raise ToolError(f"{run_id} has no place for the pages of a crawl")


def _word(name: str) -> str:
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in name)
    return kept[:64] or "pipeline"
