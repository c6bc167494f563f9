"""Functions as tools: the schema comes from the signature, the description from the docstring."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from typing import Annotated, Any, TypeVar, get_args, get_type_hints, overload

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PydanticUserError,
    ValidationError,
    create_model,
)
from pydantic.fields import FieldInfo

from agentic.core.agents.errors import ToolArgumentsError, ToolDefinitionError
from agentic.core.agents.tools.pausing import ToolPause
from agentic.core.agents.tools.tool import Approval, Tool, ToolContext
from agentic.core.graph.codec.hints import as_function, enclosing_names
from agentic.core.graph.model.policies import ONCE, RetryPolicy
from agentic.core.threads import in_spare_thread
from agentic.core.types import JSONValue

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class FunctionTool(Tool):
    """A function as a tool. It can still be called as a function.

    Args:
        function: Sync or async. A sync one runs in a thread, beside the event loop. The values of a generator
            are one list. A ``functools.partial`` hides the arguments that it has.
        name: The function's if omitted.
        description: The first paragraphs of its docstring if omitted.
        approval: Whether a person must approve a call.
        timeout_s: Seconds that one try may take. A thread cannot be stopped: a sync function that takes
            longer, or whose run is cancelled, works on, and its result is lost.
        retry: How often a failing call is tried.
        is_deduplicated: Whether the same call again, in one turn, gets the earlier result.

    Raises:
        ToolDefinitionError: A parameter has no annotation, or one without a JSON Schema.
    """

    def __init__(  # noqa: PLR0913  # the facts of a tool, all optional
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        approval: Approval = "never",
        timeout_s: float | None = None,
        retry: RetryPolicy = ONCE,
        is_deduplicated: bool = False,
    ) -> None:
        self.function = function
        plain = _plain(function)
        self._is_async = inspect.iscoroutinefunction(plain)
        name = name or _name_of(function)
        docs = _documented(plain)
        self._context_name, fields = _fields_of(function, name, docs.parameters)
        self._parameters = {_field_name(parameter): parameter for parameter in fields}
        fields = {_field_name(parameter): field for parameter, field in fields.items()}
        try:
            self._model = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
            schema: dict[str, JSONValue] = self._model.model_json_schema()
        except (PydanticUserError, TypeError, ValueError) as exc:
            reason = str(exc).partition("\n")[0]  # pydantic adds a page of advice
            raise ToolDefinitionError(
                f"the parameters of tool {name!r} have no JSON Schema: {reason}"
            ) from exc
        schema.pop("title", None)
        super().__init__(
            name,
            description if description is not None else docs.summary,
            schema,
            approval=approval,
            timeout_s=timeout_s,
            retry=retry,
            is_deduplicated=is_deduplicated,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # the function's
        """Call the function."""
        return self.function(*args, **kwargs)

    async def call(self, arguments: Mapping[str, JSONValue], context: ToolContext) -> JSONValue | ToolPause:
        """Validate the arguments and call the function; see :class:`Tool`."""
        try:
            checked = self._model.model_validate(dict(arguments))
        except ValidationError as exc:
            faults = exc.errors(include_url=False, include_context=False, include_input=False)
            shown = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in faults[:10])
            raise ToolArgumentsError(f"the arguments do not fit: {shown}") from None
        given = {parameter: getattr(checked, name) for name, parameter in self._parameters.items()}
        if self._context_name is not None:
            given[self._context_name] = context
        found: Any = (
            self.function(**given) if self._is_async else await in_spare_thread(_called, self.function, given)
        )
        if inspect.isawaitable(found):  # also of a plain function around an async one
            found = await found
        made: JSONValue | ToolPause = (
            [one async for one in found] if isinstance(found, AsyncGenerator) else found
        )
        return made


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...
@overload
def tool(
    *,
    name: str | None = ...,
    description: str | None = ...,
    approval: Approval = ...,
    timeout_s: float | None = ...,
    retry: RetryPolicy = ...,
    is_deduplicated: bool = ...,
) -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(
    function: Callable[..., Any] | None = None, /, **facts: Any
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Make a function a tool, with or without arguments; see :class:`FunctionTool`.

    As a decorator::

        @tool(approval="always")
        def refund(order: int, ctx: ToolContext) -> str:
            "Pay an order back."
    """
    if function is not None:
        return FunctionTool(function, **facts)
    return lambda found: FunctionTool(found, **facts)


def as_tool(given: object) -> Tool:
    """Return a tool: of a function, an actor, an agent, a workflow, or a tool itself.

    Raises:
        ToolDefinitionError: It is nothing of that kind.
    """
    if isinstance(given, Tool):
        return given
    if isinstance(given, type) and hasattr(given, "all_failure_classes"):
        from agentic.core.actors import Actor
        from agentic.core.agents.tools.actors import ActorTool

        if issubclass(given, Actor):
            return ActorTool(given)
    if (make := getattr(given, "as_tool", None)) is not None:
        made = make()
        if isinstance(made, Tool):
            return made
    if callable(given):
        return FunctionTool(given)
    raise ToolDefinitionError(
        f"{given!r:.100} is not a tool: use a function, an actor, an agent, a workflow or a Tool"
    )


def _called(function: Callable[..., Any], given: Mapping[str, Any]) -> object:
    """Call a sync function; a generator works here, too, not where its values are read."""
    found = function(**given)
    return list(found) if isinstance(found, Generator) else found


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function behind a partial, or behind an object that can be called."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if isinstance(function, type) else as_function(function)


def _name_of(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _field_name(parameter: str) -> str:
    """Return the field of a parameter: pydantic takes some names for its own, and leaves them out."""
    is_odd = parameter.startswith("_") or hasattr(BaseModel, parameter)
    return f"given_{parameter}" if is_odd else parameter


class _Documented:
    def __init__(self, summary: str, parameters: Mapping[str, str]) -> None:
        self.summary = summary
        self.parameters = parameters


def _documented(function: Callable[..., Any]) -> _Documented:
    """Return the description of a function, and of its parameters: in Google, NumPy, ReST or Epydoc style."""
    text = inspect.getdoc(function) or ""
    if "\n" not in text:
        return _Documented(text, {})
    import docstring_parser  # 0.05 s, for the few tools that say more than a sentence

    try:
        found = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return _Documented(text, {})
    return _Documented(
        (found.description or "").strip(), {one.arg_name: one.description or "" for one in found.params}
    )


def _fields_of(
    function: Callable[..., Any], name: str, described: Mapping[str, str]
) -> tuple[str | None, dict[str, Any]]:
    """Return the parameter that takes the context, and the others as fields of a model."""
    try:
        hints = get_type_hints(_plain(function), localns=enclosing_names(function), include_extras=True)
    except NameError as exc:
        raise ToolDefinitionError(f"an annotation of tool {name!r} cannot be resolved: {exc}") from exc
    context: str | None = None
    fields: dict[str, Any] = {}
    bound = function.keywords if isinstance(function, functools.partial) else {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in bound:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ToolDefinitionError(
                f"the parameter {parameter.name!r} of tool {name!r} cannot be passed by name; "
                "give it a plain name"
            )
        if parameter.name not in hints:
            step = "; give the method of an object: tools=[shop.price]" if parameter.name == "self" else ""
            raise ToolDefinitionError(
                f"the parameter {parameter.name!r} of tool {name!r} has no annotation{step}"
            )
        kind = hints[parameter.name]
        if kind is ToolContext or ToolContext in get_args(kind):  # also annotated, or with None
            context = parameter.name
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        if (words := described.get(parameter.name)) and not isinstance(default, FieldInfo):
            default = FieldInfo(default=default, description=words)
        if _field_name(parameter.name) != parameter.name:
            kind = Annotated[kind, Field(alias=parameter.name)]
        fields[parameter.name] = (kind, default)
    return context, fields
