"""A process that saves one checkpoint after the other, and what has to be there of them whatever happens."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import dedent

from agentic.core.graph.checkpoints.store import Checkpoint, CheckpointStore
from agentic.core.testing.checkpoint_contract import checkpoint, load_all

PARTS = 6
MANY = 700
"""Parts of a checkpoint that NATS is given in more than one batch."""

_WRITER = """
    import asyncio, sys
    from agentic.core.graph.errors import CheckpointNotFoundError
    from agentic.core.logging import configure_logging
    from {module} import {name} as Store
    from agentic.core.testing.checkpoint_contract import RUN
    from tests.faults.core.stores.saving import changed

    async def main():
        async with Store.open(sys.argv[1]) as store:
            try:
                revision = (await store.latest(RUN)).metadata.revision
            except CheckpointNotFoundError:
                revision = 0
            while True:
                revision += 1
                await store.save(changed(revision))
                print(revision, flush=True)

    configure_logging()
    asyncio.run(main())
"""


def changed(revision: int) -> Checkpoint:
    """Return a checkpoint with large and small parts, of many parts at every third revision."""
    texts: dict[str, str | None] = {f"part {n}": f"{revision} " * 100_000 for n in range(PARTS)}
    texts |= {f"of {revision}": "", f"of {revision - 1}": None}
    if revision % 3 == 0:
        texts |= {f"item {n}": str(revision) for n in range(MANY)}
    return checkpoint(revision, texts)


async def assert_whole(store: CheckpointStore, known: int) -> int:
    """All is there up to the last save that returned, or the one after it, with every part."""
    loaded = await load_all(store)
    assert [one.metadata.revision for one in loaded] == list(range(1, len(loaded) + 1))
    assert known <= len(loaded) <= known + 1
    parts: dict[str, str] = {}
    for one in loaded:
        revision = one.metadata.revision
        merged = {**parts, **changed(revision).changes}
        parts = {name: text for name, text in merged.items() if text is not None}
        assert one.head == checkpoint(revision).head
        assert dict(one.parts) == parts
    return len(loaded)


@contextmanager
def saving(store: type, url: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process that saves one checkpoint after the other and prints the number of each.

    Args:
        store: Its class; it is opened by its ``open(url)``.
        url: Of the server.
    """
    code = dedent(_WRITER).format(module=store.__module__, name=store.__name__)
    with subprocess.Popen([sys.executable, "-c", code, url], stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def lines_of(process: subprocess.Popen[str]) -> Iterator[str]:
    """Return what a process prints, line by line as it does."""
    assert process.stdout is not None
    return iter(process.stdout.readline, "")
