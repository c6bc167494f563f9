"""Nodes of a graph: an executor handles messages, each handler those of its type."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_type_hints

from agentic.core.graph.errors import HandlerError, MessageTypeError
from agentic.core.graph.matching import (
    check_annotation,
    is_decided_by_class,
    matches,
    members,
    specificity,
    type_name,
)
from agentic.core.types import ExecutorId

if TYPE_CHECKING:
    from agentic.core.graph.context import WorkflowContext

MethodT = TypeVar("MethodT", bound=Callable[..., Awaitable[object]])
_MARK = "__agentic_handler__"


class ExecutorKind(StrEnum):
    """What an executor is for; the engine treats all alike."""

    WORKER = "worker"
    VALIDATOR = "validator"
    ORCHESTRATOR = "orchestrator"


def handler(method: MethodT) -> MethodT:
    """Mark an async method ``(self, message)`` or ``(self, message, ctx)`` as handler of its message type."""
    setattr(method, _MARK, True)
    return method


@dataclass(frozen=True, slots=True)
class _Handler:
    """A handler method, for one member of its message annotation."""

    annotation: object
    method: str
    takes_ctx: bool


class Executor:
    """A node of a graph.

    Subclasses mark their handlers with :func:`handler`; a message goes to the handler whose type fits it most
    closely. Instances hold configuration only: one instance serves every run of every workflow it is in.

    Args:
        id: Unique in the graph.
        kind: Worker, validator or orchestrator.
        max_parallel: How many messages of one superstep are handled at a time. With 1 they are handled one
            after the other, in delivery order.
    """

    def __init__(self, id: str, *, kind: ExecutorKind = ExecutorKind.WORKER, max_parallel: int = 1) -> None:
        if not id or "/" in id:
            raise HandlerError(
                f"executor id {id!r} must not be empty or hold '/' (it separates sub-workflows)"
            )
        if max_parallel < 1:
            raise HandlerError(f"executor {id!r}: max_parallel is {max_parallel}, at least 1 is needed")
        self.id = ExecutorId(id)
        self.kind = kind
        self.max_parallel = max_parallel
        self._handlers = self._find_handlers()
        self._by_class: dict[type, _Handler] = {}

    @property
    def input_types(self) -> tuple[object, ...]:
        """The message types this executor takes, most specific first."""
        return tuple(found.annotation for found in self._handlers)

    def accepts(self, message: object) -> bool:
        """Whether some handler takes ``message``."""
        return self._choose(message) is not None

    async def handle(self, message: object, ctx: WorkflowContext) -> object:
        """Give ``message`` to its handler and return what that returned.

        Raises:
            MessageTypeError: No handler takes it.
        """
        chosen = self._choose(message)
        if chosen is None:
            raise MessageTypeError(self.id, message, [type_name(t) for t in self.input_types])
        method = cast(Callable[..., Awaitable[object]], getattr(self, chosen.method))
        return await (method(message, ctx) if chosen.takes_ctx else method(message))

    def _choose(self, message: object) -> _Handler | None:
        kept = self._by_class.get(type(message))
        if kept is not None:
            return kept
        by_class_alone = True
        for candidate in self._handlers:
            by_class_alone = by_class_alone and is_decided_by_class(candidate.annotation)
            if matches(candidate.annotation, message):
                if by_class_alone:
                    self._by_class[type(message)] = candidate
                return candidate
        return None

    def _find_handlers(self) -> Sequence[_Handler]:
        marked = [
            (name, method)
            for name, method in inspect.getmembers(type(self), inspect.isfunction)
            if getattr(method, _MARK, False)
        ]
        where = f"executor {self.id!r} ({type(self).__name__})"
        found = [part for name, method in marked for part in _read_handler(name, method, where)]
        if not found and type(self).handle is Executor.handle:
            raise HandlerError(f"{where} has no handler; mark an async method with @handler")
        _refuse_twins(found, where)
        return sorted(found, key=lambda h: -specificity(h.annotation))


def message_type(function: Callable[..., object], parameter: inspect.Parameter, where: str) -> object:
    """Return the annotation of a message parameter.

    Raises:
        HandlerError: It has none, or one that cannot be resolved or checked.
    """
    try:
        hints = get_type_hints(function)
    except NameError as exc:
        raise HandlerError(f"{where}: {exc}; types of handlers must be importable at module level") from exc
    except TypeError as exc:
        raise HandlerError(f"{where}: its types cannot be read; give a function or a method") from exc
    if parameter.name not in hints:
        raise HandlerError(
            f"{where}: annotate {parameter.name!r}, its type chooses the handler (object takes all)"
        )
    annotation = hints[parameter.name]
    check_annotation(annotation, where)
    return annotation


def _read_handler(name: str, method: Callable[..., Any], where: str) -> list[_Handler]:
    where = f"{where}.{name}"
    parameters = list(inspect.signature(method).parameters.values())
    if not inspect.iscoroutinefunction(method):
        raise HandlerError(f"{where} must be `async def`; wrap blocking work in asyncio.to_thread")
    if len(parameters) not in {2, 3}:
        raise HandlerError(f"{where} must take (self, message) or (self, message, ctx)")
    annotation = message_type(method, parameters[1], where)
    return [_Handler(part, name, takes_ctx=len(parameters) == 3) for part in members(annotation)]


def _refuse_twins(found: Sequence[_Handler], where: str) -> None:
    for index, one in enumerate(found):
        for other in found[:index]:
            if one.annotation == other.annotation:
                names = f"{other.method!r} and {one.method!r}"
                raise HandlerError(
                    f"{where}: {names} both take {type_name(one.annotation)}; keep one of them"
                )
