"""Accounts of a NATS server: one for each project, so that no project can access the data of another.

Each account has a *worker*, which may do everything except delete the audit trail, and an *observer*, which
may read and listen. Both are users with an nkey: the server knows only the public key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from agentic.core.bus.subjects import bucket_name

_KEPT = "AGENTIC_AUDIT"
_WORKER_MAY_NOT = (f"$JS.API.STREAM.DELETE.{_KEPT}", f"$JS.API.STREAM.UPDATE.{_KEPT}")
_OBSERVER_MAY = (
    "$JS.API.INFO",
    "$JS.API.STREAM.INFO.*",
    "$JS.API.STREAM.LIST",
    "$JS.API.STREAM.NAMES",
    "$JS.API.STREAM.MSG.GET.*",
    "$JS.API.DIRECT.GET.>",
    # Push consumers, which end with their listener; following a stream needs them.
    "$JS.API.CONSUMER.CREATE.>",
    "$JS.API.CONSUMER.INFO.>",
    "$JS.API.CONSUMER.DELETE.>",
    "$JS.FC.>",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectAccount:
    """The account of a project, with the public keys of its two users."""

    project: str
    worker: str
    observer: str


def accounts_config(accounts: Iterable[ProjectAccount]) -> str:
    """Return the part of a server's configuration for these accounts, one setting per line."""
    lines = ["# Made by `agentic nats accounts`; include it at the top of the server's configuration.", ""]
    lines += ["accounts {"]
    for account in accounts:
        lines += [
            f"  {json.dumps(bucket_name('AGENTIC', account.project))} {{",
            "    jetstream: enabled",
            "    users = [",
            *_user(account.worker, {"publish": {"deny": _WORKER_MAY_NOT}}),
            *_user(account.observer, {"publish": {"allow": _OBSERVER_MAY}, "subscribe": {"allow": (">",)}}),
            "    ]",
            "  }",
        ]
    return "\n".join([*lines, "}", ""])


def _user(key: str, permissions: object) -> list[str]:
    return [
        "      {",
        f"        nkey: {key}",
        f"        permissions: {json.dumps(permissions)}",
        "      }",
    ]
