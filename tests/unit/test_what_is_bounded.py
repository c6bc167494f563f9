"""What must not grow for ever, against the page that promises it."""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentic.core.agents.background import local
from agentic.core.bus import listening, publisher
from agentic.core.bus.listening import Listener, Message
from agentic.core.bus.nats.streams import AUDIT, EVENTS, METRICS, bucket_config
from agentic.core.coding.repairing import lessons
from agentic.core.http.caching import cache
from agentic.core.http.caching.cache import CachedAnswer, MemoryCache
from agentic.core.http.politeness import budget, robots
from agentic.core.http.politeness.budget import ProcessBudget
from agentic.core.http.transports import wire
from agentic.core.llm import tokens
from agentic.core.llm.adapting import bounding, failures, sse
from agentic.core.llm.wrappers import caching
from agentic.core.masking import MAX_KNOWN, KnownSecrets
from agentic.core.pipeline.crawl import files
from agentic.core.reading import isolated
from agentic.core.sandbox import model as sandbox_model
from agentic.core.services import nats_service
from agentic.core.services.home import MAX_LOG_BYTES
from agentic.core.stores import key_value_models
from agentic.core.wrappers.wrapper import MAX_BYTES
from agentic.executors.agents import observing
from agentic.executors.durable.publish import asking
from agentic.executors.workers.config import DEFAULTS
from agentic.mappers.crawl import http_cache, wrappers

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/explanation/what-is-bounded.md").read_text(encoding="utf-8")
ROOMS = ("core", "executors", "fakes", "mappers", "migrations", "plugins")
MIB = 1024 * 1024
GIB = 1024 * MIB

PROMISED = {
    "answers of sites, without": f"{cache.MAX_MEMORY_BYTES // MIB} MiB, compressed",
    "rules of `robots.txt`": f"{robots.MAX_ORIGINS:,} origins, {robots.MAX_KEPT_CHARACTERS:,} characters",
    "looked-up host names": f"{wire.MAX_NAMES:,}",
    "times of hosts": f"{budget.MAX_HOSTS:,}",
    "secrets that logs mask": f"{MAX_KNOWN:,}",
    "events that wait for NATS, without": f"{publisher._MAX_QUEUED:,}",
    "files that a sandbox is given": f"{sandbox_model.MAX_FILES} and {sandbox_model.MAX_COLLECTED:,}",
    "a broken feed, or an article": (
        f"{isolated.PROCESSES} at a time, "
        f"each {isolated.CPU_S} s of CPU and {isolated.MEMORY_BYTES // GIB} GiB"
    ),
    "looks of fields that crawls": f"{wrappers.KEPT_WRAPPERS} for each pipeline, {MAX_BYTES // 1024} KB each",
    "files that a crawl has downloaded": f"{files.MOST_KNOWN:,} for each crawl step",
    "events that wait for observers": f"{observing.MAX_WAITING:,}",
    "messages that a listener": f"{listening._MOST:,}",
    "questions on the bus": f"{asking.MAX_ASKED:,}",
    "replies of models that a `CacheModel`": f"{caching.MAX_REPLIES:,}",
    "models whose tokens": f"{tokens.MAX_MODELS:,}",
    "answers of model servers that are failures": f"{failures.MAX_FAILURE_BYTES // MIB} MiB, unpacked",
    "other answers of model servers": f"{bounding.MAX_ANSWER_BYTES // MIB} MiB, unpacked",
    "background runs": f"{local.MAX_RUNS:,}, each {local.MAX_PIECES:,} pieces",
    "`AGENTIC_LESSONS`": f"{lessons.MAX_LESSONS} for each language, for {lessons.KEPT_S / 86_400:.0f} days",
    "replies of models in a bucket": f"{key_value_models.KEPT_S / 86_400:.0f} days",
    "`AGENTIC_EVENTS`": f"{(EVENTS.max_age or 0) / 86_400:.0f} days, {(EVENTS.max_bytes or 0) // GIB} GiB",
    "`AGENTIC_AUDIT`": f"{(AUDIT.max_bytes or 0) // MIB} MiB",
    "`AGENTIC_METRICS`": f"a day, {METRICS.max_msgs_per_subject:,} for each executor",
    "logs of `agentic up`": f"{MAX_LOG_BYTES // MIB} MiB each",
    "answers of sites, in the database": f"{http_cache.KEPT_S / 86_400:.0f} days",
}


@pytest.mark.parametrize("what", PROMISED)
def test_the_page_has_the_limit_of_the_code(what: str) -> None:
    [row] = [line for line in PAGE.splitlines() if line.startswith("|") and what in line]
    assert PROMISED[what] in row.split("|")[2]


def test_an_event_of_a_model_may_be_as_long_as_a_whole_answer() -> None:
    assert sse.MAX_EVENT_BYTES == bounding.MAX_ANSWER_BYTES


def test_the_page_says_when_a_worker_process_is_replaced() -> None:
    assert f"after {DEFAULTS['worker_max_tasks_per_child']:,} tasks" in PAGE
    assert f"at {int(str(DEFAULTS['worker_max_memory_per_child'])) // 1024} MiB" in PAGE


def test_every_stream_has_an_end_and_every_bucket_one_value_for_a_key() -> None:
    for stream in (EVENTS, METRICS):
        assert stream.max_age or stream.max_bytes
    assert AUDIT.max_bytes
    assert bucket_config("STATE", 60.0).max_msgs_per_subject == 1
    assert bucket_config("STATE", 60.0).max_age == 60.0


def test_the_embedded_server_may_not_take_the_whole_disk(tmp_path: Path) -> None:
    nats_service(tmp_path)
    config = (tmp_path / "nats" / "server.conf").read_text(encoding="utf-8")
    assert f"max_mem: {256 * MIB}" in config
    assert f"max_file: {8 * GIB}" in config


def sources() -> Iterator[tuple[Path, str]]:
    """Yield the files that may hold such a function: to parse them all takes seconds."""
    for file in (file for room in ROOMS for file in (ROOT / room).rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if re.search(r"@(functools\.)?(cache\b|lru_cache\((maxsize=)?None)", text):
            yield file, text


def test_no_function_with_arguments_keeps_every_result() -> None:
    unbounded = [
        f"{file.relative_to(ROOT)}:{node.lineno} {node.name}"
        for file, text in sources()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and any(keeps_everything(decorator) for decorator in node.decorator_list)
        and (node.args.args or node.args.posonlyargs or node.args.kwonlyargs)
    ]
    assert unbounded == []


def keeps_everything(decorator: ast.expr) -> bool:
    """Whether it is ``cache`` or ``lru_cache(None)``."""
    text = ast.unparse(decorator)
    return text.rpartition(".")[2] == "cache" or text.startswith(
        (
            "lru_cache(None",
            "lru_cache(maxsize=None",
            "functools.lru_cache(None",
            "functools.lru_cache(maxsize=None",
        )
    )


@pytest.mark.parametrize(
    "decorator", ["cache", "functools.cache", "lru_cache(None)", "lru_cache(maxsize=None)"]
)
def test_caches_without_a_limit_are_known(decorator: str) -> None:
    assert keeps_everything(ast.parse(decorator, mode="eval").body)
    assert not keeps_everything(ast.parse("lru_cache(maxsize=16)", mode="eval").body)


async def test_a_flood_of_answers_leaves_the_newest() -> None:
    kept = MemoryCache(max_bytes=100_000)
    for number in range(1_000):
        await kept.keep(str(number), answer(b"x" * 1_000))
    assert await kept.load("0") is None
    assert await kept.load("999") is not None
    assert sum([await kept.load(str(number)) is not None for number in range(1_000)]) <= 100


def answer(packed: bytes) -> CachedAnswer:
    return CachedAnswer(url="https://a.example/", headers=(), packed=packed, kept_at=0.0)


async def test_a_flood_of_hosts_is_forgotten_once_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MAX_HOSTS", 100)
    now = 0.0
    turns = ProcessBudget(clock=lambda: now)
    for number in range(5_000):
        now += 1.0
        await turns.take(f"h{number}.example", 0.5)
    assert len(turns._times) <= 200


def test_a_flood_of_secrets_forgets_the_oldest() -> None:
    known = KnownSecrets(limit=50)
    for number in range(500):
        known.add([f"secret-number-{number}"])
    assert len(known.masker.secrets) <= 50
    assert known.masker.text("secret-number-499") != "secret-number-499"


async def test_a_flood_of_messages_makes_their_sender_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "_MOST", 10)
    listener = Listener()
    for _ in range(10):
        await listener.hear(Message(subject="a", payload=b"x"))
    waiting = asyncio.create_task(listener.hear(Message(subject="a", payload=b"x")))
    await asyncio.sleep(0)
    assert not waiting.done()
    await listener.next()
    await waiting
