"""Checks whether a Redis or Valkey server, as a broker, keeps its messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from celery import Celery
from redis.exceptions import ResponseError

from agentic.core.hooks import Finding, warning
from agentic.executors.checks.clocks import clock_findings
from agentic.executors.workers.dispatch import CONNECT_TIMEOUT_S

DEFAULT_VISIBILITY_S = 3600
_WRITES = ("aof_last_write_status", "aof_last_bgrewrite_status", "rdb_last_bgsave_status")


def broker_findings(app: Celery) -> Iterator[Finding]:
    """Report faults of a Redis or Valkey server, and of its use; nothing about other brokers."""
    with _client(app) as client:
        if client is None:
            return
        yield from visibility_findings(app.conf)
        with suppress(ResponseError):  # hosted servers refuse to answer
            yield from _settings_findings(client.config_get("append*", "maxmemory*"))
            yield from _disk_findings(client.info("persistence"))
        yield from clock_findings("the broker", lambda: _seconds(client.time()))


def visibility_findings(conf: Mapping[str, Any]) -> Iterator[Finding]:
    """Report tasks that may run longer than their message is hidden from other workers."""
    visible_s = conf["broker_transport_options"].get("visibility_timeout", DEFAULT_VISIBILITY_S)
    limit_s = conf["task_time_limit"]
    if limit_s is None or limit_s >= visible_s:
        may_run = "without limit (task_time_limit is not set)" if limit_s is None else f"for {limit_s} s"
        yield Finding(
            f"a task may run {may_run}, but the broker gives it to another worker after {visible_s} s "
            "(visibility_timeout); in celeryconfig.py set broker_transport_options['visibility_timeout'] "
            "above task_time_limit"
        )


def _settings_findings(found: Mapping[str, str]) -> Iterator[Finding]:
    if found["appendonly"] != "yes":
        yield warning(
            "the broker keeps messages in memory only (appendonly no), so a restart loses them; set "
            "`appendonly yes`"
        )
    elif found["appendfsync"] == "no":
        yield warning(
            "the broker does not sync messages to the disk itself (appendfsync no); set `appendfsync "
            "everysec`"
        )
    if (policy := found["maxmemory-policy"]) != "noeviction":
        limit = int(found["maxmemory"])
        told = f"maxmemory-policy {policy}, maxmemory {limit}"
        text = f"the broker drops messages when its memory is full ({told}); set `noeviction`"
        yield Finding(text) if limit else warning(text)


def _disk_findings(info: Mapping[str, object]) -> Iterator[Finding]:
    for name in _WRITES:
        if (status := info.get(name, "ok")) != "ok":
            yield Finding(
                f"the broker cannot write to its disk ({name}:{status}); check its log, and whether the "
                "disk is full or the folder is missing"
            )


@contextmanager
def _client(app: Celery) -> Iterator[Any]:
    """Yield a client of the broker; None if it is neither Redis nor Valkey."""
    options = {
        **app.conf.broker_transport_options,
        "socket_connect_timeout": CONNECT_TIMEOUT_S,
        "socket_timeout": CONNECT_TIMEOUT_S,
    }
    with app.connection_for_read(transport_options=options) as connection:
        channel: Any = connection.default_channel
        yield channel.client if connection.transport.driver_type == "redis" else None


def _seconds(told: tuple[int, int]) -> float:
    return told[0] + told[1] / 1e6
