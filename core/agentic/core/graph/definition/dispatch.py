"""Chooses the handler of a message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentic.core.graph.codec.annotations import type_name
from agentic.core.graph.codec.matching import CheckPart, check_of, checks_of
from agentic.core.graph.codec.typing_rules import is_narrower
from agentic.core.graph.definition.handler_types import HandlerSignature, Types
from agentic.core.graph.errors import HandlerError


class Outlet:
    """A check of values that leave an executor: they have a declared type, or no type is declared.

    Attributes:
        types: The declared types, or None.
    """

    __slots__ = ("_fitting", "types")

    def __init__(self, types: Types) -> None:
        self.types = types
        self._fitting: dict[type, None] = {}

    def fits(self, value: object) -> bool:
        """Whether ``value`` may leave; if its class decides, the result is cached."""
        if self.types is None or type(value) in self._fitting:
            return True
        kind = type(value)
        checks = [check for t in self.types for check in checks_of(t) if issubclass(kind, check.classes)]
        if any(check.look is None for check in checks):
            self._fitting[kind] = None
            return True
        return any(check.look is None or check.look(value) for check in checks)


@dataclass(frozen=True, slots=True)
class Handler:
    """A method, one of its message types, and its return types."""

    accepts: object
    method: str
    takes_ctx: bool
    outlet: Outlet


class Dispatch:
    """The handlers of an executor, the most specific first.

    A handler is more specific than another if its type is assignable to the other's. That is a partial order:
    if one message satisfies two protocols, neither is, and the handler declared first comes first.

    Args:
        signatures: Method name -> the method's signature, in declaration order.
        where: The name of the executor in error messages.

    Raises:
        HandlerError: Two handlers take types that run time cannot distinguish.
    """

    __slots__ = ("_candidates", "_decided", "handlers", "signatures")

    def __init__(self, signatures: Sequence[tuple[str, HandlerSignature]], where: str) -> None:
        self.signatures = tuple(signature for _, signature in signatures)
        declared = [
            Handler(part, name, signature.takes_ctx, Outlet(signature.returns))
            for name, signature in signatures
            for part in signature.accepts
        ]
        _refuse_twins(declared, where)
        self.handlers = tuple(_most_specific_first(declared))
        self._decided: dict[type, Handler] = {}
        self._candidates: dict[type, Sequence[tuple[Handler, CheckPart | None]]] = {}

    def choose(self, message: object) -> Handler | None:
        """Return the handler for ``message``; if its class decides, the result is cached."""
        return self._decided.get(type(message)) or self._look_for(message)

    def _look_for(self, message: object) -> Handler | None:
        kind = type(message)
        candidates = self._candidates.get(kind)
        if candidates is None:
            candidates = self._candidates[kind] = self._candidates_for(kind)
        for handler, look in candidates:
            if look is None or look(message):
                return handler
        return None

    def _candidates_for(self, kind: type) -> Sequence[tuple[Handler, CheckPart | None]]:
        """Return the possible handlers for messages of a class, up to the first that takes them all."""
        found: list[tuple[Handler, CheckPart | None]] = []
        for handler in self.handlers:
            check = check_of(handler.accepts)
            if issubclass(kind, check.classes):
                found.append((handler, check.look))
                if check.look is None:
                    break
        if found and found[0][1] is None:
            self._decided[kind] = found[0][0]
        return found


def _most_specific_first(handlers: Sequence[Handler]) -> list[Handler]:
    left = list(handlers)
    ordered: list[Handler] = []
    while left:
        free = (one for one in left if not any(_goes_before(other, one) for other in left))
        best = next(free, left[0])
        left.remove(best)
        ordered.append(best)
    return ordered


def _goes_before(one: Handler, other: Handler) -> bool:
    return is_narrower(one.accepts, other.accepts) and not is_narrower(other.accepts, one.accepts)


def _refuse_twins(handlers: Sequence[Handler], where: str) -> None:
    for index, one in enumerate(handlers):
        for other in handlers[:index]:
            if one.method == other.method:
                continue
            if is_narrower(one.accepts, other.accepts) and is_narrower(other.accepts, one.accepts):
                both = f"{other.method!r} and {one.method!r} both take {type_name(one.accepts)}"
                if one.accepts != other.accepts:
                    both += f", because {type_name(other.accepts)} is the same at run time"
                raise HandlerError(f"{where}: {both}; keep one of them")
