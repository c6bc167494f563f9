"""Restores a run from a stored checkpoint, or reports why it cannot."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from pydantic import ValidationError

from agentic.core.graph.checkpoints.snapshots import (
    CONTENT,
    SIGNATURE,
    StoredFanIn,
    StoredParts,
    named_contents,
)
from agentic.core.graph.checkpoints.state_decoder import StateDecoder, StateHead
from agentic.core.graph.checkpoints.store import CheckpointMetadata, StoredCheckpoint, part_digest
from agentic.core.graph.codec.codec import from_text, to_text
from agentic.core.graph.codec.payload import Payload
from agentic.core.graph.definition.edges import FanInEdge, Graph, MapEdge
from agentic.core.graph.definition.wires import workflow_within
from agentic.core.graph.definition.workflow import WorkflowDefinition, WorkflowSignature
from agentic.core.graph.errors import (
    CheckpointError,
    CheckpointMigrationError,
    CheckpointVersionError,
    CorruptCheckpointError,
    CorruptContentError,
)
from agentic.core.graph.model.document import CheckpointDocument, Migrate
from agentic.core.graph.model.state import FanInBuffer, MapProgress, Parked, RunState, state_of
from agentic.core.graph.versions.signature import Change, compare
from agentic.core.records import record
from agentic.core.types import ExecutorId, JSONValue

EdgeT = TypeVar("EdgeT", FanInEdge, MapEdge)
# Each number has only one spelling, so that no two parts are the same entry.
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


@record
class Restored:
    """A run, restored from a checkpoint.

    Attributes:
        state: Its state.
        outputs: Its outputs.
        saved: Its content in the store.
        changed: Names of executors and conditions whose code has changed since.
        converted: Parts that a migration changed, as JSON; None for removed ones.
    """

    state: RunState
    outputs: list[Payload]
    saved: StoredParts
    changed: tuple[str, ...]
    converted: Mapping[str, str | None]


def restore(stored: StoredCheckpoint, workflow: WorkflowDefinition) -> Restored:
    """Return the run of the checkpoint ``stored``.

    Raises:
        CheckpointVersionError: ``workflow`` is another one, or another version of it.
        CorruptCheckpointError: The checkpoint is damaged, or names things that the workflow does not have.
    """
    converted: dict[str, str | None] = {}
    try:
        _check_texts(stored)
        document = CheckpointDocument(
            from_text(stored.head), {name: from_text(text) for name, text in stored.parts.items()}
        )
        head = StateHead.model_validate(document.head)
        _check_digest(stored, head)
        change = _change_since(document, workflow)
        if change.refusal:
            document, converted = _migrated(stored, workflow, document, change.refusal)
            head = StateHead.model_validate(document.head)
        restoring = _Restoring(stored, workflow, document.parts)
        return restoring.run(head, change.changed_code, converted)
    except ValidationError as exc:
        where = "; ".join(
            ".".join(map(str, error["loc"])) + ": " + error["msg"] for error in exc.errors()[:3]
        )
        raise _unusable(stored, where, is_migrated=bool(converted)) from exc
    except CorruptContentError as exc:
        where = f"{exc.path}: " if exc.path else ""
        raise _unusable(stored, where + exc.reason, is_migrated=bool(converted)) from exc


def _unusable(stored: StoredCheckpoint, reason: str, *, is_migrated: bool) -> CheckpointError:
    metadata = stored.metadata
    if is_migrated:
        return CheckpointMigrationError(
            metadata.id, metadata.version, f"returned an invalid checkpoint: {reason}"
        )
    return CorruptCheckpointError(metadata.id, reason)


def _check_texts(stored: StoredCheckpoint) -> None:
    # SQLite allows bytes in a text column.
    texts: tuple[object, ...] = (stored.head, *stored.parts.values())
    if not all(isinstance(text, str) for text in texts):
        raise CorruptContentError("it holds bytes in place of text")


def _check_digest(stored: StoredCheckpoint, head: StateHead) -> None:
    digest = 0
    for name, text in stored.parts.items():
        digest ^= part_digest(name, text)
    if f"{digest:032x}" != head.digest:
        raise CorruptContentError("parts of it are missing, damaged or from another checkpoint")


def _change_since(document: CheckpointDocument, workflow: WorkflowDefinition) -> Change:
    data = document.parts.get(SIGNATURE)
    if not isinstance(data, dict):
        raise CorruptContentError("it does not name its workflow")
    if data == workflow.signature.to_dict():
        return Change()
    saved = WorkflowSignature.from_dict(data)
    if saved.version is None and workflow.has_lent_version:  # saved before versions were lent to child runs
        saved = replace(saved, version=workflow.version)
    return compare(saved, workflow.signature, workflow.graph)


def _migrated(
    stored: StoredCheckpoint, workflow: WorkflowDefinition, document: CheckpointDocument, refusal: str
) -> tuple[CheckpointDocument, dict[str, str | None]]:
    """Return a checkpoint of another version as one of this version, and the changes for the store.

    Raises:
        CheckpointVersionError: No migration leads from that version to this one.
    """
    metadata = stored.metadata
    migrate = workflow.migrations.get(metadata.version)
    if migrate is None or metadata.workflow_id != workflow.id:
        raise CheckpointVersionError(metadata.id, refusal)
    after = _converted(migrate, document, metadata)
    parts = {**after.parts, SIGNATURE: workflow.signature.to_dict()}
    try:
        texts = {name: to_text(part) for name, part in parts.items()}
    except (TypeError, ValueError) as exc:
        raise CheckpointMigrationError(
            metadata.id, metadata.version, f"returned a part that is not JSON ({exc})"
        ) from exc
    converted: dict[str, str | None] = {
        name: text for name, text in texts.items() if stored.parts.get(name) != text
    }
    converted |= dict.fromkeys(stored.parts.keys() - texts.keys())
    return CheckpointDocument(after.head, parts), converted


def _converted(
    migrate: Migrate, document: CheckpointDocument, metadata: CheckpointMetadata
) -> CheckpointDocument:
    """Return the checkpoint that a migration makes, if a run can resume from it."""
    try:
        after: object = migrate(document)
    except Exception as exc:
        exc.add_note(f"in the migration of checkpoint {metadata.id!r} from version {metadata.version!r}")
        raise
    if not isinstance(after, CheckpointDocument):
        given = "nothing" if after is None else f"a {type(after).__name__}"
        raise CheckpointMigrationError(
            metadata.id, metadata.version, f"returned {given}; return a CheckpointDocument"
        )
    before, kept = (_open_requests(one) for one in (document, after))
    if len(kept) < len(before):
        lost = ", ".join(sorted(before - kept))
        raise CheckpointMigrationError(
            metadata.id,
            metadata.version,
            f"dropped {lost}, which the run waits for; keep the parts parked/..., or answer with the "
            "earlier version first",
        )
    return after


def _open_requests(document: CheckpointDocument) -> set[str]:
    """Return the names of the requests that parked activations of a checkpoint wait for."""
    found: set[str] = set()
    for name, part in document.parts.items():
        progress = part.get("progress") if name.startswith("parked/") and isinstance(part, dict) else None
        tables = progress if isinstance(progress, dict) else {}
        for asked in (tables.get("asked"), tables.get("surfaced")):
            for one in asked if isinstance(asked, list) else ():
                if isinstance(one, dict) and one.get("answer") is None and not one.get("has_expired"):
                    found.add(f"request {one.get('name')!r}")
    return found


class _Restoring:
    """Assembles the tables of a state."""

    def __init__(
        self, stored: StoredCheckpoint, workflow: WorkflowDefinition, parts: Mapping[str, JSONValue]
    ) -> None:
        self._stored = stored
        self._workflow = workflow
        self._parts = parts
        texts = {
            name.removeprefix(CONTENT): text
            for name, text in stored.parts.items()
            if name.startswith(CONTENT)
        }
        self._decoder = StateDecoder(workflow.codec, texts)

    def run(self, head: StateHead, changed: tuple[str, ...], converted: Mapping[str, str | None]) -> Restored:
        reader = self._decoder
        # A store returns parts in an order of its own.
        tables = sorted(self._table("maps"), key=lambda entry: _number(entry[0]))
        maps = {_number(key): self._map(key, data) for key, data in tables}
        fan_ins = dict(self._fan_ins())
        parked = sorted((reader.parked(data) for _, data in self._table("parked")), key=self._age)
        state = replace(
            reader.state(self._stored.metadata.run_id, head),
            shared={key: reader.values(data)[0] for key, data in self._table("shared")},
            local={ExecutorId(key): reader.local(data) for key, data in self._table("local")},
            fan_ins={index: stored.buffer for index, stored in fan_ins.items()},
            maps=maps,
            parked={one.activation.origin: one for one in parked},
        )
        _check_graph(self._workflow.graph, state)
        outputs = [
            payload
            for _, data in sorted(self._table("outputs"), key=lambda entry: _number(entry[0]))
            for payload in reader.values(data)
        ]
        if len(outputs) != state.output_count:
            raise CorruptContentError(f"it has {len(outputs)} of {state.output_count} outputs")
        return Restored(state, outputs, self._saved(maps, fan_ins), changed, converted)

    def _age(self, parked: Parked) -> tuple[int, int, int]:
        activation = parked.activation
        return (
            activation.superstep,
            self._workflow.graph.rank.get(activation.executor_id, 0),
            activation.shard,
        )

    def _table(self, table: str) -> Iterator[tuple[str, JSONValue]]:
        prefix = f"{table}/"
        return (
            (name.removeprefix(prefix), data) for name, data in self._parts.items() if name.startswith(prefix)
        )

    def _map(self, key: str, data: JSONValue) -> MapProgress:
        count = data.get("chunk_count") if isinstance(data, dict) else None
        chunks = self._numbered(f"done/{key}", count if isinstance(count, int) else 0)
        return self._decoder.map_progress(data, self._part(f"items/{key}"), chunks)

    def _fan_ins(self) -> Iterator[tuple[int, StoredFanIn]]:
        part_counts = Counter(key.partition("/")[0] for key, _ in self._table("fan_ins"))
        for index, count in part_counts.items():
            buffer = self._decoder.fan_in(self._numbered(f"fan_ins/{index}", count))
            yield _number(index), StoredFanIn(buffer, count)

    def _numbered(self, name: str, count: int) -> list[JSONValue]:
        """Return the numbered parts; each holds later entries than the part before."""
        return [self._part(f"{name}/{number}") for number in range(count)]

    def _part(self, name: str) -> JSONValue:
        if name not in self._parts:
            raise CorruptContentError(f"its part {name!r} is missing")
        return self._parts[name]

    def _saved(self, maps: Mapping[int, MapProgress], fan_ins: dict[int, StoredFanIn]) -> StoredParts:
        """Return the content of the store, so that the next checkpoint can build on it."""
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
        return StoredParts(self._stored.metadata.revision, digests, total, contents, chunks, fan_ins)


def _number(key: str) -> int:
    if not _NUMBER.fullmatch(key):
        raise CorruptContentError(f"{key!r} is not a number")
    return int(key)


def _check_graph(graph: Graph, state: RunState) -> None:
    """Refuse a state that names executors or edges which the workflow does not have."""
    due = [(activation.delivery, activation.delivery.progress) for activation in state.activations]
    waiting = [(parked.activation.delivery, parked.progress) for parked in state.parked.values()]
    for delivery, progress in due + waiting:
        if delivery.target not in graph.executors:
            raise CorruptContentError(
                f"it names an executor {delivery.target!r}, which the workflow does not have"
            )
        if delivery.item is not None and delivery.item.map_id not in state.maps:
            raise CorruptContentError(f"an item of a missing list {delivery.item.map_id}")
        # A map hands its items out unchanged; an item that its body does not take fails there.
        if delivery.item is None and not graph.executors[delivery.target].accepts(delivery.payload.value):
            raise CorruptContentError(
                f"{delivery.target!r} does not accept {type(delivery.payload.value).__name__}"
            )
        if inner := workflow_within(graph.executors[delivery.target]):
            for sub_run in progress.sub_runs.values():
                _check_graph(inner.graph, state_of(sub_run))
    for map_progress in state.maps.values():
        _edge(graph, map_progress.edge_index, MapEdge)
    for index, buffer in state.fan_ins.items():
        _check_fan_in(_edge(graph, index, FanInEdge), buffer)


def _edge(graph: Graph, index: int, kind: type[EdgeT]) -> EdgeT:
    edge = graph.edges[index] if index < len(graph.edges) else None
    if not isinstance(edge, kind):
        raise CorruptContentError(f"edge {index} of the workflow is not a {kind.__name__}")
    return edge


def _check_fan_in(edge: FanInEdge, buffer: FanInBuffer) -> None:
    """Refuse a buffer that no run leaves behind: it would fire wrongly, or never, without an error."""
    where = f"the fan-in to {edge.target!r}"
    if unknown := sorted(buffer.keys() - set(edge.sources)):
        raise CorruptContentError(
            f"{where} holds a message of {unknown[0]!r}, which is not one of its sources"
        )
    if edge.mode == "latest":
        if any(len(waiting) > 1 for waiting in buffer.values()):
            raise CorruptContentError(f"{where} holds several messages of one source, not only the newest")
    elif len(buffer) == len(edge.sources):
        raise CorruptContentError(f"{where} holds a message of every source and did not fire")
