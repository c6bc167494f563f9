"""Patterns of executors of a kind over all runs: successes, failures, and how failures were fixed.

    patterns.{type}.success    how often it succeeded, by number of attempts
    patterns.{type}.failure    how often it failed, and the newest kinds of errors by fingerprint
    patterns.{type}.attempts   the newest attempts

The kind of an executor is its name: workflows that share it share its patterns.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from agentic.core.bus.envelope import PublishedEvent
from agentic.core.bus.kv import KeyValue
from agentic.core.bus.projections.projection import Document, Documents, attempt_of
from agentic.core.bus.subjects import token
from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.graph.model.history import (
    MAX_ATTEMPTS,
    MAX_ERRORS,
    EnrichedError,
    ExecutorHistory,
    PastAttempt,
    Pattern,
    suggestion,
)
from agentic.core.linear import LinearPattern
from agentic.core.types import ExecutorId, RunId

_VARYING = LinearPattern(r"0x[0-9a-f]+|[0-9a-f]{8,}|\d+|'[^']*'|\"[^\"]*\"", ignore_case=True)


def pattern_keys(events: Iterable[PublishedEvent]) -> set[str]:
    """Return the keys whose documents :func:`apply_patterns` reads or changes."""
    return {
        f"{_base(published.event)}.{part}"
        for published in events
        if published.event.kind in _LEARNT_FROM
        for part in ("success", "failure", "attempts")
    }


def apply_patterns(events: Iterable[PublishedEvent], documents: Documents) -> set[str]:
    """Update documents with events, each given once; return the keys of changed documents."""
    changed: set[str] = set()
    for published in events:
        event = published.event
        if event.kind in _LEARNT_FROM:
            base = _base(event)
            for part, learn in _LEARNT_FROM[event.kind]:
                key = f"{base}.{part}"
                known = documents.get(key, {})
                learnt = learn(known, event)
                if learnt != known:
                    documents[key] = learnt
                    changed.add(key)
    return changed


def fingerprint(error_type: str, message: str) -> str:
    """Return 16 hex digits, equal for errors that differ only in numbers, ids and quoted words."""
    text = f"{error_type}: {_VARYING.sub('_', message)}"
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


class KvHistory:
    """Reads history from a project's patterns; implements :class:`~agentic.core.graph.HistorySource`.

    Args:
        bucket: The bucket of patterns.
    """

    def __init__(self, bucket: KeyValue) -> None:
        self._bucket = bucket

    async def history(self, executor_id: ExecutorId) -> ExecutorHistory:
        """Return the history of an executor, which may be empty.

        Raises:
            BusUnavailableError: The server cannot be used.
        """
        base = f"patterns.{token(executor_id)}"
        keys = [f"{base}.{part}" for part in ("success", "failure", "attempts")]
        found = {key: json.loads(entry.value) for key, entry in (await self._bucket.get_many(keys)).items()}
        success, failure, attempts = (found.get(key, {}) for key in keys)
        return ExecutorHistory(
            attempts=tuple(_past(one) for one in attempts.get("newest", [])),
            errors=tuple(_error(one) for one in _by_count(failure.get("newest", []))),
            successful_patterns=tuple(
                Pattern(description=f"succeeded on attempt {number}", count=count)
                for number, count in sorted(success.get("tries", {}).items(), key=lambda one: -one[1])
            ),
        )


def _base(event: WorkflowEvent) -> str:
    return f"patterns.{token(event.path.rpartition('/')[2] or '-')}"


def _success(known: Document, event: WorkflowEvent) -> Document:
    tries = {**known.get("tries", {})}
    number = str(event.attempt)
    tries[number] = tries.get(number, 0) + 1
    return {"count": known.get("count", 0) + 1, "tries": tries, "last_at": event.time}


def _failure(known: Document, event: WorkflowEvent) -> Document:
    error_type, message = str(event.data.get("error_type", "error")), str(event.data.get("error", ""))
    name = fingerprint(error_type, message)
    others = [one for one in known.get("newest", []) if one["fingerprint"] != name]
    earlier: Document = next((one for one in known.get("newest", []) if one["fingerprint"] == name), {})
    this = {
        "fingerprint": name,
        "error_type": error_type,
        "message": message[:2_000],
        "count": earlier.get("count", 0) + 1,
        "mended": earlier.get("mended", 0),
        "first_at": earlier.get("first_at", event.time),
        "last_at": event.time,
        "open_in": [*earlier.get("open_in", []), _place(event)][-MAX_ATTEMPTS:],
    }
    return {
        "count": known.get("count", 0) + 1,
        "newest": [*others, this][-MAX_ERRORS:],
        "last_at": event.time,
    }


def _mended(known: Document, event: WorkflowEvent) -> Document:
    """Record that an activation succeeded after a failure."""
    if not known:
        return known
    place = _place(event)
    newest = [
        {
            **one,
            "mended": one["mended"] + one["open_in"].count(place),
            "open_in": [other for other in one["open_in"] if other != place],
        }
        for one in known.get("newest", [])
    ]
    return {**known, "newest": newest}


def _attempts(known: Document, event: WorkflowEvent) -> Document:
    return {"newest": [*known.get("newest", []), attempt_of(event)][-MAX_ATTEMPTS:]}


def _place(event: WorkflowEvent) -> str:
    return f"{event.run_id}:{event.path}.{event.superstep}.{event.shard}"


def _past(one: Document) -> PastAttempt:
    return PastAttempt(
        run_id=RunId(one["run"]),
        number=one["number"],
        error_type=one["error_type"],
        message=one["message"],
        duration_s=one["duration_s"],
    )


def _by_count(errors: Iterable[Document]) -> list[Document]:
    return sorted(errors, key=lambda one: -one["count"])


def _error(one: Document) -> EnrichedError:
    return EnrichedError(
        error_type=one["error_type"],
        message=one["message"],
        count=one["count"],
        suggestion=suggestion(one["mended"], one["count"]),
    )


_LEARNT_FROM = {
    EventKind.EXECUTOR_COMPLETED: (("success", _success), ("failure", _mended), ("attempts", _attempts)),
    EventKind.EXECUTOR_FAILED: (("failure", _failure), ("attempts", _attempts)),
}
