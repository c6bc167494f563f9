"""What travels between executors, and what comes back from one."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import TypeVar
from uuid import UUID

from pydantic import BaseModel

from agentic.core.graph.errors import MessageCopyError
from agentic.core.graph.events import WorkflowEvent
from agentic.core.types import ExecutorId

PayloadT = TypeVar("PayloadT")

_ATOMS = (
    str, int, float, complex, bytes, type(None), Enum, date, time, timedelta, Decimal, PurePath, UUID,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lineage:
    """Which item of which map edge's list a delivery belongs to."""

    map_id: int
    index: int


@dataclass(frozen=True, slots=True)
class Sent:
    """A message as an executor sent it; ``target`` limits it to one of the executor's out-edges' ends."""

    payload: object
    target: ExecutorId | None = None


class Several(tuple[object, ...]):
    """What a handler returns that has several values to return; each counts on its own."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message on its way to one executor."""

    target: ExecutorId
    sources: tuple[ExecutorId, ...]
    payload: object
    lineage: Lineage | None = None


@dataclass(frozen=True, slots=True)
class Activation:
    """One delivery to be handled in one superstep; ``shard`` counts those of one executor from 0."""

    delivery: Delivery
    superstep: int
    shard: int

    @property
    def executor_id(self) -> ExecutorId:
        """The executor that handles it."""
        return self.delivery.target


Verdict = bool | tuple[ExecutorId, ...]
"""What a condition said, or which targets a selector chose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationResult:
    """What came of an activation.

    Attributes:
        activation: The one that ran.
        sends: In the order they were sent; empty after an error.
        outputs: In the order they were yielded; empty after an error.
        verdicts: (edge index, position in ``sends``) -> verdict, for every edge that has a condition or a
            selector.
        error: Why it failed, if it did.
        duration_s: Wall time.
        sub_events: Durable events of the sub-workflows it ran, in order.
    """

    activation: Activation
    sends: tuple[Sent, ...] = ()
    outputs: tuple[object, ...] = ()
    verdicts: Mapping[tuple[int, int], Verdict] = field(default_factory=dict)
    error: Exception | None = None
    duration_s: float = 0.0
    sub_events: tuple[WorkflowEvent, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorFailure:
    """That an executor failed, as data."""

    executor_id: ExecutorId
    error_type: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemResult:
    """What a map edge's body made of one item.

    Attributes:
        index: Position of the item in the list.
        item: The item itself.
        value: What the body sent or yielded: None for nothing, a list for several messages.
        error: Set when the body failed; ``value`` is then None.
    """

    index: int
    item: object
    value: object = None
    error: ExecutorFailure | None = None

    @property
    def ok(self) -> bool:
        """Whether the body succeeded."""
        return self.error is None


def isolated(payload: PayloadT) -> PayloadT:
    """Return ``payload`` itself if nobody can change it, else a deep copy.

    Executors of one superstep run side by side: a message they share must not be a way to reach each other.

    Raises:
        MessageCopyError: It can be changed and cannot be copied, or is nested too deeply to tell.
    """
    try:
        return payload if is_immutable(payload) else copy.deepcopy(payload)
    except Exception as exc:
        raise MessageCopyError(payload, str(exc) or type(exc).__name__) from exc


def is_immutable(value: object) -> bool:
    """Whether ``value``, down to its last part, cannot be changed."""
    if isinstance(value, _ATOMS):
        return True
    if isinstance(value, (tuple, frozenset)):
        return all(map(is_immutable, value))
    if isinstance(value, BaseModel):
        return bool(value.model_config.get("frozen")) and all(map(is_immutable, vars(value).values()))
    if is_dataclass(value) and not isinstance(value, type):
        params = getattr(value, "__dataclass_params__", None)
        return bool(getattr(params, "frozen", False)) and all(
            is_immutable(getattr(value, f.name)) for f in fields(value)
        )
    return False
