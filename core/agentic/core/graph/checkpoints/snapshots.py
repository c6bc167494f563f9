"""Checkpoints of a run's state; each costs only its changes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from agentic.core.graph.checkpoints.state_encoder import StateEncoder
from agentic.core.graph.checkpoints.store import (
    Checkpoint,
    CheckpointMetadata,
    part_digest,
    stored_bytes,
)
from agentic.core.graph.codec.codec import to_text
from agentic.core.graph.definition.workflow import WorkflowDefinition
from agentic.core.graph.model.events import CONTENT_KEY
from agentic.core.graph.model.state import FanInBuffer, RunState, Waiting
from agentic.core.graph.planning.planner import Transition
from agentic.core.records import record
from agentic.core.types import ExecutorId, JSONValue, RunId

if TYPE_CHECKING:
    from agentic.core.graph.codec.payload import Payload

SIGNATURE = "signature"
CONTENT = "content/"


@record
class StoredFanIn:
    """The stored content of a fan-in.

    Attributes:
        buffer: The waiting messages at the last save.
        part_count: The number of its parts; each has later messages than the part before.
    """

    buffer: FanInBuffer = field(default_factory=dict)
    part_count: int = 0

    def next_part(self, buffer: FanInBuffer) -> tuple[int, FanInBuffer]:
        """Return the number and content of the one part to write, so that the store holds ``buffer``.

        Remove parts with a higher number. Do not write an empty one.
        """
        added = _added(self.buffer, buffer)
        return (0, buffer) if added is None else (self.part_count, added)


_NO_FAN_IN = StoredFanIn()


def _added(known: FanInBuffer, buffer: FanInBuffer) -> FanInBuffer | None:
    """Return the new messages of a fan-in since ``known``, or None if a known one no longer waits."""
    if not known.keys() <= buffer.keys():
        return None
    added: dict[ExecutorId, Waiting] = {}
    for source, waiting in buffer.items():
        more = waiting.since(known[source]) if source in known else waiting
        if more is None:
            return None
        if more:
            added[source] = more
    return added


@record
class StoredParts:
    """The stored content of a run, as far as the next save needs it.

    Attributes:
        revision: Of the newest checkpoint; 0 for none.
        digests: Part name -> its digest.
        digest: All of them, xor-ed.
        contents: Part name, or ``head`` -> hashes of the large values it names.
        chunks: Map id -> parts that hold its finished items.
        fan_ins: Edge index -> the stored content of its fan-in.
    """

    revision: int = 0
    digests: dict[str, int] = field(default_factory=dict)
    digest: int = 0
    contents: dict[str, frozenset[str]] = field(default_factory=dict)
    chunks: dict[int, int] = field(default_factory=dict)
    fan_ins: dict[int, StoredFanIn] = field(default_factory=dict)


@record
class CheckpointDraft:
    """A checkpoint that is not saved yet.

    Attributes:
        checkpoint: The checkpoint to save.
        state: The state of the run.
        step: The new content of the store.
    """

    checkpoint: Checkpoint
    state: RunState
    step: _Step


class CheckpointTracker:
    """The stored content of one run, and the checkpoints that update it.

    Args:
        workflow: The workflow of the run.
        run_id: The run.
        saved: The current content of the store.
        converted: Parts that a migration changed, None for removed ones; saved with the next step.

    Attributes:
        is_dirty: Whether the run has continued since the last checkpoint.
    """

    def __init__(
        self,
        workflow: WorkflowDefinition,
        run_id: RunId,
        *,
        saved: StoredParts | None = None,
        converted: Mapping[str, str | None] | None = None,
    ) -> None:
        self._workflow = workflow
        self._run_id = run_id
        self._saved = saved or StoredParts()
        self._uses = Counter(name for names in self._saved.contents.values() for name in names)
        self._changed: dict[tuple[str, object], None] = {}
        self._outputs: dict[int, list[Payload]] = {}
        self._converted = dict(converted or {})
        self.is_dirty = False

    @property
    def revision(self) -> int:
        """Of the newest checkpoint; 0 for none."""
        return self._saved.revision

    def note(self, transition: Transition) -> None:
        """Remember the changes of a decision, for the next checkpoint."""
        self.is_dirty = True
        for change in transition.changes:
            self._changed[change.table, change.key] = None
        if transition.outputs:
            self._outputs[transition.state.output_count - len(transition.outputs)] = transition.outputs

    def forget(self) -> None:
        """Forget the changes since the last checkpoint: they do not count."""
        self._changed.clear()
        self._outputs.clear()

    def draft(self, state: RunState, now: float) -> CheckpointDraft:
        """Return the next checkpoint; save it, then pass it to :meth:`settle`.

        Raises:
            UnencodableError: Something in the state cannot be stored.
        """
        step = _Step(self._saved, self._uses)
        for name, converted in self._converted.items():
            step.put(name, converted, self._contents_of(converted))
        for name, part, encoder in self._parts(state, step):
            step.put(name, None if part is None else to_text(part), encoder.contents)
        encoder = StateEncoder(self._workflow.codec)
        head = encoder.head(state)
        step.use("head", encoder.contents)
        step.put_contents()
        head["digest"] = f"{step.digest:032x}"
        text = to_text(head)
        metadata = CheckpointMetadata(
            run_id=self._run_id,
            revision=self._saved.revision + 1,
            superstep=state.superstep,
            status=state.status,
            saved_at=now,
            workflow_id=self._workflow.id,
            version=self._workflow.version,
            size_bytes=stored_bytes(text, step.changes.values()),
        )
        return CheckpointDraft(Checkpoint(metadata=metadata, head=text, changes=step.changes), state, step)

    def settle(self, draft: CheckpointDraft) -> None:
        """Note that a checkpoint was saved."""
        step, state = draft.step, draft.state
        step.apply()
        saved = self._saved
        for table, key in self._changed:
            if table == "maps" and isinstance(key, int):
                progress = state.maps.get(key)
                saved.chunks.pop(key, None)
                if progress is not None:
                    saved.chunks[key] = len(progress.done)
        revision = draft.checkpoint.metadata.revision
        self._saved = StoredParts(
            revision, saved.digests, step.digest, saved.contents, saved.chunks, saved.fan_ins
        )
        self._changed.clear()
        self._outputs.clear()
        self._converted.clear()
        self.is_dirty = False

    def _contents_of(self, text: str | None) -> dict[str, str]:
        """Return the large values that a converted part names; a migration does not change them."""
        return {name: self._converted.get(CONTENT + name) or "" for name in named_contents(text or "")}

    def _parts(self, state: RunState, step: _Step) -> Iterator[tuple[str, JSONValue, StateEncoder]]:
        """Yield every part to write: its name, its content (None: it is gone), its encoder."""
        codec = self._workflow.codec
        if SIGNATURE not in self._saved.digests or self._converted:
            yield SIGNATURE, self._workflow.signature.to_dict(), StateEncoder(codec)
        for first, outputs in self._outputs.items():
            encoder = StateEncoder(codec)
            yield f"outputs/{first}", [encoder.value(payload) for payload in outputs], encoder
        for table, key in self._changed:
            if table == "maps" and isinstance(key, int):
                yield from self._map_parts(state, key)
            elif table == "fan_ins" and isinstance(key, int):
                yield from self._fan_in_parts(state, key, step)
            else:
                encoder = StateEncoder(codec)
                yield f"{table}/{key}", encoder.entry(state, table, key), encoder

    def _fan_in_parts(
        self, state: RunState, index: int, step: _Step
    ) -> Iterator[tuple[str, JSONValue, StateEncoder]]:
        codec = self._workflow.codec
        stored = self._saved.fan_ins.get(index, _NO_FAN_IN)
        buffer = state.fan_ins.get(index, {})
        count, newest = stored.next_part(buffer)
        if newest:
            encoder = StateEncoder(codec)
            yield f"fan_ins/{index}/{count}", encoder.fan_in(newest), encoder
            count += 1
        for number in range(count, stored.part_count):
            yield f"fan_ins/{index}/{number}", None, StateEncoder(codec)
        step.fan_ins[index] = StoredFanIn(buffer, count)

    def _map_parts(self, state: RunState, map_id: int) -> Iterator[tuple[str, JSONValue, StateEncoder]]:
        codec = self._workflow.codec
        progress = state.maps.get(map_id)
        chunk_count = self._saved.chunks.get(map_id, 0)
        encoder = StateEncoder(codec)
        yield f"maps/{map_id}", None if progress is None else encoder.map_progress(progress), encoder
        if f"items/{map_id}" not in self._saved.digests and progress is not None:
            encoder = StateEncoder(codec)
            yield f"items/{map_id}", [encoder.value(progress.items)], encoder
        if progress is None:
            yield f"items/{map_id}", None, StateEncoder(codec)
            for number in range(chunk_count):
                yield f"done/{map_id}/{number}", None, StateEncoder(codec)
            return
        for number in range(chunk_count, len(progress.done)):
            encoder = StateEncoder(codec)
            yield f"done/{map_id}/{number}", encoder.outcomes(progress.done[number]), encoder


class _Step:
    """One save in the making; the known content of the store changes only after success."""

    def __init__(self, saved: StoredParts, uses: Counter[str]) -> None:
        self._saved = saved
        self._uses = uses
        self._digests: dict[str, int | None] = {}
        self._contents: dict[str, frozenset[str]] = {}
        self._texts: dict[str, str] = {}
        self._delta: dict[str, int] = {}
        self.fan_ins: dict[int, StoredFanIn] = {}
        self.changes: dict[str, str | None] = {}
        self.digest = saved.digest

    def put(self, name: str, text: str | None, contents: Mapping[str, str]) -> None:
        """Write a part, or remove it."""
        # This save may remove its own parts: a migration named them, and the run has passed them already.
        before = self._digests.get(name, self._saved.digests.get(name))
        if text is None and before is None:
            return
        self.changes[name] = text
        self._digests[name] = now = None if text is None else part_digest(name, text)
        self.digest ^= (before or 0) ^ (now or 0)
        if not name.startswith(CONTENT):
            self.use(name, contents)

    def use(self, name: str, contents: Mapping[str, str]) -> None:
        """Note which large values a part names."""
        before = self._contents.get(name, self._saved.contents.get(name, frozenset()))
        now = frozenset(contents)
        if before or now:
            for large in now - before:
                self._delta[large] = self._delta.get(large, 0) + 1
            for large in before - now:
                self._delta[large] = self._delta.get(large, 0) - 1
            self._contents[name] = now
            self._texts |= contents

    def put_contents(self) -> None:
        """Write large values that are named for the first time, remove values that no part names."""
        for name, delta in self._delta.items():
            count = self._uses[name]
            if count == 0 and delta > 0:
                self.put(CONTENT + name, self._texts[name], {})
            elif count > 0 and count + delta == 0:
                self.put(CONTENT + name, None, {})

    def apply(self) -> None:
        """Take over the saved changes."""
        self._saved.fan_ins.update(self.fan_ins)
        if self._delta:
            self._uses.update(self._delta)
        for name, digest in self._digests.items():
            if digest is None:
                self._saved.digests.pop(name, None)
            else:
                self._saved.digests[name] = digest
        for name, contents in self._contents.items():
            self._saved.contents.pop(name, None)
            if contents:
                self._saved.contents[name] = contents


_NAMED = re.compile(rf'\{{"{re.escape(CONTENT_KEY)}":"([0-9a-f]{{64}})"\}}')


def named_contents(text: str) -> frozenset[str]:
    """Return the hashes of the large values that a part names."""
    return frozenset(_NAMED.findall(text))
