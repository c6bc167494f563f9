"""Checkpoints in a Redis server: as in every other store, and for some days."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import cast

import pytest
import redis
from redis.crc import key_slot
from structlog.testing import capture_logs
from tests.faults.executors.broker import Broker
from tests.integration.executors.conftest import Place

from agentic.core.graph.checkpoints.store import CheckpointStore
from agentic.core.graph.errors import (
    CheckpointConflictError,
    CheckpointNotFoundError,
    CheckpointStoreError,
    CorruptCheckpointError,
    InvalidPolicyError,
)
from agentic.core.services import free_port
from agentic.core.stores.redis_checkpoints import KEY_PREFIX, RedisCheckpointStore
from agentic.core.testing import CheckpointStoreContract
from agentic.core.testing.checkpoint_contract import OTHER, RUN, checkpoint, ids, load_all, save_history

pytestmark = [pytest.mark.integration, pytest.mark.requirement("CK05")]

DAY_S = 24 * 60 * 60
SECOND_DAYS = 1 / DAY_S


@pytest.fixture
async def store(url: str) -> AsyncIterator[RedisCheckpointStore]:
    async with RedisCheckpointStore.open(url, project="shop") as store:
        yield store


class TestRedisCheckpointStore(CheckpointStoreContract):
    @pytest.fixture
    def store(self, store: RedisCheckpointStore) -> CheckpointStore:
        return store


def keys_of(server: redis.Redis) -> list[str]:
    return sorted(key.decode() for key in server.scan_iter())


def without_login(url: str) -> str:
    """Return host, port and number of a URL."""
    return url.rpartition("@")[2]


def left_s(server: redis.Redis, key: str) -> float:
    return int(str(server.pttl(key))) / 1000


async def test_all_keys_name_the_project_lie_together_and_expire_together(
    store: RedisCheckpointStore, server: redis.Redis
) -> None:
    await save_history(store)
    keys = keys_of(server)
    assert len(keys) == 2
    assert all(key.startswith(f"{KEY_PREFIX}{{shop}}:") for key in keys)
    assert len({key_slot(key.encode()) for key in keys}) == 1
    assert all(7 * DAY_S - 60 < left_s(server, key) <= 7 * DAY_S for key in keys)


async def test_a_save_renews_the_time_that_a_run_has_and_nothing_else_does(
    store: RedisCheckpointStore, server: redis.Redis
) -> None:
    await save_history(store)
    key = keys_of(server)[0]
    server.expire(key, 100)
    await store.latest(RUN)
    await store.list_metadata()
    await store.keep_last(RUN, 2)
    assert left_s(server, key) <= 100
    await store.save(checkpoint(9))
    assert left_s(server, key) > 6 * DAY_S


async def test_an_expired_run_is_gone_as_a_whole_and_can_begin_anew(
    store: RedisCheckpointStore, url: str, server: redis.Redis
) -> None:
    async with RedisCheckpointStore.open(url, project="shop", ttl_days=0.2 * SECOND_DAYS) as brief:
        await store.save(checkpoint(run_id=OTHER))
        await brief.save(checkpoint(1, {"a": "1"}))
        await brief.save(checkpoint(2, {"b": "1"}))
        runs = keys_of(server)[-1]
        await asyncio.sleep(0.3)
        with pytest.raises(CheckpointNotFoundError):
            await store.latest(RUN)
        assert (
            ids(await store.list_metadata())
            == ids(await store.list_metadata(newest_only=True))
            == ["other@1"]
        )
        await brief.save(checkpoint(1, {"c": "1"}))
        assert dict((await store.latest(RUN)).parts) == {"c": "1"}
        await asyncio.sleep(0.3)
        await store.save(checkpoint(2, run_id=OTHER))
        assert server.zcard(runs) == 1
        assert left_s(server, runs) > 6 * DAY_S


async def test_the_runs_are_listed_as_long_as_the_longest_of_them(
    store: RedisCheckpointStore, url: str, server: redis.Redis
) -> None:
    await store.save(checkpoint())
    async with RedisCheckpointStore.open(url, project="shop", ttl_days=1) as brief:
        await brief.save(checkpoint(run_id=OTHER))
    [runs] = [key for key in keys_of(server) if key.endswith(":runs")]
    assert left_s(server, runs) > 6 * DAY_S


async def test_the_last_run_that_is_removed_leaves_nothing(
    store: RedisCheckpointStore, server: redis.Redis
) -> None:
    await save_history(store)
    await store.delete_all(RUN)
    assert keys_of(server) == []


@pytest.mark.parametrize("ttl_days", [0, -1, float("nan")])
async def test_a_run_is_kept_for_a_while(url: str, ttl_days: float) -> None:
    with pytest.raises(InvalidPolicyError, match="ttl_days"):
        async with RedisCheckpointStore.open(url, ttl_days=ttl_days):
            pass


@pytest.mark.parametrize("other", ["shop ", "Shop", "shop}:x", "{shop}", "default"])
async def test_projects_on_one_server_do_not_see_each_other(
    store: RedisCheckpointStore, url: str, server: redis.Redis, other: str
) -> None:
    await save_history(store)
    async with RedisCheckpointStore.open(url, project=other) as theirs:
        assert not await theirs.list_metadata()
        with pytest.raises(CheckpointNotFoundError):
            await theirs.latest(RUN)
        await theirs.save(checkpoint(1, {"theirs": "1"}))
        assert await theirs.delete_all(RUN) == 1
    assert len(await load_all(store)) == 8


async def test_of_many_that_save_at_once_from_far_apart_one_wins(
    store: RedisCheckpointStore, url: str
) -> None:
    async with RedisCheckpointStore.open(url, project="shop") as far:
        for revision in range(1, 20):
            rivals = [
                one.save(checkpoint(revision, {"who": str(number), f"{number}": "here"}))
                for number, one in enumerate([store, far] * 4)
            ]
            outcomes = await asyncio.gather(*rivals, return_exceptions=True)
            [winner] = [number for number, outcome in enumerate(outcomes) if outcome is None]
            assert sum(isinstance(outcome, CheckpointConflictError) for outcome in outcomes) == 7
            parts = (await far.latest(RUN)).parts
            assert parts["who"] == str(winner)
            assert str(winner) in parts


async def test_saves_that_are_cancelled_are_whole_or_not_there_and_confuse_no_other(
    store: RedisCheckpointStore,
) -> None:
    revision = 0
    for turn in range(60):
        save = asyncio.create_task(store.save(checkpoint(revision + 1, {"a": str(turn), "b": str(turn)})))
        for _ in range(turn % 12):
            await asyncio.sleep(0)
        save.cancel()
        await asyncio.wait([save])
        found = await store.list_metadata(run_id=RUN)
        assert len(found) in {revision, revision + 1}
        if len(found) > revision:
            revision += 1
            assert dict((await store.latest(RUN)).parts) == {"a": str(turn), "b": str(turn)}
    assert revision


async def test_a_server_that_forgot_the_scripts_is_told_them_again(
    store: RedisCheckpointStore, server: redis.Redis
) -> None:
    await store.save(checkpoint())
    server.script_flush()
    await store.save(checkpoint(2))
    assert ids(await store.list_metadata()) == ["run@2", "run@1"]


async def test_what_is_damaged_is_named(store: RedisCheckpointStore, server: redis.Redis) -> None:
    await save_history(store)
    key = keys_of(server)[0]
    names = [name.decode() for name in cast("list[bytes]", server.hkeys(key))]
    [text] = [name for name in names if ".8." in name and name.endswith(".text")]
    [part] = [name for name in names if ".8." in name and ".part." in name]
    server.hset(key, part, "no part")
    with pytest.raises(CorruptCheckpointError, match="'run@8'"):
        await store.latest(RUN)
    server.hdel(key, text)
    with pytest.raises(CorruptCheckpointError, match="'run@8' cannot be used: its head is missing"):
        await store.latest(RUN)
    assert (await store.load(RUN, 7)).metadata.revision == 7
    server.hset(key, text.replace(".text", ".meta"), "{}")
    with pytest.raises(CorruptCheckpointError, match="meta"):
        await store.list_metadata(newest_only=True)


async def test_keys_that_are_not_ours_are_not_written(
    store: RedisCheckpointStore, server: redis.Redis
) -> None:
    await store.save(checkpoint())
    run, runs = keys_of(server)
    server.delete(run, runs)
    server.set(runs, "theirs")
    with pytest.raises(CheckpointStoreError, match=r"WRONGTYPE .*another program"):
        await store.save(checkpoint())
    assert keys_of(server) == [runs]
    server.delete(runs)
    server.set(run, "theirs")
    with pytest.raises(CheckpointStoreError, match=r"WRONGTYPE .*another program"):
        await store.save(checkpoint())
    assert keys_of(server) == [run]


async def test_a_replica_can_be_read_and_not_written(
    store: RedisCheckpointStore, server: redis.Redis
) -> None:
    await save_history(store)
    server.replicaof("127.0.0.1", str(free_port()))
    try:
        assert len(await load_all(store)) == 8
        with pytest.raises(CheckpointStoreError, match="read only replica; name its primary"):
            await store.save(checkpoint(9))
    finally:
        server.replicaof("NO", "ONE")


async def test_a_password_is_in_no_message(url: str) -> None:
    address = without_login(url)
    with pytest.raises(CheckpointStoreError, match="check user name and password") as caught:
        async with RedisCheckpointStore.open(f"redis://me:hunter2@{address}", project="shop"):
            pass
    assert "hunter2" not in str(caught.value)
    assert f"'shop' cannot be stored in redis://{address}: " in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "redis://:hunter2/x@host:6379/0",
        "http://:hunter2@host/0",
        "redis://:hunter2@host:port/0",
        "redis://:hunter2@[host/0",
        "",
    ],
)
async def test_a_url_that_cannot_be_read_is_not_shown(url: str) -> None:
    with pytest.raises(CheckpointStoreError, match="its URL cannot be read; write redis://") as caught:
        async with RedisCheckpointStore.open(url):
            pass
    assert "hunter2" not in str(caught.value)


async def test_an_option_that_the_client_does_not_know_is_named(url: str) -> None:
    with pytest.raises(CheckpointStoreError, match=r"unknown option .*'visibility_timeout'"):
        async with RedisCheckpointStore.open(f"{url}?visibility_timeout=60"):
            pass


async def test_a_server_that_is_not_there_is_told_at_once() -> None:
    port = free_port()
    with pytest.raises(CheckpointStoreError, match=rf"redis://127\.0\.0\.1:{port}/3: .*check its address"):
        async with asyncio.timeout(2), RedisCheckpointStore.open(f"redis://:hunter2@127.0.0.1:{port}/3"):
            pass


async def test_a_user_who_may_not_ask_for_settings_can_keep_runs(broker: Broker, url: str) -> None:
    broker.do("ACL", "SETUSER", "plain", "on", ">secret", "~agentic:*", "+@all", "-@admin", "-@dangerous")
    async with RedisCheckpointStore.open(f"redis://plain:secret@{without_login(url)}") as store:
        await save_history(store)
        assert len(await load_all(store)) == 8
        broker.do("ACL", "SETUSER", "plain", "-@write")
        with pytest.raises(CheckpointStoreError, match="let its user run scripts"):
            await store.save(checkpoint(9))
    broker.do("ACL", "DELUSER", "plain")


@pytest.mark.parametrize(
    ("policy", "size", "is_told"),
    [("allkeys-lru", "1gb", True), ("volatile-ttl", "1gb", True), ("volatile-ttl", "0", False)],
)
async def test_a_server_that_may_remove_runs_is_told_of(
    url: str, server: redis.Redis, policy: str, size: str, *, is_told: bool
) -> None:
    server.config_set("maxmemory-policy", policy)
    server.config_set("maxmemory", size)
    with capture_logs() as logs:
        async with RedisCheckpointStore.open(url, project="shop") as store:
            await store.save(checkpoint())
    server.config_set("maxmemory", 0)
    server.config_set("maxmemory-policy", "noeviction")
    assert [(entry["event"], entry["policy"]) for entry in logs] == [("eviction.allowed", policy)] * is_told


async def test_a_cluster_keeps_the_runs_of_many_projects(tmp_path: Path) -> None:
    # By itself a node takes the port 10,000 above its own for others of the cluster, free or not.
    ports = [str(free_port()) for _ in range(2)]
    with (
        Broker(tmp_path / "one", "--cluster-enabled", "yes", "--cluster-port", ports[0]) as one,
        Broker(tmp_path / "two", "--cluster-enabled", "yes", "--cluster-port", ports[1]) as two,
    ):
        one.do("CLUSTER", "ADDSLOTSRANGE", "0", "8191")
        two.do("CLUSTER", "ADDSLOTSRANGE", "8192", "16383")
        host, _, port = without_login(two.url(0)).removesuffix("/0").partition(":")
        one.do("CLUSTER", "MEET", host, port, ports[1])
        for node in (one, two):
            # A client comes to each node of a cluster with the same password.
            node.do("ACL", "SETUSER", "default", ">of-all-nodes")
            Place.eventually(partial(is_whole, node))
        url = f"redis://:of-all-nodes@{without_login(one.url(0))}"
        for project in ("a", "b", "c", "d"):
            async with RedisCheckpointStore.open(url, project=project) as store:
                await save_history(store)
                assert await store.keep_last(RUN, 3) == 5
                await store.fork(RUN, 7, OTHER)
                assert ids(await store.list_metadata(newest_only=True)) == ["run@8", "other@1"]
                assert len(await load_all(store)) == 3
                assert await store.delete_all(RUN) == 3
        with one.client() as first, two.client() as second:
            assert len(keys_of(first)) in {2, 4, 6}
            assert len(keys_of(first)) + len(keys_of(second)) == 8


def is_whole(node: Broker) -> bool:
    with node.client() as client:
        return "'cluster_state': 'ok'" in str(client.execute_command("CLUSTER INFO"))


def test_the_client_is_not_loaded_before_it_is_used() -> None:
    code = "import agentic.core.stores.redis_checkpoints, sys; sys.exit('redis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
