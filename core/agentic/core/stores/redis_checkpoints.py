"""The checkpoints of runs in a Redis or Valkey server.

    agentic:checkpoints:{PROJECT}:RUN     a hash: the pieces of a run's checkpoints, as `layout` names them,
                                          and ``first`` and ``newest``, which name metadata of those
    agentic:checkpoints:{PROJECT}:runs    a sorted set: the runs, by when they expire

A run is one key, so that it expires, is removed and is evicted as a whole. The keys of a project have one
hash tag, so that one script may write a run and the set of runs: in a cluster, one node keeps a project.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Self
from uuid import uuid4

from agentic.core.bus.subjects import token
from agentic.core.graph.checkpoints.store import Checkpoint, CheckpointMetadata, StoredCheckpoint
from agentic.core.graph.errors import (
    CheckpointConflictError,
    CheckpointNotFoundError,
    CheckpointStoreError,
    CorruptCheckpointError,
    InvalidPolicyError,
)
from agentic.core.logging import get_logger
from agentic.core.stores import assembly, layout, redis_scripts
from agentic.core.stores.layout import ONE_LIFE, PieceKey
from agentic.core.stores.redis_server import RedisServer, server_errors, server_name, told
from agentic.core.stores.server_checkpoints import ServerCheckpointStore
from agentic.core.types import RunId

log = get_logger(__name__)

KEY_PREFIX = "agentic:checkpoints:"

_DAY_MS = 24 * 60 * 60 * 1000
_LISTED_TOGETHER = 100
"""Runs whose metadata one script reads; the server is busy meanwhile."""


class RedisCheckpointStore(ServerCheckpointStore):
    """The checkpoints of a project's runs, for some days each; implements :class:`CheckpointStore`.

    A save is one script: it writes the checkpoint if the run's newest is the one before it, and renews the
    run's remaining time. Any number of stores, in any number of processes, may work on one run: if several
    save one revision at once, one succeeds. A save has an id: if its answer is lost, that id shows whether it
    was written. So it never conflicts with itself and is never written twice.

    Saved checkpoints survive the death of any of our processes. The part that survives the death of the
    server depends on its settings: everything with ``appendonly yes`` and ``appendfsync always``, all but the
    last two seconds with ``everysec``, and with ``appendonly no`` only its last snapshot. With ``everysec`` a
    server answers before it writes. So when its disk is full, some saves go through until one is refused: it
    keeps them in its memory and writes them when there is space; if it dies before, they are lost. A server
    that fails over to a replica loses the data that the replica did not have yet. A run that lost its end
    that way continues from the newest remaining checkpoint; a process that holds a later one gets
    :class:`CheckpointConflictError`. Only the end of a run can be lost, and no save is written twice.

    A server whose ``maxmemory-policy`` is not ``noeviction`` removes runs when its memory is full, each as a
    whole. Many hosted servers do not allow another setting: instead of an error, ``eviction.allowed`` is
    logged.
    """

    def __init__(self, server: RedisServer, *, project: str, ttl_days: float = 7) -> None:
        """Store the arguments; nothing is read or written yet. See :meth:`open`."""
        if not ttl_days > 0:
            raise InvalidPolicyError("ttl_days", ttl_days, "how many days a run is kept after its last save")
        self._server = server
        self._project = project
        self._ttl_ms = max(round(ttl_days * _DAY_MS), 1)
        self._prefix = f"{KEY_PREFIX}{{{token(project)}}}:"

    @classmethod
    @asynccontextmanager
    async def open(
        cls, url: str, *, project: str = "default", ttl_days: float = 7, wait_s: float = 10
    ) -> AsyncGenerator[Self, None]:
        """Open the checkpoints of a project on a server, or a cluster, until the block ends.

        Args:
            url: As ``redis://user:password@host:6379/0``; ``rediss://`` for TLS, ``unix://`` for a socket.
            project: Name of the project.
            ttl_days: A run is removed this many days after its last save. Choose more than the longest pause
                of a run: a run that waits for an answer saves nothing.
            wait_s: Seconds to wait for the server if it is gone later; now it must be available.

        Raises:
            CheckpointStoreError: The server cannot be used.
            InvalidPolicyError: ``ttl_days`` is not above 0.
        """
        with _telling(project):
            name = server_name(url)
        with _telling(project, f" in {name}"):
            server = await RedisServer.connect(url, name=name, wait_s=wait_s)
        try:
            if server.evicts:
                log.warning("eviction.allowed", server=server.name, policy=server.evicts, project=project)
            yield cls(server, project=project, ttl_days=ttl_days)
        finally:
            await server.aclose()

    async def _save(self, checkpoint: Checkpoint) -> None:
        metadata = checkpoint.metadata
        entries = layout.entries_of(checkpoint, ONE_LIFE, uuid4().hex)
        *_, name = entries  # the key of its metadata, unique to this save
        pairs = (word for entry in entries.items() for word in entry)
        run = layout.word(metadata.run_id)
        newest = await self._server.run(
            redis_scripts.SAVE, self._both(run), metadata.revision, name, self._ttl_ms, run, *pairs
        )
        if newest != redis_scripts.SAVED:
            raise CheckpointConflictError(metadata.run_id, metadata.revision, newest)

    async def _load(self, run_id: RunId, wanted: int | None) -> StoredCheckpoint:
        """Read a checkpoint; retry once if some of it was removed meanwhile."""
        seen: _Run | None = None
        while True:
            run = await self._read(run_id)
            revision = run.newest if wanted is None else wanted
            if not run.newest or revision not in {*run.revisions, run.newest}:
                raise CheckpointNotFoundError(run_id, wanted)
            try:
                pieces = assembly.pieces_of(run.places, ONE_LIFE, run_id, revision)
                found = await self._server.fields(self._key(run_id), pieces.keys)
                return assembly.put_together(pieces, found)
            except CorruptCheckpointError:
                if run == seen:
                    raise
                seen = run

    async def _read(self, run_id: RunId) -> _Run:
        first, newest, names = await self._server.run(redis_scripts.READ, [self._key(run_id)])
        places = (layout.parse_piece_key(name.decode()) for name in names)
        newest_place = layout.parse_piece_key((newest or b"").decode())
        return _Run(
            first=first or b"",
            newest=newest_place.revision if newest_place else 0,
            places=tuple(place for place in places if place),
        )

    async def _run_keys(self) -> list[str]:
        words = await self._server.ask("ZRANGE", self._runs, 0, -1)  # some may have expired
        return [self._prefix + word.decode() for word in words]

    async def _metadata(self, run_id: RunId | None, *, newest_only: bool) -> list[CheckpointMetadata]:
        keys = await self._run_keys() if run_id is None else [self._key(run_id)]
        script = redis_scripts.NEWEST if newest_only else redis_scripts.LISTED
        found: list[tuple[bytes, bytes | None]] = []
        for start in range(0, len(keys), _LISTED_TOGETHER):
            found += await self._server.run(script, keys[start : start + _LISTED_TOGETHER])
        return [layout.metadata_of(name.decode(), value or b"") for name, value in found]

    async def _keep_last(self, run_id: RunId, count: int) -> int:
        run = await self._read(run_id)
        first = run.newest - count + 1
        kept = layout.needed(run.places, ONE_LIFE, first)
        gone = [place.key for place in run.places if place.key not in kept]
        if gone:  # a server whose memory is full still allows this
            await self._server.ask("HDEL", self._key(run_id), *gone)
        return sum(revision < first for revision in run.revisions)

    async def _delete_all(self, run_id: RunId) -> int:
        run = await self._read(run_id)
        word = layout.word(run_id)
        if run.newest:
            await self._server.run(redis_scripts.DELETE, self._both(word), run.first, word)
        return len(run.revisions)

    def _key(self, run_id: RunId) -> str:
        return self._prefix + layout.word(run_id)

    @property
    def _runs(self) -> str:
        return f"{self._prefix}runs"

    def _both(self, run: str) -> list[str]:
        return [self._prefix + run, self._runs]

    @contextmanager
    def _telling(self) -> Iterator[None]:
        with _telling(self._project, f" in {self._server.name}"):
            yield


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """The keys of a run; ``newest`` is 0 if it has none. ``first`` changes if the run begins again."""

    first: bytes
    newest: int
    places: tuple[PieceKey, ...]

    @property
    def revisions(self) -> list[int]:
        """The revisions of its checkpoints; a removed one may have left parts, but no head."""
        return sorted(place.revision for place in self.places if place.kind == "text")


@contextmanager
def _telling(project: str, where: str = "") -> Iterator[None]:
    """Turn the errors of an unusable server into errors of this store.

    Raises:
        CheckpointStoreError: The server cannot be used.
    """
    try:
        yield
    except UnicodeError as exc:
        raise CheckpointStoreError(f"checkpoints of project {project!r} cannot be stored: {exc}") from exc
    except server_errors() as exc:
        raise CheckpointStoreError(
            f"checkpoints of project {project!r} cannot be stored{where}: {told(exc)}"
        ) from exc
