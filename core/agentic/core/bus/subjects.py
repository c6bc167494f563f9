"""Names on the bus: the subjects of events, and how ids become part of them.

A token is one word of a NATS subject and of a key in a NATS bucket. Ids may be any text, so every character
outside ``A-Z a-z 0-9 _ -`` becomes ``=XX`` for each of its UTF-8 bytes, and parts are joined with ``/``,
which both allow: project ``shop``, run ``r.1`` and path ``impl/compile`` give ``shop/r=2E1/impl/compile``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from agentic.core.graph import EventKind, WorkflowEvent

_ESCAPED = re.compile(rb"[^A-Za-z0-9_-]")
_NOT_IN_BUCKETS = re.compile(rb"[^A-Za-z0-9-]")
_LEGAL = re.compile(r"(?:[A-Za-z0-9_-]|=[0-9A-F]{2}|/)+")

EVENT_SUBJECTS = (
    "agentic.workflow.>",
    "agentic.executor.>",
    "agentic.edge.>",
    "agentic.agent.>",
    "agentic.orchestrator.>",
    "agentic.validator.>",
)
"""All subjects in the stream of events."""

METRICS_SUBJECTS = ("agentic.metrics.>",)
"""All subjects in the stream of measurements."""

AUDIT_SUBJECTS = ("agentic.audit.>",)
"""All subjects in the stream of decisions."""

ROLES = ("agent", "orchestrator", "validator")
"""Kinds of executors besides workers: custom events whose type starts with one have their own subject."""

_TEMPLATES: Mapping[EventKind, str] = {
    EventKind.RUN_STARTED: "agentic.workflow.{run}.started",
    EventKind.RUN_RESUMED: "agentic.workflow.{run}.resumed",
    EventKind.RUN_WAITING_INPUT: "agentic.workflow.{run}.waiting_input",
    EventKind.RUN_COMPLETED: "agentic.workflow.{run}.completed",
    EventKind.RUN_FAILED: "agentic.workflow.{run}.error",
    EventKind.RUN_CANCELLED: "agentic.workflow.{run}.cancelled",
    EventKind.SUPERSTEP_STARTED: "agentic.workflow.{run}.superstep.started",
    EventKind.SUPERSTEP_COMPLETED: "agentic.workflow.{run}.superstep.completed",
    EventKind.OUTPUT: "agentic.workflow.{run}.output",
    EventKind.OUTPUT_PROVISIONAL: "agentic.workflow.{run}.output.provisional",
    EventKind.MESSAGE_UNDELIVERABLE: "agentic.workflow.{run}.message.undeliverable",
    EventKind.MESSAGE_SUPERSEDED: "agentic.workflow.{run}.message.superseded",
    EventKind.REQUEST_RAISED: "agentic.workflow.{run}.request.{request}",
    EventKind.REQUEST_ANSWERED: "agentic.workflow.{run}.request.{request}.answered",
    EventKind.REQUEST_EXPIRED: "agentic.workflow.{run}.request.{request}.expired",
    EventKind.CHECKPOINT_SAVED: "agentic.workflow.{run}.checkpoint.saved",
    EventKind.CHECKPOINT_FAILED: "agentic.workflow.{run}.checkpoint.failed",
    EventKind.FAN_IN_WAITING: "agentic.workflow.{run}.fan_in.waiting",
    EventKind.EXECUTOR_INVOKED: "agentic.executor.{node}.started",
    EventKind.EXECUTOR_COMPLETED: "agentic.executor.{node}.completed",
    EventKind.EXECUTOR_FAILED: "agentic.executor.{node}.failed",
    EventKind.EXECUTOR_PARKED: "agentic.executor.{node}.parked",
    EventKind.EXECUTOR_PROGRESS: "agentic.executor.{node}.progress",
    EventKind.EXECUTOR_LOG: "agentic.executor.{node}.log",
    EventKind.CUSTOM: "agentic.executor.{node}.event.{type}",
    EventKind.EDGE_ACTIVATED: "agentic.edge.{edge}.activated",
}


_BY_DATA = frozenset(kind for kind, text in _TEMPLATES.items() if re.search(r"\{(edge|request|type)\}", text))
"""Kinds whose subject contains more than the place of the event."""


@lru_cache(maxsize=4096)
def token(*parts: str) -> str:
    """Return ``parts`` as one word that is legal in subjects and keys; :func:`parse_token` reads it back.

    Raises:
        ValueError: No part, or only an empty one: a subject has no empty words.
    """
    word = "/".join(_escaped(part) for part in parts)
    if not word:
        raise ValueError("a token needs at least one part that is not empty")
    return word


def parse_token(word: str) -> tuple[str, ...]:
    """Return the parts of a token of :func:`token`.

    Raises:
        ValueError: ``word`` is not from :func:`token`.
    """
    if not _LEGAL.fullmatch(word):
        raise ValueError(f"{word!r} is not a token of this project")
    return tuple(
        unquote_to_bytes(part.replace("=", "%")).decode(errors="surrogatepass") for part in word.split("/")
    )


def subject_for(event: WorkflowEvent, project: str) -> str:
    """Return the subject ``event`` is published on."""
    if event.kind not in _BY_DATA:
        return _plain_subject(event.kind, project, event.run_id, event.path)
    run, node = _places(project, event.run_id, event.path)
    if event.kind is EventKind.CUSTOM:
        return _custom_subject(token(*node), str(event.data.get("type", "")))
    return _TEMPLATES[event.kind].format(
        run=token(*run),
        node=token(*node),
        edge=token(*node, str(event.data.get("edge", ""))),
        request=token(str(event.data.get("request") or "-")),
    )


def _custom_subject(node: str, name: str) -> str:
    """Return the subject of a custom event; all events of a role share a prefix."""
    role, dot, rest = name.partition(".")
    if role in ROLES and dot and rest.strip("."):
        return f"agentic.{role}.{node}.{_dotted(rest)}"
    return f"agentic.executor.{node}.event.{_dotted(name)}"


@lru_cache(maxsize=4096)
def _plain_subject(kind: EventKind, project: str, run_id: str, path: str) -> str:
    run, node = _places(project, run_id, path)
    return _TEMPLATES[kind].format(run=token(*run), node=token(*node))


def _places(project: str, run_id: str, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the parts of the tokens for a run, and for an executor in it."""
    run = (project, run_id)
    return run, (*run, *path.split("/")) if path else run


def bucket_name(name: str, project: str) -> str:
    """Return the name of a project's bucket, legal for all tools of NATS: ``NAME_project``.

    A bucket's name allows neither ``=`` nor ``/``, so illegal characters become ``_XX``, and so does ``_``:
    the project ``shop.nl`` has ``NAME_shop_2Enl``.
    """
    raw = project.encode(errors="surrogatepass")
    return f"{name}_" + _NOT_IN_BUCKETS.sub(lambda match: b"_%02X" % match[0][0], raw).decode("ascii")


def _escaped(part: str) -> str:
    # surrogatepass: a lone surrogate from a broken file name must not end a run.
    raw = part.encode(errors="surrogatepass")
    return _ESCAPED.sub(lambda match: b"=%02X" % match[0][0], raw).decode("ascii")


def _dotted(name: str) -> str:
    """Separate the words of a custom event's type by dots, so that readers can use wildcards."""
    return ".".join(_escaped(word) for word in name.split(".") if word) or "unnamed"
