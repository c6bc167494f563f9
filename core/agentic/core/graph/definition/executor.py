"""Nodes of a graph: an executor handles messages, each handler the messages of its type."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator
from enum import StrEnum
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from agentic.core.graph.codec.annotations import type_name
from agentic.core.graph.codec.hints import enclosing_names
from agentic.core.graph.definition.dispatch import Dispatch, Outlet
from agentic.core.graph.definition.handler_types import HandlerSignature, Types, read_signature, union_of
from agentic.core.graph.errors import HandlerError, InvalidPolicyError, MessageTypeError, SendTypeError
from agentic.core.graph.model.policies import CrashPolicy, RetryPolicy
from agentic.core.graph.names import is_storable
from agentic.core.old_methods import name_of_override, warn_of_old_method
from agentic.core.types import ExecutorId

if TYPE_CHECKING:
    from agentic.core.graph.definition.context import WorkflowContext

MethodT = TypeVar(
    "MethodT",
    bound=Callable[[Any, Any], Awaitable[object]]
    | Callable[[Any, Any, "WorkflowContext[Any, Any]"], Awaitable[object]],
)
_MARK = "__agentic_handler__"
_TABLE = "__agentic_dispatch__"


class ExecutorKind(StrEnum):
    """The purpose of an executor; the engine treats all kinds alike."""

    WORKER = "worker"
    VALIDATOR = "validator"
    ORCHESTRATOR = "orchestrator"


def handler(method: MethodT) -> MethodT:
    """Mark an async method ``(self, message)`` or ``(self, message, ctx)`` as handler of its message type.

    A method that overrides a handler is also a handler; ``name = None`` in a subclass removes it.
    """
    setattr(method, _MARK, enclosing_names(method))
    return method


class Executor:
    """A node of a graph.

    Subclasses mark their handlers with :func:`handler`. A message goes to the handler with the closest type;
    among equals to the one declared first, a subclass's before its bases'. Instances hold only configuration:
    one instance serves every run of every workflow it is in.

    Attributes:
        queue: The workers that handle its messages, in runs with a ledger; None for any.
        crash: The policy for the death of its process, in runs with a ledger; the workflow's policy when
            None.

    Args:
        id: Unique in the graph.
        kind: Worker, validator or orchestrator.
        max_parallel: How many messages of one superstep are handled at a time. With 1 they are handled one
            after the other, in delivery order.
        retry: How often a failing activation is tried; the workflow's policy when omitted.
        timeout_s: Seconds one try may take; the workflow's limit when omitted.

    Raises:
        HandlerError: A handler cannot be used.
        InvalidPolicyError: ``retry`` or ``timeout_s`` makes no sense.
    """

    queue: str | None = None
    crash: CrashPolicy | None = None

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        warn_of_old_method(cls, "on_cancel", "abandon")

    def __init__(
        self,
        id: str,
        *,
        kind: ExecutorKind = ExecutorKind.WORKER,
        max_parallel: int = 1,
        retry: RetryPolicy | None = None,
        timeout_s: float | None = None,
    ) -> None:
        if not id or "/" in id:
            raise HandlerError(
                f"executor id {id!r} must not be empty or contain '/' (it separates sub-workflows)"
            )
        if not is_storable(id):
            raise HandlerError(
                f"executor id {id!a} contains lone surrogates, which no store accepts; clean the text"
            )
        if max_parallel < 1:
            raise HandlerError(f"executor {id!r}: max_parallel is {max_parallel}, but must be at least 1")
        if retry is not None and not isinstance(retry, RetryPolicy):
            raise InvalidPolicyError(f"retry of executor {id!r}", retry, "a RetryPolicy or None")
        if timeout_s is not None and not timeout_s > 0:
            raise InvalidPolicyError(
                f"timeout_s of executor {id!r}", timeout_s, "more than 0 seconds or None"
            )
        self.id = ExecutorId(id)
        self.kind = kind
        self.max_parallel = max_parallel
        self.retry = retry
        self.timeout_s = timeout_s
        self._dispatch = self._read_handlers()

    @property
    def input_types(self) -> tuple[object, ...]:
        """The message types this executor takes, most specific first."""
        return tuple(found.accepts for found in self._dispatch.handlers)

    @property
    def signatures(self) -> tuple[HandlerSignature, ...]:
        """The declarations of its handlers."""
        return self._dispatch.signatures

    @property
    def send_types(self) -> Types:
        """The types its handlers may send through their context: empty for nothing, None for unknown."""
        return union_of(signature.sends for signature in self._dispatch.signatures)

    @property
    def output_types(self) -> Types:
        """The types its handlers may yield through their context: empty for nothing, None for unknown."""
        return union_of(signature.yields for signature in self._dispatch.signatures)

    @property
    def return_types(self) -> Types:
        """The types its handlers may return, except None: sent if it has an out-edge, else yielded."""
        return union_of(signature.returns for signature in self._dispatch.signatures)

    def accepts(self, message: object) -> bool:
        """Whether a handler takes ``message``."""
        return self._dispatch.choose(message) is not None

    async def handle(self, message: object, ctx: WorkflowContext) -> object:
        """Pass ``message`` to its handler and return the handler's result.

        Raises:
            MessageTypeError: No handler takes it.
            SendTypeError: The handler returned an undeclared type.
        """
        chosen = self._dispatch.choose(message)
        if chosen is None:
            raise MessageTypeError(self.id, message, [type_name(t) for t in self.input_types])
        method: Callable[..., Awaitable[object]] = getattr(self, chosen.method)
        returned = await (method(message, ctx) if chosen.takes_ctx else method(message))
        if returned is not None and not chosen.outlet.fits(returned):
            raise self._misfit(chosen.outlet, "returned", returned)
        return returned

    @property
    def has_cancel_hook(self) -> bool:
        """Whether :meth:`on_cancel` has anything to do."""
        return name_of_override(type(self), Executor, "on_cancel", "abandon") is not None

    async def on_cancel(self, message: object, ctx: WorkflowContext) -> None:
        """Cancel the external work for ``message``; by default this does nothing.

        The engine calls it when the run ends by a failure, a cancellation or its deadline, before the run
        counts as ended: for each message in progress or next in line. It runs at least once, maybe in
        another process, so it must be repeatable. ``ctx.once`` returns the earlier values; messages, outputs
        and writes are lost. It has :data:`~agentic.core.graph.running.on_cancel.CANCEL_HOOK_S` seconds. An
        exception becomes a log line and changes nothing. A resumed run handles the message again, and
        ``ctx.once`` still returns the earlier values: the handler must check which work was cancelled.
        """

    async def abandon(self, message: object, ctx: WorkflowContext) -> None:
        """Do as :meth:`on_cancel`: its old name, which works until the next release."""
        await self.on_cancel(message, ctx)

    def check_sent(self, message: object) -> None:
        """Raise :class:`SendTypeError` if no handler declares to send such a message."""
        if not self._sends.fits(message):
            raise self._misfit(self._sends, "sent", message)

    def check_yielded(self, output: object) -> None:
        """Raise :class:`SendTypeError` if no handler declares to yield such an output."""
        if not self._yields.fits(output):
            raise self._misfit(self._yields, "yielded", output)

    def _misfit(self, outlet: Outlet, verb: str, value: object) -> SendTypeError:
        return SendTypeError(self.id, verb, value, [type_name(t) for t in outlet.types or ()])

    @cached_property
    def _sends(self) -> Outlet:
        return Outlet(self.send_types)

    @cached_property
    def _yields(self) -> Outlet:
        return Outlet(self.output_types)

    def _read_handlers(self) -> Dispatch:
        """Return the handlers of the class; read once for all its instances."""
        cls = type(self)
        kept = vars(cls).get(_TABLE)
        if isinstance(kept, Dispatch):
            return kept
        where = f"executor {self.id!r} ({cls.__name__})"
        found = Dispatch(list(_signatures(cls, where)), where)
        setattr(cls, _TABLE, found)
        return found


def _signatures(cls: type[Executor], where: str) -> Iterator[tuple[str, HandlerSignature]]:
    marked = _marked_methods(cls)
    if not marked and cls.handle is Executor.handle:
        raise HandlerError(f"{where} has no handler; mark an async method with @handler")
    # A class with its own ``handle`` declares its types there.
    for name, names in marked.items() or [("handle", {})]:
        method = inspect.getattr_static(cls, name)
        if not isinstance(method, FunctionType):
            raise HandlerError(f"{where}.{name} is a {type(method).__name__}; handlers must be plain methods")
        signature = read_signature(method, f"{where}.{name}", names=names, is_method=True)
        if not inspect.iscoroutinefunction(method):
            raise HandlerError(f"{where}.{name} must be `async def`; wrap blocking work in asyncio.to_thread")
        yield name, signature


def _marked_methods(cls: type) -> dict[str, dict[str, object]]:
    """Return the names of the handlers, a subclass's before its bases', and the facts in their marks."""
    marks: dict[str, dict[str, object]] = {}
    for base in cls.__mro__:
        for name, member in vars(base).copy().items():
            inner = getattr(member, "__wrapped__", member)  # of a static or class method, refused later
            mark = getattr(inner, _MARK, getattr(member, _MARK, None))
            if isinstance(mark, dict):
                marks.setdefault(name, mark)
    return {name: mark for name, mark in marks.items() if inspect.getattr_static(cls, name) is not None}
