"""A run's state from its JSON, as :mod:`agentic.core.graph.checkpoints.state_encoder` wrote it.

No input is trusted: its shape is validated, large values must have their hash, and the result has only
executors, edges and types of the workflow itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, StrictStr, TypeAdapter

from agentic.core.graph.codec.codec import Codec, from_text
from agentic.core.graph.codec.payload import Payload, unpack
from agentic.core.graph.errors import CorruptContentError, RestoredError
from agentic.core.graph.model.events import CONTENT_KEY, content_hash
from agentic.core.graph.model.messages import (
    Activation,
    ActivationKey,
    ActivationResult,
    Delivery,
    EdgeDecision,
    Input,
    MapItem,
    Sent,
    Trail,
)
from agentic.core.graph.model.progress import Asked, FailedAttempt, Progress, SubRun
from agentic.core.graph.model.result import RunStatus
from agentic.core.graph.model.state import (
    BufferedMessage,
    FanInBuffer,
    ItemOutcome,
    MapProgress,
    Parked,
    RunState,
    Waiting,
)
from agentic.core.types import ExecutorId, JSONValue, RunId

_Count = Annotated[int, Field(strict=True, ge=0, le=2**63 - 1)]
_Seconds = Annotated[float, Field(allow_inf_nan=False)]
KeyT = TypeVar("KeyT")


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Error(_Model):
    type: StrictStr
    message: StrictStr
    failure_class: StrictStr | None = None


class _Input(_Model):
    value: JsonValue
    sources: list[StrictStr] = Field(alias="from")
    passes: list[tuple[_Count, _Count]]
    feedback: list[JsonValue]


_Trail = dict[StrictStr, _Input]


class _Asked(_Model):
    name: StrictStr
    path: StrictStr
    question: JsonValue
    response_type: StrictStr
    raised_at: _Seconds
    deadline: _Seconds | None
    answer: Annotated[list[JsonValue], Field(min_length=1, max_length=1)] | None
    answered_by: StrictStr
    has_expired: StrictBool


class _Failure(_Model):
    number: _Count
    error_type: StrictStr
    message: StrictStr
    duration_s: _Seconds
    delay_s: _Seconds | None


class _Progress(_Model):
    origin: StrictStr
    failures: list[_Failure]
    asked: list[_Asked]
    surfaced: list[_Asked]
    once: dict[StrictStr, JsonValue]
    sub_runs: list[tuple[_Count, _SubRun]]
    yielded: _Count = 0
    refused: _Count = 0


class _Activation(_Model):
    to: StrictStr
    sources: list[StrictStr] = Field(alias="from")
    value: JsonValue
    item: tuple[_Count, _Count] | None = None
    trail: _Trail = Field(default_factory=dict)
    feedback: list[JsonValue] = Field(default_factory=list)
    progress: _Progress | None = None
    superstep: _Count
    shard: _Count


class _Result(_Model):
    executor: StrictStr
    shard: _Count
    sends: list[tuple[JsonValue, StrictStr | None]]
    outputs: list[JsonValue]
    writes: list[tuple[StrictStr, JsonValue]]
    local: dict[StrictStr, JsonValue] | None
    verdicts: list[tuple[_Count, _Count, StrictBool | list[StrictStr]]]
    error: _Error | None
    routing_error: _Error | None
    is_parked: StrictBool
    progress: _Progress
    duration_s: _Seconds
    is_judged: StrictBool


class StateHead(_Model):
    """Everything of a state that is not in its tables."""

    schema_version: Literal[1] = Field(alias="schema")
    path: StrictStr = ""
    started_at: _Seconds
    deadline: _Seconds | None = None
    superstep: _Count
    sequence: _Count
    is_begun: StrictBool
    next_map_id: _Count
    output_count: _Count
    status: RunStatus
    error: _Error | None = None
    waiting_fan_ins: list[StrictStr] = Field(default_factory=list)
    previous_errors: list[JsonValue] = Field(default_factory=list)
    activations: list[_Activation]
    kept: list[_Result] = Field(default_factory=list)
    digest: StrictStr = ""


class _Held(_Model):
    value: JsonValue
    trail: _Trail


_FanIn = Annotated[dict[StrictStr, Annotated[list[_Held], Field(min_length=1)]], Field(min_length=1)]


class _Map(_Model):
    edge: _Count
    count: _Count
    trail: _Trail
    next_index: _Count
    done_count: _Count
    chunk_count: _Count


class _Outcome(_Model):
    index: _Count
    value: Annotated[list[JsonValue], Field(min_length=1, max_length=1)] | None = None
    error: _Error | None = None
    executor: StrictStr = ""
    attempts: _Count = 1


class _Parked(_Model):
    activation: _Activation
    progress: _Progress


class _SubRun(_Model):
    head: StateHead
    outputs: list[JsonValue]
    shared: dict[StrictStr, Annotated[list[JsonValue], Field(min_length=1, max_length=1)]]
    local: dict[StrictStr, dict[StrictStr, JsonValue]]
    fan_ins: list[tuple[_Count, _FanIn]]
    maps: list[tuple[_Count, _Map, list[JsonValue], list[list[_Outcome]]]]
    parked: list[_Parked]
    name: StrictStr = ""


for _model in (_Progress, _Activation, _Result, StateHead, _Parked, _SubRun):
    _model.model_rebuild()

_FAN_IN = TypeAdapter(_FanIn)
_OUTCOMES = TypeAdapter(list[_Outcome])
_LOCAL = TypeAdapter(dict[StrictStr, JsonValue])
_VALUES = TypeAdapter(list[JsonValue])


class StateDecoder:
    """Reads parts back.

    Args:
        codec: Of the workflow.
        contents: The large values: hash -> JSON text.
    """

    def __init__(self, codec: Codec, contents: Mapping[str, str]) -> None:
        self._codec = codec
        self._contents = contents
        self._parcels: dict[str, Payload] = {}

    def value(self, data: JSONValue) -> Payload:
        """Return a value as its payload.

        Raises:
            CorruptContentError: It is missing, damaged, or of a type the workflow does not have.
        """
        if not (isinstance(data, dict) and CONTENT_KEY in data):
            return unpack(self._codec, data)
        name = str(data[CONTENT_KEY])
        if name not in self._parcels:
            text = self._contents.get(name)
            if text is None or content_hash(text) != name:
                raise CorruptContentError(f"the value {name!r} is {'missing' if text is None else 'damaged'}")
            self._parcels[name] = unpack(self._codec, from_text(text))
            return self._parcels[name]
        return self._parcels[name].for_next_receiver()

    def values(self, data: JSONValue) -> list[Payload]:
        """Return several values."""
        return list(map(self.value, _VALUES.validate_python(data)))

    def state(self, run_id: RunId, head: StateHead) -> RunState:
        """Return a state without its tables."""
        activations = tuple(map(self._activation, head.activations))
        by_key = {activation.key: activation for activation in activations}
        return RunState(
            run_id=run_id,
            path=head.path,
            started_at=head.started_at,
            deadline=head.deadline,
            superstep=head.superstep,
            sequence=head.sequence,
            activations=activations,
            is_begun=head.is_begun,
            kept=dict(self._kept(by_key, head.kept)),
            next_map_id=head.next_map_id,
            output_count=head.output_count,
            status=head.status,
            error=_error(head.error),
            waiting_fan_ins=tuple(map(ExecutorId, head.waiting_fan_ins)),
            previous_errors=tuple(map(self.value, head.previous_errors)),
        )

    def _kept(
        self, activations: Mapping[ActivationKey, Activation], results: Sequence[_Result]
    ) -> Iterator[tuple[ActivationKey, ActivationResult]]:
        for result in results:
            key = (ExecutorId(result.executor), result.shard)
            if key not in activations:
                raise CorruptContentError(f"a result of {result.executor!r}, which is not due")
            yield key, self._result(activations[key], result)

    def local(self, data: JSONValue) -> dict[str, JSONValue]:
        """Return an executor's own state."""
        return _LOCAL.validate_python(data)

    def fan_in(self, parts: Iterable[object]) -> FanInBuffer:
        """Return the messages that wait in a fan-in; each part has later ones than the part before."""
        buffer: dict[ExecutorId, Waiting] = {}
        for data in parts:
            for source, held in _FAN_IN.validate_python(data).items():
                newest = [BufferedMessage(self.value(one.value), self._trail(one.trail)) for one in held]
                buffer[ExecutorId(source)] = Waiting(newest, buffer.get(ExecutorId(source)))
        return buffer

    def map_progress(self, data: object, held_items: JSONValue, chunks: Sequence[object]) -> MapProgress:
        """Return the progress of a list."""
        found = data if isinstance(data, _Map) else _Map.model_validate(data)
        items = self.values(held_items)[0]
        done = tuple(tuple(map(self._outcome, _OUTCOMES.validate_python(chunk))) for chunk in chunks)
        held = len(items.value) if isinstance(items.value, (list, tuple)) else -1
        counted = sum(map(len, done))
        if held != found.count or counted != found.done_count or not counted <= found.next_index <= held:
            raise CorruptContentError(f"a list of {held} items claims {found.count}, with {counted} done")
        return MapProgress(
            found.edge, items, found.count, self._trail(found.trail), found.next_index, done, found.done_count
        )

    def parked(self, data: object) -> Parked:
        """Return an activation that waits for answers."""
        found = data if isinstance(data, _Parked) else _Parked.model_validate(data)
        return Parked(self._activation(found.activation), self._progress(found.progress))

    def _outcome(self, outcome: _Outcome) -> ItemOutcome:
        return ItemOutcome(
            outcome.index,
            None if outcome.value is None else self.value(outcome.value[0]),
            outcome.error.type if outcome.error else "",
            outcome.error.message if outcome.error else "",
            outcome.executor,
            outcome.attempts,
        )

    def _activation(self, data: _Activation) -> Activation:
        delivery = Delivery(
            ExecutorId(data.to),
            tuple(map(ExecutorId, data.sources)),
            self.value(data.value),
            None if data.item is None else MapItem(*data.item),
            self._trail(data.trail),
            tuple(map(self.value, data.feedback)),
            Progress() if data.progress is None else self._progress(data.progress),
        )
        return Activation(delivery, data.superstep, data.shard)

    def _trail(self, trail: Mapping[str, _Input]) -> Trail:
        return {
            ExecutorId(worker): Input(
                self.value(last.value),
                tuple(map(ExecutorId, last.sources)),
                dict(last.passes),
                tuple(map(self.value, last.feedback)),
            )
            for worker, last in trail.items()
        }

    def result(self, activation: Activation, data: object) -> ActivationResult:
        """Return the result of an activation."""
        return self._result(activation, _Result.model_validate(data))

    def progress(self, data: object) -> Progress:
        """Return the progress that outlives the tries of an activation."""
        return self._progress(_Progress.model_validate(data))

    def _result(self, activation: Activation, data: _Result) -> ActivationResult:
        return ActivationResult(
            activation,
            sends=tuple(
                Sent(self.value(value), None if target is None else ExecutorId(target))
                for value, target in data.sends
            ),
            outputs=tuple(map(self.value, data.outputs)),
            writes=tuple((key, self.value(value)) for key, value in data.writes),
            local=data.local,
            edge_decisions={(edge, position): _verdict(verdict) for edge, position, verdict in data.verdicts},
            error=_error(data.error),
            routing_error=_error(data.routing_error),
            parked=data.is_parked,
            progress=self._progress(data.progress),
            duration_s=data.duration_s,
            is_evaluated=data.is_judged,
        )

    def _progress(self, data: _Progress) -> Progress:
        return Progress(
            data.origin,
            tuple(FailedAttempt(**failure.model_dump()) for failure in data.failures),
            tuple(map(self._asked, data.asked)),
            tuple(map(self._asked, data.surfaced)),
            {key: self.value(value) for key, value in data.once.items()},
            {number: self._sub_run(sub_run) for number, sub_run in data.sub_runs},
            data.yielded,
            data.refused,
        )

    def _asked(self, data: _Asked) -> Asked:
        return Asked(
            data.name,
            data.path,
            self.value(data.question),
            data.response_type,
            data.raised_at,
            data.deadline,
            None if data.answer is None else self.value(data.answer[0]),
            data.answered_by,
            data.has_expired,
        )

    def _sub_run(self, data: _SubRun) -> SubRun:
        # The run around it may be a fork: its sub-runs are named after the fork when they continue.
        state = replace(
            self.state(RunId(data.name), data.head),
            shared={key: self.value(held[0]) for key, held in data.shared.items()},
            local={ExecutorId(executor_id): local for executor_id, local in data.local.items()},
            fan_ins={index: self.fan_in([buffer]) for index, buffer in data.fan_ins},
            maps={
                map_id: self.map_progress(found, items, chunks) for map_id, found, items, chunks in data.maps
            },
            parked={one.activation.origin: one for one in map(self.parked, data.parked)},
        )
        return SubRun(state, tuple(map(self.value, data.outputs)))


def _verdict(verdict: bool | list[str]) -> EdgeDecision:
    return tuple(map(ExecutorId, verdict)) if isinstance(verdict, list) else verdict


def _error(error: _Error | None) -> Exception | None:
    return None if error is None else RestoredError(error.type, error.message, error.failure_class)
