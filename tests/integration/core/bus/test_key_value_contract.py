"""What every bucket promises, for the one in memory and for the one over NATS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import pytest

from agentic.core.bus import (
    IllegalKeyError,
    KeyChange,
    KeyConflictError,
    KeyValue,
    KeyWrite,
    MemoryKeyValue,
    MessageTooLargeError,
)
from agentic.core.bus.nats.bus import NatsBus

pytestmark = [pytest.mark.integration, pytest.mark.requirement("NA26", "ST03")]

MakeBucket = Callable[..., KeyValue]


@pytest.fixture(params=["memory", "nats"])
def make_bucket(request: pytest.FixtureRequest) -> MakeBucket:
    """Return a function that makes an empty bucket; ``ttl_s`` is how long its values live."""
    if request.param == "memory":
        return MemoryKeyValue
    bus: NatsBus = request.getfixturevalue("nats_bus")
    return lambda **options: bus.bucket("TEST", project="shop", **options)


@pytest.fixture
def bucket(make_bucket: MakeBucket) -> KeyValue:
    return make_bucket()


async def test_a_key_that_was_never_written_has_no_value(bucket: KeyValue) -> None:
    assert await bucket.get("a") is None
    assert await bucket.get_many(["a", "b"]) == {}
    assert await bucket.keys() == {}
    await bucket.delete("a")


async def test_a_value_comes_back_as_it_was_written(bucket: KeyValue) -> None:
    for value in (b"1", b"", b"\0\r\n\xff", b"x" * 300_000):
        revision = await bucket.put("a.b", value)
        entry = await bucket.get("a.b")
        assert entry is not None
        assert (entry.key, entry.value, entry.revision) == ("a.b", value, revision)


async def test_revisions_grow_over_all_keys(bucket: KeyValue) -> None:
    revisions = [await bucket.put(key, b"1") for key in "abab"]
    assert revisions == sorted(set(revisions))


async def test_a_key_is_made_once(bucket: KeyValue) -> None:
    revision = await bucket.put("a", b"first", revision=0)
    with pytest.raises(
        KeyConflictError, match="revision conflict on 'a': expected no value, found revision"
    ) as caught:
        await bucket.put("a", b"second", revision=0)
    assert (caught.value.expected, caught.value.actual) == (0, revision)
    entry = await bucket.get("a")
    assert entry is not None
    assert entry.value == b"first"


async def test_a_key_is_changed_only_from_where_it_was_seen(bucket: KeyValue) -> None:
    first = await bucket.put("a", b"1")
    second = await bucket.put("a", b"2", revision=first)
    for stale in (first, second + 100):
        with pytest.raises(KeyConflictError) as caught:
            await bucket.put("a", b"3", revision=stale)
        assert caught.value.actual == second
    with pytest.raises(KeyConflictError):
        await bucket.delete("a", revision=first)
    await bucket.delete("a", revision=second)
    assert await bucket.get("a") is None


async def test_what_was_written_elsewhere_does_not_make_a_key_stale(bucket: KeyValue) -> None:
    revision = await bucket.put("a", b"1")
    await bucket.put("b", b"1")
    assert await bucket.put("a", b"2", revision=revision) > revision


async def test_a_deleted_key_can_be_made_anew(bucket: KeyValue) -> None:
    for _ in range(3):
        await bucket.put("a", b"1", revision=0)
        await bucket.delete("a")
        assert await bucket.get("a") is None
        assert await bucket.get_many(["a"]) == {}
        assert await bucket.keys() == {}
    with pytest.raises(KeyConflictError) as caught:
        await bucket.put("a", b"1", revision=1)
    assert caught.value.actual == 0


async def test_of_many_that_change_a_key_at_once_one_wins_each_time(bucket: KeyValue) -> None:
    revision = 0
    for _ in range(5):
        writes = (bucket.put("a", b"%d" % number, revision=revision) for number in range(8))
        outcomes = await asyncio.gather(*writes, return_exceptions=True)
        won = [outcome for outcome in outcomes if isinstance(outcome, int)]
        assert len(won) == 1
        assert sum(isinstance(outcome, KeyConflictError) for outcome in outcomes) == 7
        revision = won[0]


async def test_several_keys_are_written_together(bucket: KeyValue) -> None:
    old = await bucket.put("old", b"1")
    await bucket.write(
        [
            KeyWrite(key="new", value=b"1", revision=0),
            KeyWrite(key="old", value=None, revision=old),
            KeyWrite(key="any", value=b"2"),
        ]
    )
    found = await bucket.get_many(["new", "old", "any"])
    assert {key: entry.value for key, entry in found.items()} == {"new": b"1", "any": b"2"}


async def test_nothing_is_written_if_one_of_several_keys_is_not_as_seen(bucket: KeyValue) -> None:
    await bucket.put("b", b"1")
    changes = [KeyWrite(key=key, value=b"2", revision=0) for key in ("a", "b", "c")]
    with pytest.raises(KeyConflictError, match="'b'"):
        await bucket.write(changes)
    assert list(await bucket.keys()) == ["b"]


async def test_a_thousand_keys_are_written_and_read_together(bucket: KeyValue) -> None:
    names = [f"k.{number}" for number in range(1_000)]
    await bucket.write([KeyWrite(key=name, value=name.encode()) for name in names])
    found = await bucket.get_many([*names, "missing"])
    assert {key: entry.value.decode() for key, entry in found.items()} == {name: name for name in names}
    assert list(await bucket.keys("k.*")) == names
    await bucket.write([])


async def test_values_of_many_megabytes_are_read_together(bucket: KeyValue) -> None:
    values = {f"k{number}": bytes([number]) * 900_000 for number in range(40)}
    for key, value in values.items():
        await bucket.put(key, value)
    found = await bucket.get_many(list(values))
    assert {key: entry.value for key, entry in found.items()} == values


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([KeyWrite(key=f"k{n}", value=b"") for n in range(1_001)], "1001 keys"),
        ([KeyWrite(key="a", value=b"1"), KeyWrite(key="a", value=b"2")], "'a' is written twice"),
        ([KeyWrite(key="a", value=b"1", ttl_s=0)], "whole seconds"),
    ],
)
async def test_what_cannot_be_written_together_is_refused_at_once(
    bucket: KeyValue, changes: list[KeyWrite], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        await bucket.write(changes)
    assert await bucket.keys() == {}


@pytest.mark.parametrize("key", ["", ".", "a.", ".a", "a..b", "a b", "a*", "*", ">", "é", "a:b", "a\n", "$a"])
async def test_what_is_no_key_is_refused_by_name(bucket: KeyValue, key: str) -> None:
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: bucket.get(key),
        lambda: bucket.get_many([key]),
        lambda: bucket.put(key, b""),
        lambda: bucket.delete(key),
    ]
    for call in calls:
        with pytest.raises(IllegalKeyError, match="is not a valid key") as caught:
            await call()
        assert caught.value.key == key


async def test_a_value_that_is_too_large_is_refused_and_the_bucket_goes_on(bucket: KeyValue) -> None:
    changes = [KeyWrite(key="a", value=b"1"), KeyWrite(key="b", value=bytes(9 * 1024 * 1024))]
    with pytest.raises(MessageTooLargeError, match="'b'"):
        await bucket.write(changes)
    assert await bucket.get("a") is None
    await bucket.put("a", b"1")


async def test_keys_are_listed_by_pattern_in_the_order_written(bucket: KeyValue) -> None:
    for key in ("b.x.1", "a.x.1", "a.y.1", "a.x", "a.x.1"):
        await bucket.put(key, b"1")
    assert list(await bucket.keys()) == ["b.x.1", "a.y.1", "a.x", "a.x.1"]
    assert list(await bucket.keys("a.>")) == ["a.y.1", "a.x", "a.x.1"]
    assert list(await bucket.keys("*.x.*")) == ["b.x.1", "a.x.1"]
    assert list(await bucket.keys("a.x")) == ["a.x"]
    assert await bucket.keys("a") == {}


async def test_a_value_with_a_time_to_live_goes_by_itself(bucket: KeyValue) -> None:
    await bucket.put("a", b"1", ttl_s=1)
    await bucket.put("b", b"1")
    assert await bucket.get("a") is not None
    await until_gone(bucket, "a")
    assert list(await bucket.keys()) == ["b"]
    await bucket.put("a", b"2", revision=0)


async def test_a_value_written_again_lives_as_long_as_it_then_may(bucket: KeyValue) -> None:
    revision = await bucket.put("a", b"1", ttl_s=1)
    for _ in range(4):
        await asyncio.sleep(0.5)
        revision = await bucket.put("a", b"1", revision=revision, ttl_s=1)
    await bucket.put("a", b"1", revision=revision)
    await asyncio.sleep(2)
    assert await bucket.get("a") is not None


async def test_a_bucket_may_forget_all_values_after_a_time(make_bucket: MakeBucket) -> None:
    bucket = make_bucket(ttl_s=1)
    await bucket.put("a", b"1")
    await until_gone(bucket, "a")
    assert await bucket.keys() == {}


async def test_who_watches_sees_what_stands_and_what_comes(bucket: KeyValue) -> None:
    await bucket.put("a", b"1")
    await bucket.put("a", b"2")
    async with aclosing(bucket.watch()) as changes:
        assert facts(await following(changes)) == ("a", b"2")
        await bucket.put("b", b"1")
        assert facts(await following(changes)) == ("b", b"1")
        await bucket.delete("a")
        assert facts(await following(changes)) == ("a", None)


async def test_who_watches_can_choose_keys_and_go_on_where_it_stopped(bucket: KeyValue) -> None:
    for key in ("a.1", "b.1", "a.2"):
        await bucket.put(key, b"1")
    async with aclosing(bucket.watch("a.*")) as changes:
        first = await following(changes)
        assert first.key == "a.1"
    async with aclosing(bucket.watch("a.*", after=first.revision)) as changes:
        assert (await following(changes)).key == "a.2"


async def until_gone(bucket: KeyValue, key: str) -> None:
    async with asyncio.timeout(10):
        while await bucket.get(key) is not None:  # noqa: ASYNC110 - nobody tells of an expiry
            await asyncio.sleep(0.1)


def facts(change: KeyChange) -> tuple[str, bytes | None]:
    return change.key, change.value


async def following(changes: AsyncGenerator[KeyChange, None]) -> KeyChange:
    async with asyncio.timeout(10):
        return await anext(changes)
