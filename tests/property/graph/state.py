"""Runs' states as text, to be compared."""

from __future__ import annotations

from agentic.core import Workflow
from agentic.core.graph.checkpoints.state_encoder import JSONObject, StateEncoder
from agentic.core.graph.codec.codec import to_text
from agentic.core.graph.model.state import RunState
from agentic.core.types import JSONValue

_OF_TIME = frozenset({"started_at", "deadline", "raised_at", "duration_s", "delay_s"})


def written(workflow: Workflow, state: RunState) -> JSONObject:
    """Return all of a state as a checkpoint keeps it."""
    writer = StateEncoder(workflow.codec)
    return {
        "head": writer.head(state),
        "shared": {key: writer.entry(state, "shared", key) for key in sorted(state.shared)},
        "local": {key: writer.entry(state, "local", key) for key in sorted(state.local)},
        "fan_ins": [[index, writer.fan_in(state.fan_ins[index])] for index in sorted(state.fan_ins)],
        "maps": [
            [number, writer.map_progress(batch), [writer.outcomes(chunk) for chunk in batch.done]]
            for number, batch in state.maps.items()
        ],
        "parked": [[origin, writer.parked(parked)] for origin, parked in state.parked.items()],
    }


def without_time(data: JSONValue) -> str:
    """Return data as text, without what depends on how long things took."""
    return to_text(_scrubbed(data))


def _scrubbed(data: JSONValue) -> JSONValue:
    if isinstance(data, dict):
        return {key: _scrubbed(part) for key, part in data.items() if key not in _OF_TIME}
    return [_scrubbed(part) for part in data] if isinstance(data, list) else data
