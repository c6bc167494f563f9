"""A run's state as JSON. :mod:`agentic.core.graph.checkpoints.state_decoder` turns it back."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.graph.checkpoints.store import SCHEMA_VERSION
from agentic.core.graph.codec.codec import Codec
from agentic.core.graph.codec.payload import Payload
from agentic.core.graph.errors import stored_error
from agentic.core.graph.model.events import CONTENT_KEY, content_hash, large_text, large_text_of
from agentic.core.graph.model.messages import Activation, ActivationResult, Sent, Trail
from agentic.core.graph.model.progress import Asked, FailedAttempt, Progress, SubRun
from agentic.core.graph.model.state import FanInBuffer, ItemOutcome, MapProgress, Parked, RunState, state_of
from agentic.core.types import JSONValue

JSONObject = dict[str, JSONValue]


class StateEncoder:
    """Writes one part.

    Attributes:
        contents: The large values that the part names by their hash.
    """

    def __init__(self, codec: Codec | None) -> None:
        self._codec = codec
        self.contents: dict[str, str] = {}

    def value(self, payload: Payload) -> JSONValue:
        """Return a value, or its hash when it is large."""
        data = payload.data if self._codec is None else payload.stored(self._codec)
        text = large_text_of(payload) if data is payload.data else large_text(data)
        if text is None:
            return data
        name = content_hash(text)
        self.contents[name] = text
        return {CONTENT_KEY: name}

    def head(self, state: RunState) -> JSONObject:
        """Return everything of a state that is not in its tables."""
        head: JSONObject = {
            "schema": SCHEMA_VERSION,
            "started_at": state.started_at,
            "superstep": state.superstep,
            "sequence": state.sequence,
            "is_begun": state.is_begun,
            "next_map_id": state.next_map_id,
            "output_count": state.output_count,
            "status": state.status.value,
            "activations": [self.activation(activation) for activation in state.activations],
        }
        # Written at every superstep, so fields that are mostly empty are left out when empty.
        if state.path:
            head["path"] = state.path
        if state.deadline is not None:
            head["deadline"] = state.deadline
        if state.error is not None:
            head["error"] = stored_error(state.error)
        if state.waiting_fan_ins:
            head["waiting_fan_ins"] = list(state.waiting_fan_ins)
        if state.previous_errors:
            head["previous_errors"] = [self.value(payload) for payload in state.previous_errors]
        if state.kept:
            head["kept"] = [self.result(result) for result in state.kept.values()]
        return head

    def entry(self, state: RunState, table: str, key: object) -> JSONValue:
        """Return an entry of a table, or None when it is gone."""
        match table:
            case "shared" if key in state.shared:
                # In a list: a part that contains null still exists.
                return [self.value(state.shared[str(key)])]
            case "local" if key in state.local:
                return dict(state.local[key])  # type: ignore[index]  # it was just found
            case "parked" if key in state.parked:
                return self.parked(state.parked[str(key)])
            case _:
                return None

    def fan_in(self, buffer: FanInBuffer) -> JSONValue:
        """Return messages that wait in a fan-in: all, or only the latest."""
        return {
            source: [{"value": self.value(one.payload), "trail": self._trail(one.trail)} for one in held]
            for source, held in buffer.items()
        }

    def map_progress(self, progress: MapProgress) -> JSONObject:
        """Return the progress of a list; the list and its results are in parts of their own."""
        return {
            "edge": progress.edge_index,
            "count": progress.count,
            "trail": self._trail(progress.trail),
            "next_index": progress.next_index,
            "done_count": progress.done_count,
            "chunk_count": len(progress.done),
        }

    def outcomes(self, outcomes: Sequence[ItemOutcome]) -> JSONValue:
        """Return the items that finished in one superstep."""
        return [self._outcome(outcome) for outcome in outcomes]

    def _outcome(self, outcome: ItemOutcome) -> JSONObject:
        data: JSONObject = {"index": outcome.index}
        if outcome.value is not None:
            data["value"] = [self.value(outcome.value)]
        if outcome.error_type:
            data["error"] = {"type": outcome.error_type, "message": outcome.error}
            data["executor"] = outcome.failed_executor
            data["attempts"] = outcome.attempt_count
        return data

    def parked(self, parked: Parked) -> JSONObject:
        """Return an activation that waits for answers."""
        return {"activation": self.activation(parked.activation), "progress": self.progress(parked.progress)}

    def activation(self, activation: Activation) -> JSONObject:
        """Return an activation."""
        delivery = activation.delivery
        data: JSONObject = {
            "to": delivery.target,
            "from": list(delivery.sources),
            "value": self.value(delivery.payload),
            "superstep": activation.superstep,
            "shard": activation.shard,
        }
        if delivery.item is not None:
            data["item"] = [delivery.item.map_id, delivery.item.index]
        if delivery.trail:
            data["trail"] = self._trail(delivery.trail)
        if delivery.feedback:
            data["feedback"] = [self.value(payload) for payload in delivery.feedback]
        if delivery.progress.origin:
            data["progress"] = self.progress(delivery.progress)
        return data

    def _trail(self, trail: Trail) -> JSONValue:
        return {
            worker: {
                "value": self.value(last.payload),
                "from": list(last.sources),
                "passes": [[edge_index, count] for edge_index, count in last.passes.items()],
                "feedback": [self.value(payload) for payload in last.feedback],
            }
            for worker, last in trail.items()
        }

    def result(self, result: ActivationResult) -> JSONObject:
        """Return the result of an activation, from a superstep that was broken off."""
        return {
            "executor": result.activation.delivery.target,
            "shard": result.activation.shard,
            "sends": [self._sent(sent) for sent in result.sends],
            "outputs": [self.value(payload) for payload in result.outputs],
            "writes": [[key, self.value(payload)] for key, payload in result.writes],
            "local": None if result.local is None else dict(result.local),
            "verdicts": [
                [edge_index, position, list(decision) if isinstance(decision, tuple) else decision]
                for (edge_index, position), decision in result.edge_decisions.items()
            ],
            "error": stored_error(result.error),
            "routing_error": stored_error(result.routing_error),
            "is_parked": result.parked,
            "progress": self.progress(result.progress),
            "duration_s": result.duration_s,
            "is_judged": result.is_evaluated,
        }

    def _sent(self, sent: Sent) -> JSONValue:
        return [self.value(sent.payload), sent.target]

    def progress(self, progress: Progress) -> JSONObject:
        """Return the progress that outlives the tries of an activation."""
        data: JSONObject = {
            "origin": progress.origin,
            "failures": [_failure(failure) for failure in progress.failures],
            "asked": [self._asked(asked) for asked in progress.asked],
            "surfaced": [self._asked(asked) for asked in progress.surfaced],
            "once": {key: self.value(payload) for key, payload in progress.once.items()},
            "sub_runs": [[number, self._sub_run(sub)] for number, sub in progress.sub_runs.items()],
        }
        if progress.yielded:
            data["yielded"] = progress.yielded
        if progress.refused:
            data["refused"] = progress.refused
        return data

    def _asked(self, asked: Asked) -> JSONObject:
        return {
            "name": asked.name,
            "path": asked.path,
            "question": self.value(asked.question),
            "response_type": asked.response_type,
            "raised_at": asked.raised_at,
            "deadline": asked.deadline,
            "answer": None if asked.answer is None else [self.value(asked.answer)],
            "answered_by": asked.answered_by,
            "has_expired": asked.has_expired,
        }

    def _sub_run(self, sub_run: SubRun) -> JSONObject:
        """Return a sub-workflow's run, whole."""
        state = state_of(sub_run)
        data: JSONObject = {
            "head": self.head(state),
            "outputs": [self.value(payload) for payload in sub_run.outputs],
            "shared": {key: [self.value(payload)] for key, payload in state.shared.items()},
            "local": {key: dict(local) for key, local in state.local.items()},
            "fan_ins": [[index, self.fan_in(buffer)] for index, buffer in state.fan_ins.items()],
            "maps": [
                [
                    map_id,
                    self.map_progress(progress),
                    [self.value(progress.items)],
                    [self.outcomes(chunk) for chunk in progress.done],
                ]
                for map_id, progress in state.maps.items()
            ],
            "parked": [self.parked(parked) for parked in state.parked.values()],
        }
        name = state.run_id.rpartition("/")[2]  # without the run around it: a fork has another name
        return {**data, "name": name} if name else data


def _failure(failure: FailedAttempt) -> JSONValue:
    return {
        "number": failure.number,
        "error_type": failure.error_type,
        "message": failure.message,
        "duration_s": failure.duration_s,
        "delay_s": failure.delay_s,
    }
