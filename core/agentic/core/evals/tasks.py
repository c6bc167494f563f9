"""Gives a case to its task: an agent, an actor, a pipeline or a function."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

from agentic.core.actors.own_code import load_own_object
from agentic.core.agents.agent import Agent
from agentic.core.agents.journal import EffectJournal, PartJournal
from agentic.core.agents.options import RunOptions
from agentic.core.agents.responses import AgentChunk, AgentResponse, ResponseStatus
from agentic.core.agents.specs.spec_agent import SpecAgent
from agentic.core.agents.threads.entries import ThreadEntry, ThreadMetadata
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.agents.tools.actors import ContextOf, services_of
from agentic.core.agents.tools.calling import as_json
from agentic.core.evals.case_models import CaseModels
from agentic.core.evals.errors import EvalError, UnansweredError
from agentic.core.evals.spec import EvalTask
from agentic.core.evals.values import MissingPartError, part_of, text_of_value
from agentic.core.hooks import get_registry
from agentic.core.llm.adapter import LLMAdapter
from agentic.core.llm.messages import ChatMessage
from agentic.core.llm.usage import TokenUsage
from agentic.core.llm.wrappers.retrying import RetryingModel
from agentic.core.threads import in_thread
from agentic.core.types import JSONValue, RunId

if TYPE_CHECKING:
    from agentic.core.actors import ActorContext
    from agentic.core.pipeline import PipelineSpec

TEXT = "text"

BEFORE = "before"
"""The turn of earlier messages of a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCall:
    """One call of a task.

    Attributes:
        input: Of the case.
        call_id: The same for each try of the call, also in another process.
        run_id: The run of the evaluation.
        models: Opens models.
        journal: Keeps the effects.
        context: Services of actors and pipelines, and the secrets; None for none.
    """

    input: JSONValue
    call_id: str
    run_id: RunId
    models: CaseModels
    journal: EffectJournal
    context: ContextOf | None = None

    def model(self, name: str, **options: Any) -> LLMAdapter:  # noqa: ANN401 - as of llm()
        """Return a model, retried: its replies are counted, within the budget, and recorded or replayed.

        Args:
            name: ``provider:name``.
            options: Of the provider.
        """
        return RetryingModel(self.models.named(name, **options))


@dataclass(frozen=True, slots=True)
class TaskAnswer:
    """An answer of a task.

    Attributes:
        value: A text, or JSON data.
        usage: Of models; None if all of it went through ``models``.
    """

    value: JSONValue
    usage: TokenUsage | None = None


class CaseTask(Protocol):
    """Answers cases."""

    journals_models: bool
    """Whether it keeps the replies of its models by itself."""

    async def answer(self, call: TaskCall) -> TaskAnswer:
        """Return the answer to a case.

        Raises:
            UnansweredError: It has no answer.
            Exception: The task failed with it.
        """
        ...


TaskFunction = Callable[..., Awaitable[object] | object]
"""Takes the input, and perhaps a :class:`TaskCall`; returns a text, data, or a response of an agent."""


def task_of(task: EvalTask | Agent[Any] | TaskFunction) -> CaseTask:
    """Return what answers the cases.

    Raises:
        OwnCodeError: The function cannot be loaded.
    """
    if isinstance(task, Agent):
        return _AgentTask(lambda _: task, is_shared=True)
    if not isinstance(task, EvalTask):
        return _FunctionTask(task)
    if task.agent is not None:
        # Without memory: a case must not learn from others.
        spec = task.agent.model_copy(update={"memory": None})

        def made(call: TaskCall) -> Agent[Any]:
            secrets = None if call.context is None else call.context(call.run_id).secrets
            opening = call.models.named
            return SpecAgent(spec, secrets=secrets, context=call.context, open_model=opening)

        return _Picking(_AgentTask(made), task.answer)
    if task.pipeline_spec is not None:
        return _Picking(_PipelineTask(task.pipeline_spec, task.input), task.answer)
    if task.function is not None:
        return _Picking(_FunctionTask(cast("TaskFunction", load_own_object(task.function))), task.answer)
    return _Picking(_ActorTask(str(task.actor), task.config, task.input), task.answer)


class _Picking:
    """The part of a task's results that is the answer."""

    def __init__(self, task: CaseTask, path: str) -> None:
        self._task = task
        self._path = path
        self.journals_models = task.journals_models

    async def answer(self, call: TaskCall) -> TaskAnswer:
        found = await self._task.answer(call)
        try:
            return replace(found, value=part_of(found.value, self._path))
        except MissingPartError as exc:
            raise UnansweredError("no_answer", f"{exc}; check task.answer", found.usage) from None


class _AgentTask:
    journals_models = True

    def __init__(self, agent_of: Callable[[TaskCall], Agent[Any]], *, is_shared: bool = False) -> None:
        self._agent_of = agent_of
        self._is_shared = is_shared

    async def answer(self, call: TaskCall) -> TaskAnswer:
        agent = self._agent_of(call)
        try:
            return await self._ask(agent, call)
        finally:
            if isinstance(agent, SpecAgent) and not self._is_shared:
                await agent.aclose()

    async def _ask(self, agent: Agent[Any], call: TaskCall) -> TaskAnswer:
        facts = ThreadMetadata(agent=agent.name, created_at=0.0)
        *before, last = conversation_of(call.input)
        said = [ThreadEntry(turn=BEFORE, messages=tuple(before), ended="complete")] if before else []
        thread = AgentThread(facts, thread_id=call.call_id, entries=said)
        options = RunOptions(idempotency_key=call.call_id, journal=PartJournal(call.journal, "agent."))
        response = await agent.respond(last, thread, options, _unheard)
        return answer_of(response)


async def _unheard(piece: AgentChunk) -> None:
    del piece


def conversation_of(given: JSONValue) -> Sequence[ChatMessage]:
    """Return an input as messages: a list of ``{role, content}``, or one message of a person.

    Raises:
        EvalError: A message of the list has another form.
    """
    if isinstance(given, list) and given and all(isinstance(one, Mapping) and "role" in one for one in given):
        return [_message(cast("Mapping[str, JSONValue]", one)) for one in given]
    return [ChatMessage.user(text_of_value(given))]


def _message(given: Mapping[str, JSONValue]) -> ChatMessage:
    makers = {"user": ChatMessage.user, "assistant": ChatMessage.assistant, "system": ChatMessage.system}
    role, content = given["role"], given.get("content")
    if not isinstance(role, str) or role not in makers or not isinstance(content, str):
        raise EvalError(
            f"{json.dumps(dict(given))[:80]} is not a message; write {{role: user, content: TEXT}} (or "
            "assistant, system)"
        )
    return makers[role](content)


def answer_of(response: AgentResponse[Any]) -> TaskAnswer:
    """Return the answer of an agent.

    Raises:
        UnansweredError: It is not whole.
    """
    if response.status is ResponseStatus.NEEDS_INPUT:
        asked = ", ".join(request.question or request.id for request in response.pending)
        raise UnansweredError("needs_input", f"it waits for a person: {asked}", response.usage)
    if response.status is not ResponseStatus.COMPLETE:
        raise UnansweredError(str(response.status), response.reason or "it stopped", response.usage)
    value = response.text if response.data is None else response.data
    return TaskAnswer(value, response.usage)


class _FunctionTask:
    journals_models = False

    def __init__(self, function: TaskFunction) -> None:
        self._function = function
        self._takes_call = _parameter_count(function) > 1

    async def answer(self, call: TaskCall) -> TaskAnswer:
        given = (call.input, call) if self._takes_call else (call.input,)
        if inspect.iscoroutinefunction(self._function):
            found = await self._function(*given)
        else:
            found = await in_thread(self._function, *given)
            if inspect.isawaitable(found):
                found = await found
        if isinstance(found, AgentResponse):
            return answer_of(found)
        return TaskAnswer(as_json(found))


def _parameter_count(function: TaskFunction) -> int:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return sum(one.kind in kinds and one.default is one.empty for one in parameters)


class _ActorTask:
    journals_models = False

    def __init__(self, actor: str, config: Mapping[str, JSONValue], field: str | None) -> None:
        self._actor = actor
        self._config = config
        self._field = field

    async def answer(self, call: TaskCall) -> TaskAnswer:
        from agentic.core.pipeline.expressions.references import resolve
        from agentic.core.pipeline.expressions.secret_masking import read_secrets
        from agentic.core.pipeline.steps.calls import call_until_done, results_of

        async with services_of(call.context, call.run_id) as services:
            hidden = await read_secrets(dict(self._config), services.secrets)
            config = resolve(dict(self._config), lambda path: hidden.values[path[1]])
            given = {**cast("Mapping[str, object]", config), **named_input(call.input, self._field)}
            actor = get_registry().actors[self._actor]
            results = results_of(await call_until_done(actor, _context(services, call), given))
        found = hidden.value(results) if hidden.values else results
        item = found["item"] if isinstance(found, dict) and [*found] == ["item"] else found
        return TaskAnswer(item)


class _PipelineTask:
    journals_models = False

    def __init__(self, spec: PipelineSpec, field: str | None) -> None:
        self._spec = spec
        self._field = field

    async def answer(self, call: TaskCall) -> TaskAnswer:
        from agentic.core.pipeline import PipelineResult, PipelineServices, compile_pipeline, read_inputs

        inputs = named_input(call.input, self._field)
        read_inputs(self._spec, inputs)
        async with services_of(call.context, call.run_id, self._spec.http) as services:
            around = _context(services, call)
            outside = PipelineServices(frontier=_no_frontier, context=lambda _: around, inputs=inputs)
            workflow = compile_pipeline(self._spec, get_registry().actors, outside)
            result = await call.journal.run_workflow("pipeline", workflow, inputs, is_kept=False)
            if result is None:
                result = await workflow.run(inputs)
        found = PipelineResult.model_validate(result.output(dict))
        if found.failures and not found.items:
            failure_class, total = next(iter(found.failures.items()))
            raise UnansweredError(failure_class, total.examples[0] if total.examples else "no items")
        return TaskAnswer([*found.items])


def named_input(given: JSONValue, field: str | None) -> dict[str, JSONValue]:
    """Return an input as named values: under ``field``; without one, a mapping as it is, else a ``text``."""
    if field is None and isinstance(given, dict):
        return dict(given)
    return {field or TEXT: given}


def _context(services: ActorContext, call: TaskCall) -> ActorContext:
    """Return the services for a call, with its own models, and without memory of other cases."""
    from agentic.core.actors.stores import MemoryOfProcess

    async def once(name: str, work: Callable[[], Awaitable[JSONValue]]) -> JSONValue:
        return await call.journal.once(f"actor.{name}", work)

    # Equal texts are asked about again: replies of an earlier try would make all repeats equal.
    return replace(services, call=call.call_id, once=once, models=call.models, memory=MemoryOfProcess())


def _no_frontier(run_id: RunId) -> NoReturn:
    raise EvalError(f"{run_id} has no place for the pages of a crawl")
