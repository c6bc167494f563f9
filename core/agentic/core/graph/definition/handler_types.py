"""The declared types of a handler: for its message, and for sent, yielded and returned values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, get_args, get_origin

from agentic.core.graph.codec.annotations import NEVER, members, unique, why_uncheckable
from agentic.core.graph.codec.hints import enclosing_names, read_hint
from agentic.core.graph.codec.typing_rules import can_fit
from agentic.core.graph.errors import HandlerError

Types = tuple[object, ...] | None
"""Declared types, one per member of the union; empty for "nothing", None for "unknown"."""

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_NO_VALUE = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class HandlerSignature:
    """A handler's annotations, read.

    Attributes:
        accepts: The members of its message's type.
        takes_ctx: Whether it is called with the context, too.
        sends: Types for ``ctx.send_message``.
        yields: Types for ``ctx.yield_output``.
        returns: Types it may return, except None.
        is_silent: Whether it may return None.
    """

    accepts: tuple[object, ...]
    takes_ctx: bool
    sends: Types
    yields: Types
    returns: Types
    is_silent: bool = True


def read_signature(
    function: Callable[..., object],
    where: str,
    *,
    names: Mapping[str, object] | None = None,
    is_method: bool = False,
) -> HandlerSignature:
    """Return the signature of a handler.

    Args:
        function: ``(message)`` or ``(message, ctx)``; other parameters need a default.
        where: Its name in error messages.
        names: Local names from around its definition.
        is_method: Whether ``self`` comes first.

    Raises:
        HandlerError: It cannot be called like that, or the type of its message cannot be checked.
    """
    _refuse_generators(function, where)
    signature = _signature(function, where)
    names = {**(names or {}), **enclosing_names(function)}
    parameters = list(signature.parameters.values())[1 if is_method else 0 :]
    message, ctx = _message_and_ctx(parameters, where, "self, " if is_method else "")
    sends, yields = ((), ()) if ctx is None else _context_types(function, ctx, where, names)
    returns = declared(_hint_or_any(function, signature.return_annotation, names))
    return HandlerSignature(
        accepts=members(_message_type(function, message, where, names)),
        takes_ctx=ctx is not None,
        sends=sends,
        yields=yields,
        returns=_without_none(returns),
        is_silent=returns is None or NoneType in returns,
    )


def declared(annotation: object) -> Types:
    """Return the types an annotation declares: empty for Never, None if it is Any or not understood."""
    parts = [part for part in members(annotation) if part not in NEVER]
    if any(part is object or why_uncheckable(part) is not None for part in parts):
        return None
    return tuple(parts)


def union_of(types: Iterable[Types]) -> Types:
    """Return all of several declarations together; unknown if one of them is."""
    found: list[object] = []
    for each in types:
        if each is None:
            return None
        found += each
    return unique(found)


def _refuse_generators(function: Callable[..., object], where: str) -> None:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise HandlerError(f"{where} is a generator; return one value, or send each with ctx.send_message")


def _signature(function: Callable[..., object], where: str) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError) as exc:
        raise HandlerError(f"{where} has no readable signature; wrap it in a function of your own") from exc


def _message_and_ctx(
    parameters: Sequence[inspect.Parameter], where: str, self_: str
) -> tuple[inspect.Parameter, inspect.Parameter | None]:
    positional = [each for each in parameters if each.kind in _POSITIONAL]
    further = [each for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]
    needed = [each for each in (*positional[1:], *further) if each.default is _NO_VALUE]
    second = positional[1] if len(positional) > 1 else None
    if second is not None and second.name == "ctx" and not needed:
        needed = [second]
    if not positional or len(needed) > 1 or (needed and needed[0] is not second):
        raise HandlerError(
            f"{where} must take ({self_}message) or ({self_}message, ctx); give others a default"
        )
    return positional[0], needed[0] if needed else None


def _message_type(
    function: Callable[..., object], message: inspect.Parameter, where: str, names: Mapping[str, object]
) -> object:
    if message.annotation is _NO_VALUE:
        raise HandlerError(
            f"{where}: annotate {message.name!r}; its type selects the handler (object accepts all)"
        )
    try:
        annotation = read_hint(function, message.annotation, names)
        reason = why_uncheckable(annotation)
    except (NameError, SyntaxError) as exc:
        raise HandlerError(
            f"{where}: the type {message.annotation!r} of {message.name!r} cannot be resolved ({exc}); "
            "import or define it first, outside of `if TYPE_CHECKING`"
        ) from exc
    if reason is not None:
        raise HandlerError(f"{where}: cannot check messages against {message.annotation!r}: {reason}")
    return annotation


def _context_types(
    function: Callable[..., object], ctx: inspect.Parameter, where: str, names: Mapping[str, object]
) -> tuple[Types, Types]:
    # Imported late: contexts know the graph, whose nodes are read here.
    from agentic.core.graph.definition.context import WorkflowContext

    hint = _hint_or_any(function, ctx.annotation, names)
    if not can_fit(WorkflowContext, hint):
        raise HandlerError(
            f"{where}: {ctx.name!r} receives the WorkflowContext, not {ctx.annotation!r}; annotate it so, "
            "or give it a default"
        )
    if get_origin(hint) is not WorkflowContext:
        return None, None
    sends, yields = (*get_args(hint), Any, Any)[:2]
    return declared(sends), declared(yields)


def _hint_or_any(function: Callable[..., object], annotation: object, names: Mapping[str, object]) -> object:
    """Return the meaning of an annotation; Any if it is missing or only type checkers import its names."""
    if annotation is _NO_VALUE:
        return Any
    try:
        return read_hint(function, annotation, names)
    except (NameError, SyntaxError):
        return Any


def _without_none(types: Types) -> Types:
    return None if types is None else tuple(part for part in types if part is not NoneType)
