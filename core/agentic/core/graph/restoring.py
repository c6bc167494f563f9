"""Takes up a run from a stored checkpoint, or says why not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from agentic.core.graph.checkpoints import StoredCheckpoint, part_digest
from agentic.core.graph.codec import from_text, to_text
from agentic.core.graph.document import Document
from agentic.core.graph.edges import FanInEdge, Graph, MapEdge
from agentic.core.graph.errors import (
    CheckpointVersionError,
    CorruptCheckpointError,
    CorruptContentError,
)
from agentic.core.graph.parcel import Parcel
from agentic.core.graph.reading import Head, Reader
from agentic.core.graph.records import record
from agentic.core.graph.signature import Change, Signature, compare
from agentic.core.graph.snapshots import CONTENT, SIGNATURE, Saved, named_contents
from agentic.core.graph.state import MapProgress, RunState
from agentic.core.types import ExecutorId, JSONValue

if TYPE_CHECKING:
    from agentic.core.graph.workflow import Workflow


@record
class Restored:
    """A run as a checkpoint tells it.

    Attributes:
        state: Where it stands.
        outputs: What it yielded.
        saved: What the store holds of it.
        changed: Names of executors and conditions whose code is another one by now.
        converted: Parts that a migration changed, as JSON; None for those it removed.
    """

    state: RunState
    outputs: list[Parcel]
    saved: Saved
    changed: tuple[str, ...]
    converted: Mapping[str, str | None]


def restore(stored: StoredCheckpoint, workflow: Workflow) -> Restored:
    """Return the run that ``stored`` is a checkpoint of.

    Raises:
        CheckpointVersionError: ``workflow`` is another one, or another version of it.
        CorruptCheckpointError: The checkpoint is damaged, or names what the workflow does not have.
    """
    checkpoint_id = stored.metadata.id
    try:
        document = Document(
            from_text(stored.head), {name: from_text(text) for name, text in stored.parts.items()}
        )
        _check_digest(stored, Head.model_validate(document.head))
        change = _change_since(document, workflow)
        converted: dict[str, str | None] = {}
        if change.refusal:
            document, converted = _migrated(stored, workflow, document, change.refusal)
        restoring = _Restoring(stored, workflow, document.parts)
        return restoring.run(Head.model_validate(document.head), change.changed_code, converted)
    except ValidationError as exc:
        where = "; ".join(
            ".".join(map(str, error["loc"])) + ": " + error["msg"] for error in exc.errors()[:3]
        )
        raise CorruptCheckpointError(checkpoint_id, where) from exc
    except CorruptContentError as exc:
        raise CorruptCheckpointError(checkpoint_id, str(exc)) from exc


def _check_digest(stored: StoredCheckpoint, head: Head) -> None:
    digest = 0
    for name, text in stored.parts.items():
        digest ^= part_digest(name, text)
    if f"{digest:032x}" != head.digest:
        raise CorruptContentError("parts of it are missing, damaged or from another checkpoint")


def _change_since(document: Document, workflow: Workflow) -> Change:
    data = document.parts.get(SIGNATURE)
    if not isinstance(data, dict):
        raise CorruptContentError("it does not say which workflow it is of")
    return compare(Signature.from_dict(data), workflow.signature)


def _migrated(
    stored: StoredCheckpoint, workflow: Workflow, document: Document, refusal: str
) -> tuple[Document, dict[str, str | None]]:
    """Return a checkpoint of another version as one of this version, and what that changes in the store.

    Raises:
        CheckpointVersionError: No migration leads from that version to this one.
    """
    metadata = stored.metadata
    migrate = workflow.migrations.get(metadata.version)
    if migrate is None or metadata.workflow_id != workflow.id:
        raise CheckpointVersionError(metadata.id, refusal)
    after = migrate(document)
    parts = {**after.parts, SIGNATURE: workflow.signature.to_dict()}
    texts = {name: to_text(part) for name, part in parts.items()}
    converted: dict[str, str | None] = {
        name: text for name, text in texts.items() if stored.parts.get(name) != text
    }
    converted |= dict.fromkeys(stored.parts.keys() - texts.keys())
    return Document(after.head, parts), converted


class _Restoring:
    """Puts the tables of a state together."""

    def __init__(self, stored: StoredCheckpoint, workflow: Workflow, parts: Mapping[str, JSONValue]) -> None:
        self._stored = stored
        self._workflow = workflow
        self._parts = parts
        texts = {
            name.removeprefix(CONTENT): text
            for name, text in stored.parts.items()
            if name.startswith(CONTENT)
        }
        self._reader = Reader(workflow.codec, texts)

    def run(self, head: Head, changed: tuple[str, ...], converted: Mapping[str, str | None]) -> Restored:
        reader = self._reader
        maps = {_number(key): self._map(key, data) for key, data in self._table("maps")}
        parked = [reader.parked(data) for _, data in self._table("parked")]
        state = replace(
            reader.state(self._stored.metadata.run_id, head),
            shared={key: reader.values(data)[0] for key, data in self._table("shared")},
            local={ExecutorId(key): reader.local(data) for key, data in self._table("local")},
            fan_ins={_number(key): reader.fan_in(data) for key, data in self._table("fan_ins")},
            maps=maps,
            parked={one.activation.origin: one for one in parked},
        )
        _check_graph(self._workflow.graph, state)
        outputs = [
            parcel
            for _, data in sorted(self._table("outputs"), key=lambda entry: _number(entry[0]))
            for parcel in reader.values(data)
        ]
        if len(outputs) != state.output_count:
            raise CorruptContentError(f"it has {len(outputs)} of {state.output_count} outputs")
        return Restored(state, outputs, self._saved(maps), changed, converted)

    def _table(self, table: str) -> Iterator[tuple[str, JSONValue]]:
        prefix = f"{table}/"
        return (
            (name.removeprefix(prefix), data) for name, data in self._parts.items() if name.startswith(prefix)
        )

    def _map(self, key: str, data: JSONValue) -> MapProgress:
        count = data.get("chunk_count") if isinstance(data, dict) else None
        names = [f"items/{key}"]
        names += [f"done/{key}/{number}" for number in range(count if isinstance(count, int) else 0)]
        if missing := [name for name in names if name not in self._parts]:
            raise CorruptContentError(f"its part {missing[0]!r} is missing")
        items, *chunks = (self._parts[name] for name in names)
        return self._reader.map_progress(data, items, chunks)

    def _saved(self, maps: Mapping[int, MapProgress]) -> Saved:
        """Return what the store holds, so that the next checkpoint can build on it."""
        texts = self._stored.parts
        digests = {name: part_digest(name, text) for name, text in texts.items()}
        total = 0
        for digest in digests.values():
            total ^= digest
        contents = {
            name: found
            for name, text in (*texts.items(), ("head", self._stored.head))
            if not name.startswith(CONTENT) and (found := named_contents(text))
        }
        chunks = {map_id: len(progress.done) for map_id, progress in maps.items()}
        return Saved(self._stored.metadata.revision, digests, total, contents, chunks)


def _number(key: str) -> int:
    if not key.isdecimal():
        raise CorruptContentError(f"{key!r} is no number")
    return int(key)


def _check_graph(graph: Graph, state: RunState) -> None:
    """Refuse a state that names executors or edges which the workflow does not have."""
    deliveries = [activation.delivery for activation in state.activations]
    deliveries += [parked.activation.delivery for parked in state.parked.values()]
    for delivery in deliveries:
        if delivery.target not in graph.executors:
            raise CorruptContentError(
                f"it names an executor {delivery.target!r}, which the workflow does not have"
            )
        if delivery.item is not None and delivery.item.map_id not in state.maps:
            raise CorruptContentError(f"an item of a list {delivery.item.map_id}, which is not there")
        # A map hands its items out as they are; one that its body does not take fails there.
        if delivery.item is None and not graph.executors[delivery.target].accepts(delivery.parcel.value):
            raise CorruptContentError(f"{delivery.target!r} takes no {type(delivery.parcel.value).__name__}")
    kinds: list[tuple[int, type]] = [(index, FanInEdge) for index in state.fan_ins]
    kinds += [(progress.edge_index, MapEdge) for progress in state.maps.values()]
    for index, kind in kinds:
        if index >= len(graph.edges) or not isinstance(graph.edges[index], kind):
            raise CorruptContentError(f"edge {index} of the workflow is no {kind.__name__}")
