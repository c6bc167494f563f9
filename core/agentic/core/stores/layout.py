"""The layout of a run's checkpoints on a server: the keys and their meaning. Pure.

    RUN.head                          which checkpoints there are, and the newest: the only key that changes
    RUN.LIFE.REV.WRITE.meta           metadata of a checkpoint; it counts if this key exists
    RUN.LIFE.REV.WRITE.text           its head
    RUN.LIFE.REV.WRITE.part.PART      a part that it changed
    RUN.LIFE.REV.WRITE.gone.PART      a part that was removed since then

Runs and parts are named by hashes of their names, which may be any text. A LIFE is drawn when a run begins: a
run that was deleted and begins again finds nothing of its earlier life. A WRITE is drawn for each save:
pieces of a save that lost against another, or that died, are never mistaken for the winner's.

Where a run is written and removed as a whole, as in a hash of Redis, its life is always ``ONE_LIFE`` and its
head is different; the pieces are the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from agentic.core.graph.checkpoints.store import Checkpoint, CheckpointMetadata, stored_bytes
from agentic.core.graph.errors import CorruptCheckpointError

Kind = Literal["meta", "text", "part", "gone"]

ONE_LIFE = "0"

_KINDS: Mapping[str, Kind] = {"meta": "meta", "text": "text", "part": "part", "gone": "gone"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHead:
    """The content of ``RUN.head``.

    Attributes:
        life: The life of the run.
        oldest: Revision of its oldest checkpoint.
        metadata: Of its newest one.
        write: The save that made it the newest.
    """

    life: str
    oldest: int
    metadata: CheckpointMetadata
    write: str

    @property
    def newest(self) -> int:
        """Revision of the newest checkpoint."""
        return self.metadata.revision


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceKey:
    """The parsed key of a checkpoint's piece; ``part`` is empty for a piece that is not a part."""

    key: str
    life: str
    revision: int
    write: str
    kind: Kind
    part: str = ""


T = TypeVar("T")

_HEAD: TypeAdapter[RunHead] = TypeAdapter(RunHead)
_METADATA: TypeAdapter[CheckpointMetadata] = TypeAdapter(CheckpointMetadata)


def word(name: str) -> str:
    """Return a word of a key for any name: 32 hexadecimal digits."""
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def head_key(run_id: str) -> str:
    """Return the key of a run's head."""
    return f"{word(run_id)}.head"


EVERY_HEAD = "*.head"


def meta_pattern(run: str = "*") -> str:
    """Return the pattern of the keys of all metadata, of one run's word or of every run."""
    return f"{run}.*.*.*.meta"


def run_pattern(run_id: str, life: str = "") -> str:
    """Return the pattern of all keys of a run, its head too unless a ``life`` is given."""
    return f"{word(run_id)}.{life}.>" if life else f"{word(run_id)}.>"


def parse_piece_key(key: str) -> PieceKey | None:
    """Read a key; None for a run's head, and for a piece of another value."""
    match key.split("."):
        case [_, life, revision, write, ("meta" | "text") as kind]:
            return PieceKey(key=key, life=life, revision=int(revision), write=write, kind=_KINDS[kind])
        case [_, life, revision, write, ("part" | "gone") as kind, part]:
            return PieceKey(
                key=key, life=life, revision=int(revision), write=write, kind=_KINDS[kind], part=part
            )
        case _:
            return None


def entries_of(checkpoint: Checkpoint, life: str, write: str) -> dict[str, bytes]:
    """Return the entries of a checkpoint for the bucket; the last one makes it count.

    Raises:
        UnicodeEncodeError: A text of it cannot be encoded.
    """
    metadata = checkpoint.metadata
    base = f"{word(metadata.run_id)}.{life}.{metadata.revision}.{write}"
    entries = {
        f"{base}.gone.{word(name)}" if text is None else f"{base}.part.{word(name)}": _part(name, text)
        for name, text in checkpoint.changes.items()
    }
    entries[f"{base}.text"] = checkpoint.head.encode()
    entries[f"{base}.meta"] = to_json(described(checkpoint))
    return entries


def described(checkpoint: Checkpoint) -> CheckpointMetadata:
    """Return the metadata of a checkpoint with its size filled in."""
    size_bytes = stored_bytes(checkpoint.head, checkpoint.changes.values())
    return CheckpointMetadata(**{**asdict(checkpoint.metadata), "size_bytes": size_bytes})


def part_of(key: str, value: bytes) -> tuple[str, str]:
    """Return name and text of a part.

    Raises:
        CorruptCheckpointError: It cannot be read.
    """
    try:
        name, text = json.loads(value)
    except (ValueError, TypeError) as exc:
        raise CorruptCheckpointError(key, f"a part cannot be read ({exc})") from exc
    return str(name), str(text)


def to_json(value: RunHead | CheckpointMetadata) -> bytes:
    """Return a head or metadata as they are stored."""
    return json.dumps(asdict(value)).encode()


def head_of(key: str, value: bytes) -> RunHead:
    """Read a head.

    Raises:
        CorruptCheckpointError: It cannot be read.
    """
    return _read(_HEAD, key, value)


def metadata_of(key: str, value: bytes) -> CheckpointMetadata:
    """Read metadata.

    Raises:
        CorruptCheckpointError: They cannot be read.
    """
    return _read(_METADATA, key, value)


def committed(places: Iterable[PieceKey], life: str) -> dict[int, str]:
    """Return the write that counts, by revision."""
    return {place.revision: place.write for place in places if place.kind == "meta" and place.life == life}


def standing(places: Iterable[PieceKey], life: str, revision: int) -> dict[str, PieceKey]:
    """Return the place of each part that ever changed up to a revision, by part; also of removed parts."""
    places = list(places)
    writes = committed(places, life)
    found: dict[str, PieceKey] = {}
    for place in places:
        counts = place.part and place.life == life and writes.get(place.revision) == place.write
        if counts and place.revision <= revision:
            newer = found.get(place.part)
            if newer is None or newer.revision < place.revision:
                found[place.part] = place
    return found


def needed(places: Iterable[PieceKey], life: str, first: int) -> set[str]:
    """Return the keys of the pieces of the checkpoints from revision ``first`` on.

    The metadata of an earlier one stay as long as one of its parts: without them it would not count.
    """
    places = list(places)
    writes = committed(places, life)
    counted = [place for place in places if place.life == life and writes.get(place.revision) == place.write]
    kept = [place for place in counted if place.revision >= first]
    kept += [place for place in standing(counted, life, first).values() if place.kind == "part"]
    sources = {place.revision for place in kept}
    kept += [place for place in counted if place.kind == "meta" and place.revision in sources]
    return {place.key for place in kept}


def _part(name: str, text: str | None) -> bytes:
    return b"" if text is None else json.dumps([name, text], ensure_ascii=False).encode()


def _read(adapter: TypeAdapter[T], key: str, value: bytes) -> T:
    try:
        return adapter.validate_json(value)
    except ValidationError as exc:
        faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in exc.errors())
        raise CorruptCheckpointError(key, faults) from exc
