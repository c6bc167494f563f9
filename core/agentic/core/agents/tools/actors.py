"""Actors of pipelines as tools of agents."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from pydantic import ValidationError

from agentic.core.agents.errors import ToolArgumentsError, ToolDefinitionError, ToolError
from agentic.core.agents.tools.tool import Approval, Tool, ToolContext
from agentic.core.linear import LinearPattern
from agentic.core.llm.usage import TokenUsage
from agentic.core.types import JSONValue, RunId

if TYPE_CHECKING:  # agents without such a tool load no pipeline
    from agentic.core.actors import Actor, ActorContext, ModelUse, PageOutput
    from agentic.core.actors.context import Once
    from agentic.core.http import HttpPolicy
    from agentic.core.pipeline.expressions.secret_masking import Hidden

ContextOf = Callable[[RunId], "ActorContext"]
"""Returns the services of a run for an actor: of a project, with its HTTP policy and its stores."""

TIMEOUT_S = 120.0
PAGE = "page"
URL = "url"

_RUN_NAME = LinearPattern(r"[A-Za-z0-9_.-]{1,64}")


class ActorTool(Tool):
    """An actor as a tool; the schema of its arguments comes from the actor's ``Input``.

    Models cannot write a fetched page: for an actor that reads a ``page`` the tool takes a ``url`` and
    fetches it.

    Args:
        actor: The actor: a class, or its name or alias.
        context: Its services. Without them it fetches politely, with no secrets and no memory.
        config: Fixed parts of its input, which the model neither sees nor sets; ``${secrets.NAME}`` is a
            secret.
        name: The actor's if omitted.
        description: The first sentence of the actor's docstring if omitted.
        approval: Whether a person must approve a call.
        timeout_s: Seconds that a call may take.

    Raises:
        ToolDefinitionError: The actor does not exist, or ``config`` has a field that its input does not have.
    """

    def __init__(  # noqa: PLR0913  # the facts of a tool, all optional
        self,
        actor: type[Actor] | str,
        context: ContextOf | None = None,
        *,
        config: Mapping[str, JSONValue] | None = None,
        name: str | None = None,
        description: str | None = None,
        approval: Approval = "never",
        timeout_s: float | None = TIMEOUT_S,
    ) -> None:
        self.actor = _actor_named(actor) if isinstance(actor, str) else actor
        self._config = dict(config or {})
        self._context = context
        self._takes_url = _reads_pages(self.actor) and PAGE not in self._config
        super().__init__(
            name or self.actor.name,
            description or (self.actor.__doc__ or "").strip().partition("\n")[0],
            self._schema(),
            approval=approval,
            timeout_s=timeout_s,
        )

    async def call(self, arguments: Mapping[str, JSONValue], context: ToolContext) -> JSONValue:
        """Run the actor and return its results; see :class:`Tool`."""
        from agentic.core.actors import ActorError, describe_failure
        from agentic.core.pipeline.expressions.secret_masking import NOTHING_HIDDEN

        hidden = NOTHING_HIDDEN
        warned: list[JSONValue] = []
        self._check(arguments)
        async with self._opened(context, warned) as ctx:
            try:
                config, hidden = await self._resolved(ctx)
                results = await self._run(ctx, {**arguments, **config})
            except ActorError as exc:
                failure = hidden.failure(describe_failure(exc))
                raise ToolError(f"{failure.failure_class}: {failure.message}") from None
            except ValidationError as exc:
                raise ToolArgumentsError(f"the arguments do not fit: {faults_of(exc)}") from None
        if warned:
            results["warnings"] = warned
        return hidden.value(results) if hidden.values else results

    async def _run(self, ctx: ActorContext, given: dict[str, JSONValue]) -> dict[str, JSONValue]:
        from agentic.core.pipeline.steps.calls import call_until_done, results_of

        values: dict[str, object] = {**given}
        if self._takes_url and URL in values:
            page = await call_until_done(_actor_named("fetch"), ctx, {URL: values.pop(URL)})
            values[PAGE] = cast("PageOutput", page).page
        return results_of(await call_until_done(self.actor, ctx, values))

    async def _resolved(self, ctx: ActorContext) -> tuple[dict[str, JSONValue], Hidden]:
        from agentic.core.pipeline.expressions.references import resolve
        from agentic.core.pipeline.expressions.secret_masking import read_secrets

        hidden = await read_secrets(self._config, ctx.secrets)
        config = resolve(self._config, lambda path: hidden.values[path[1]])
        return cast("dict[str, JSONValue]", config), hidden

    @asynccontextmanager
    async def _opened(self, context: ToolContext, warned: list[JSONValue]) -> AsyncIterator[ActorContext]:
        async with services_of(self._context, run_of(context)) as services:
            yield replace(
                services,
                call=f"{context.thread_id}/{context.call_id}",
                once=_once_of(context),
                warn=warned.append,
                tally=lambda _, sentence: warned.append(sentence),
                used=lambda use: context.add_usage(_usage(use)),
            )

    def _check(self, arguments: Mapping[str, JSONValue]) -> None:
        from agentic.core.pipeline.expressions.suggestions import unknown_word

        known = cast("Mapping[str, object]", self.parameters["properties"])
        if unknown := [name for name in arguments if name not in known]:
            raise ToolArgumentsError(unknown_word("argument", unknown[0], known))

    def _schema(self) -> dict[str, JSONValue]:
        schema: dict[str, JSONValue] = self.actor.Input.model_json_schema()
        known = cast("dict[str, JSONValue]", schema.get("properties", {}))
        if unknown := [name for name in self._config if name not in known]:
            raise ToolDefinitionError(
                f"the actor {self.actor.name!r} has no input {unknown[0]!r} (known: {', '.join(known)})"
            )
        hidden = {*self._config, PAGE} if self._takes_url else {*self._config}
        properties = {name: part for name, part in known.items() if name not in hidden}
        needed = cast("list[str]", schema.get("required", []))
        required: list[JSONValue] = [name for name in needed if name not in hidden]
        if self._takes_url:
            address: dict[str, JSONValue] = {"type": "string", "description": "URL of the page to read."}
            properties = {URL: address, **properties}
            if PAGE in needed:
                required = [URL, *required]
        schema = {**schema, "properties": properties, "required": required, "additionalProperties": False}
        return {name: part for name, part in schema.items() if name not in {"title", "description"}}


def run_of(context: ToolContext) -> RunId:
    """Return a run that the effects of a call belong to: of the execution, if the thread is in one."""
    name = context.thread_id.partition(":")[0].partition("/")[0]
    if _RUN_NAME.fullmatch(name) is None:
        name = hashlib.sha256(context.thread_id.encode(errors="surrogatepass")).hexdigest()[:32]
    return RunId(name)


@asynccontextmanager
async def services_of(
    context: ContextOf | None, run_id: RunId, policy: HttpPolicy | None = None
) -> AsyncIterator[ActorContext]:
    """Provide the services of a run; without ``context`` a fetcher of its own, with that policy."""
    if context is not None:
        yield context(run_id)
        return
    from agentic.core.actors import ActorContext
    from agentic.core.http import HttpPolicy, open_fetcher

    async with open_fetcher(policy or HttpPolicy()) as http:
        services = ActorContext(http=http)
        try:
            yield services
        finally:
            await services.models.aclose()


def _actor_named(name: str) -> type[Actor]:
    from agentic.core.hooks import get_registry
    from agentic.core.pipeline.expressions.suggestions import unknown_word

    actors = get_registry().actors
    if name not in actors:
        raise ToolDefinitionError(unknown_word("actor", name, actors))
    return actors[name]


def _reads_pages(actor: type[Actor]) -> bool:
    from agentic.core.actors import Page

    field = actor.Input.model_fields.get(PAGE)
    annotation = None if field is None else field.annotation
    is_page = annotation is Page or Page in getattr(annotation, "__args__", ())
    return is_page and URL not in actor.Input.model_fields


def _once_of(context: ToolContext) -> Once:
    async def once(name: str, work: Callable[[], Awaitable[JSONValue]]) -> JSONValue:
        return await context.journal.once(f"actor.{name}", work)

    return once


def _usage(use: ModelUse) -> TokenUsage:
    return TokenUsage(
        requests=use.requests,
        input_tokens=use.input_tokens,
        output_tokens=use.output_tokens,
        cost_usd=use.cost_usd,
    )


def faults_of(error: ValidationError) -> str:
    """Return the faults of arguments, for a model; no value is in it."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg']}" for one in faults[:10])
