"""A process that ends at any write to a bucket leaves a thread that the next one continues."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from tests.integration.plugins.langgraph.test_savers import counting, history, thread

from agentic.core.bus.errors import BusUnavailableError
from agentic.core.bus.memory.kv import MemoryKeyValue
from agentic.core.errors import StoreUnavailableError
from agentic.plugins.langgraph import NatsSaver, ThreadTakenError

pytestmark = pytest.mark.integration

STEPS = 2


class CutBucket(MemoryKeyValue):
    """Stops at a write, as if the process had ended there."""

    left: int | None = None

    async def write(self, changes: Any) -> None:
        self._count()
        await super().write(changes)

    async def put(self, *args: Any, **kwargs: Any) -> int:
        self._count()
        return await super().put(*args, **kwargs)

    async def delete(self, *args: Any, **kwargs: Any) -> None:
        self._count()
        await super().delete(*args, **kwargs)

    def _count(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise BusUnavailableError("nats://cut", "it was cut")


async def test_a_run_cut_off_at_any_write_continues_to_the_same_end() -> None:
    given = {"said": ["a" * 3_000], "left": STEPS}
    want = await counting(NatsSaver(MemoryKeyValue()), 2_000).ainvoke(given, thread())
    for cut in range(0, 120, 3):
        bucket = CutBucket()
        bucket.left = cut
        graph = counting(NatsSaver(bucket), 2_000)
        try:
            await graph.ainvoke(given, thread(), durability="sync")
            break
        except (BusUnavailableError, StoreUnavailableError):
            pass
        bucket.left = None
        graph = counting(NatsSaver(bucket), 2_000)  # another process
        begun = await graph.aget_state(thread())
        assert await graph.ainvoke(None if begun.metadata else given, thread()) == want, cut
        assert len(await history(NatsSaver(bucket), thread())) == STEPS + 2
    else:
        pytest.fail("the run has more writes than cuts")


@pytest.mark.parametrize("what", ["prune", "copy", "delete", "runs"])
async def test_maintenance_cut_off_at_any_write_can_be_repeated(what: str) -> None:
    for cut in range(0, 120, 5):
        bucket = CutBucket()
        saver = NatsSaver(bucket)
        graph = counting(saver, 2_000)
        for run in ("one", "two"):
            config = {**thread(), "metadata": {"run_id": run}}
            await graph.ainvoke({"said": [run], "left": STEPS}, config)
        values = (await graph.aget_state(thread())).values
        does: Any = {
            "prune": lambda saver=saver: saver.aprune(["t"]),
            "copy": lambda saver=saver: saver.acopy_thread("t", "copy"),
            "delete": lambda saver=saver: saver.adelete_thread("t"),
            "runs": lambda saver=saver: saver.adelete_for_runs(["one"]),
        }[what]
        bucket.left = cut
        try:
            await does()
            is_whole = True
        except (BusUnavailableError, StoreUnavailableError):
            is_whole = False
        bucket.left = None
        if what != "delete":
            assert (await graph.aget_state(thread())).values == values, cut
        if not is_whole:
            await does()
        if what == "delete":
            assert not list(await bucket.keys())
        else:
            name = "copy" if what == "copy" else "t"
            assert (await graph.aget_state(thread(name))).values == values
            await graph.ainvoke({"said": ["more"], "left": 1}, thread(name))
        if is_whole:
            return
    pytest.fail("it has more writes than cuts")


async def test_runs_that_end_well_are_never_lost_whatever_others_do_meanwhile() -> None:
    """Ten runs on one thread, in random turns: each is in the state, or has been refused."""
    for seed in range(3):
        chance = random.Random(seed)
        bucket = MemoryKeyValue()

        async def run(number: int, bucket: MemoryKeyValue = bucket, chance: random.Random = chance) -> str:
            for _ in range(chance.randrange(40)):
                await asyncio.sleep(0)
            graph = counting(NatsSaver(bucket))
            await graph.ainvoke({"said": [f"run {number}"], "left": 2}, thread(), durability="sync")
            return f"run {number}"

        ended = await asyncio.gather(*map(run, range(10)), return_exceptions=True)
        assert all(isinstance(one, str | ThreadTakenError) for one in ended), ended
        went = {one for one in ended if isinstance(one, str)}
        said = (await counting(NatsSaver(bucket)).aget_state(thread())).values["said"]
        assert went <= set(said)
        assert went


class SlowlyPruned(MemoryKeyValue):
    """Prunes a thread between the pieces of a write and the write; the removal of pieces ends last."""

    pruning: asyncio.Future[None]

    def __init__(self) -> None:
        super().__init__()
        self.is_pruned = False
        self.removes, self.may_remove = asyncio.Event(), asyncio.Event()

    async def put(self, key: str, *args: Any, **kwargs: Any) -> int:
        if ".w." in key and self.is_pruned:
            self.is_pruned = False
            self.pruning = asyncio.ensure_future(NatsSaver(self).aprune(["t"]))
            await self.removes.wait()
        return await super().put(key, *args, **kwargs)

    async def delete(self, key: str, *args: Any, **kwargs: Any) -> None:
        if ".d." in key:
            self.removes.set()
            await self.may_remove.wait()
        await super().delete(key, *args, **kwargs)


async def test_a_write_keeps_its_pieces_while_another_process_prunes_the_thread() -> None:
    bucket = SlowlyPruned()
    saver = NatsSaver(bucket)
    await counting(saver, 2_000).ainvoke({"said": ["a"], "left": STEPS}, thread())
    (newest, *_) = await history(saver, thread())
    bucket.is_pruned = True
    await saver.aput_writes(newest.config, [("said", ["x" * 5_000])], "task")
    bucket.may_remove.set()
    await bucket.pruning
    found = await saver.aget_tuple(newest.config)
    assert found is not None
    assert found.pending_writes == [("task", "said", ["x" * 5_000])]
