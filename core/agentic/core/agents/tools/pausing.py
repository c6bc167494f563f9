"""Calls that pause: a tool asks before it has its result, and continues with the answers in any process."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.agents.requests import PendingRequest, RequestAnswer, RequestKind, question_id
from agentic.core.llm.messages import ToolCall
from agentic.core.records import record
from agentic.core.types import JSONValue

MAX_PAUSES = 100
"""A call that pauses more often fails: a server could ask for ever."""


class ToolQuestion(BaseModel):
    """A question of a running call."""

    __wire_name__ = "agentic.agents.ToolQuestion"

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str = Field(description="Names it among the questions of the pause.")
    kind: RequestKind = RequestKind.INFO
    question: str = Field(default="", description="For the person who answers.")
    data: JSONValue = Field(default=None, description="For programs that answer, such as a JSON Schema.")
    call: ToolCall | None = Field(
        default=None, description="The call inside of this one that waits for an approval."
    )


class ToolPause(BaseModel):
    """Returned by a tool instead of a result. It is kept in the thread, or in the run of the graph.

    When all questions are answered, the tool is called again, with the same arguments and with this pause and
    the answers in its :class:`~agentic.core.agents.ToolContext`. A pause without questions is a savepoint:
    the tool is called again at once, and a process that dies continues from there.
    """

    __wire_name__ = "agentic.agents.ToolPause"

    model_config = ConfigDict(extra="forbid", frozen=True)

    state: JSONValue = Field(default=None, description="For the tool: everything that it needs to continue.")
    questions: tuple[ToolQuestion, ...] = ()


class KeptPause(BaseModel):
    """A pause in the log of a thread."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    number: int = Field(description="The number of the pause in the call, from 1.")
    pause: ToolPause


@record
class Continued:
    """What a call continues with.

    Attributes:
        pause: The pause.
        answers: The key of a question -> its answer. An expired question has a rejection.
    """

    pause: ToolPause
    answers: dict[str, RequestAnswer]


def requests_of(
    turn_id: str, call: ToolCall, version: str, kept: KeptPause, now: float, wait_s: float | None
) -> dict[str, PendingRequest]:
    """Return the requests of a pause, by the key of the question.

    Args:
        turn_id: The turn.
        call: The call that pauses.
        version: Of its tool.
        kept: The pause.
        now: Seconds since the epoch.
        wait_s: Seconds after which a request expires.
    """
    return {
        one.key: PendingRequest(
            id=question_id(turn_id, call, version, f"{kept.number}.{one.key}"),
            kind=one.kind,
            call=one.call or call,
            asked_by=call.id,
            data=one.data,
            question=one.question,
            raised_at=now,
            expires_at=None if wait_s is None else now + wait_s,
        )
        for one in kept.pause.questions
    }


def answer_in_time(
    request: PendingRequest, answers: dict[str, RequestAnswer] | None, now: float
) -> RequestAnswer | None:
    """Return the answer to a request: a rejection after its end, and None while it is open."""
    if (given := (answers or {}).get(request.id)) is not None:
        return given
    if request.expires_at is None or request.expires_at > now:
        return None
    return RequestAnswer(request_id=request.id, approved=False, reason="no person answered in time")
