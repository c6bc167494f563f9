"""The record of a decision: its content, subject, time, author and reason."""

from __future__ import annotations

import getpass
import json
import os
import time
from collections.abc import Mapping
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.ids import new_id
from agentic.core.masking import mask_known, masked_data
from agentic.core.settings import safe_text
from agentic.core.types import JSONValue

ENGINE = "engine"
"""Name of the engine when it decides by the rules of a workflow."""

MAX_REASON_CHARS = 500
MAX_DETAIL_CHARS = 2_000
USER_VARIABLE = "AGENTIC_USER"


class DecisionKind(StrEnum):
    """Every kind of decision."""

    ROUTE_TAKEN = "route.taken"
    ATTEMPT_RETRIED = "attempt.retried"
    EXECUTOR_GIVEN_UP = "executor.given_up"
    MESSAGE_DROPPED = "message.dropped"
    FALLBACK_CHOSEN = "fallback.chosen"
    STEP_RERUN = "step.rerun"
    ITEM_GIVEN_UP = "item.given_up"
    CALL_LEFT = "call.left"
    REQUEST_RAISED = "request.raised"
    REQUEST_ANSWERED = "request.answered"
    REQUEST_EXPIRED = "request.expired"
    REVIEW_REQUESTED = "review.requested"
    RUN_REFUSED = "run.refused"
    RUN_RESUMED = "run.resumed"
    RUN_FAILED = "run.failed"
    RUN_TIMED_OUT = "run.timed_out"
    RUN_DIVERGED = "run.diverged"
    RUN_CANCELLED = "run.cancelled"
    CANCEL_REQUESTED = "cancel.requested"
    RETRY_REQUESTED = "retry.requested"
    RUN_PAUSED = "run.paused"
    RUN_UNPAUSED = "run.unpaused"
    RUN_PRUNED = "run.pruned"
    LETTERS_RETRIED = "letters.retried"
    PAGES_RETRIED = "pages.retried"
    PAGES_REREAD = "pages.reread"
    LETTERS_DROPPED = "letters.dropped"
    SCHEDULE_FIRED = "schedule.fired"
    SCHEDULE_QUEUED = "schedule.queued"
    SCHEDULE_SKIPPED = "schedule.skipped"
    SCHEDULE_CREATED = "schedule.created"
    SCHEDULE_CHANGED = "schedule.changed"
    SCHEDULE_REMOVED = "schedule.removed"
    SCHEDULE_PAUSED = "schedule.paused"
    SCHEDULE_RESUMED = "schedule.resumed"
    NOTIFICATION_CREATED = "notification.created"
    NOTIFICATION_CHANGED = "notification.changed"
    NOTIFICATION_REMOVED = "notification.removed"
    PROJECT_CREATED = "project.created"
    PROJECT_CHANGED = "project.changed"
    PROJECT_REMOVED = "project.removed"
    AGENT_CREATED = "agent.created"
    AGENT_CHANGED = "agent.changed"
    AGENT_REMOVED = "agent.removed"
    AGENT_DISABLED = "agent.disabled"
    AGENT_ENABLED = "agent.enabled"
    EXECUTION_REMOVED = "execution.removed"
    PIPELINE_STORED = "pipeline.stored"
    REPAIR_PROPOSED = "repair.proposed"
    REPAIR_APPLIED = "repair.applied"
    REPAIR_REJECTED = "repair.rejected"
    REPAIR_ROLLED_BACK = "repair.rolled_back"
    SECRET_CREATED = "secret.created"  # noqa: S105  # the name of a kind
    SECRET_CHANGED = "secret.changed"  # noqa: S105  # the name of a kind
    SECRET_REMOVED = "secret.removed"  # noqa: S105  # the name of a kind
    SECRETS_ROTATED = "secrets.rotated"


class Decision(BaseModel):
    """One decision. It never changes and contains no secret.

    Attributes:
        id: Unique in its project. A decision read from an event has the event's id.
        time: Seconds since the epoch.
        kind: The kind of decision.
        subject: Its subject: the id of a run, or the name of a schedule, an agent, a secret.
        who: A user, ``schedule:NAME``, the author of an answer, or ``engine``.
        what: The decision, in words.
        reason: Why, in words; empty if unknown.
        details: Facts, as JSON.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(default_factory=new_id)
    time: float = Field(default_factory=time.time)
    kind: DecisionKind
    subject: str
    who: str
    what: str
    reason: str = ""
    details: dict[str, JSONValue] = Field(default_factory=dict)

    @property
    def run_id(self) -> str:
        """The outermost run, if the decision is about a run; otherwise the subject."""
        return self.subject.partition("/")[0]


def decided(
    kind: DecisionKind, subject: str, what: str, *, reason: str = "", who: str = "", **details: JSONValue
) -> Decision:
    """Return a new decision.

    Args:
        kind: The kind of decision.
        subject: Its subject.
        what: The decision, in words.
        reason: Why, in words.
        who: Its author; the user of this process if omitted.
        details: Facts, without secrets.
    """
    return Decision(
        kind=kind,
        subject=subject,
        who=who or acting_user(),
        what=shown_reason(what),
        reason=shown_reason(reason),
        details=shown_details(details),
    )


def acting_user() -> str:
    """Return the author of decisions in this process: ``AGENTIC_USER``, or the operating system's user."""
    given = os.environ.get(USER_VARIABLE, "").strip()
    if given:
        return given
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container may run as a user without a name; KeyError until Python 3.13
        return f"uid {os.getuid()}"


def shown_details(details: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    """Return the facts that are set; a long one is replaced by its length."""
    told = masked_data(details)
    return {name: _short(value) for name, value in told.items() if value is not None}


def shown_reason(text: str) -> str:
    """Return a reason as a short line, without the secrets of URLs or secrets that this process has read."""
    line = " ".join(mask_known(safe_text(text)).split())
    return line if len(line) <= MAX_REASON_CHARS else f"{line[: MAX_REASON_CHARS - 3]}..."


def _short(value: JSONValue) -> JSONValue:
    length = len(json.dumps(value))
    return value if length <= MAX_DETAIL_CHARS else {"omitted_chars": length}
