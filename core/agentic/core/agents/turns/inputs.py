"""The input of a turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from agentic.core.agents.errors import AnswerMismatchError, ThreadBusyError
from agentic.core.agents.requests import AgentInput, PendingRequest, RequestAnswer
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.ids import new_id
from agentic.core.llm.messages import ChatMessage
from agentic.core.types import JSONValue

_INPUT = "input."


def parted(given: AgentInput) -> tuple[tuple[ChatMessage, ...], tuple[RequestAnswer, ...]]:
    """Return the messages and the answers of an input.

    Raises:
        TypeError: It has something else.
    """
    is_one = isinstance(given, (str, ChatMessage, RequestAnswer)) or not isinstance(given, Iterable)
    parts = [given] if is_one or isinstance(given, (bytes, Mapping)) else list(given)
    said = [ChatMessage.user(part) if isinstance(part, str) else part for part in parts]
    messages = tuple(part for part in said if isinstance(part, ChatMessage))
    answers = tuple(part for part in said if isinstance(part, RequestAnswer))
    if len(messages) + len(answers) < len(said):
        odd = next(part for part in said if not isinstance(part, (ChatMessage, RequestAnswer)))
        raise TypeError(
            f"an agent takes texts, ChatMessage and RequestAnswer, not {type(odd).__name__}: {odd!r:.100}; "
            "ChatMessage.user(TEXT) makes a message"
        )
    return messages, answers


def turn_of_key(thread: AgentThread, key: str) -> str:
    """Return the turn that has the input with this key: its own, or an open one that it was added to."""
    found = thread.notes.get(f"{_INPUT}{key}")
    return found if isinstance(found, str) else key


def key_note(key: str | None, turn_id: str) -> dict[str, JSONValue]:
    """Return the note of a thread that an input was added to a turn with another id than its key."""
    return {} if key in (None, turn_id) else {f"{_INPUT}{key}": turn_id}


def in_time(
    answers: Sequence[RequestAnswer], pending: Sequence[PendingRequest], now: float
) -> tuple[RequestAnswer, ...]:
    """Return answers, with those to expired requests as rejections.

    Args:
        answers: Of the input.
        pending: The requests.
        now: Seconds since the epoch.
    """
    late = {one.id for one in pending if one.expires_at is not None and one.expires_at <= now}
    refusal = {"approved": False, "reason": "the answer came after the request had expired"}
    return tuple(one.model_copy(update=refusal) if one.request_id in late else one for one in answers)


def check_input(
    thread: AgentThread,
    messages: Sequence[ChatMessage],
    answers: Sequence[RequestAnswer],
    key: str | None = None,
) -> str:
    """Return the id of the turn that an input begins or continues.

    Args:
        thread: The conversation.
        messages: Of the input.
        answers: Of the input.
        key: The turn's id, if the caller has one.

    Raises:
        AnswerMismatchError: An answer belongs to no open request, or is the second one to it.
        ThreadBusyError: The thread waits for answers.
    """
    last = thread.turn
    if key is not None and (known := thread.find_turn(key)):
        last, messages = known, ()
    is_open = last is not None and last.ended is None
    open_ids = [request.id for request in last.pending] if last is not None and is_open else []
    for answer in answers:
        if answer.request_id not in open_ids:
            raise AnswerMismatchError(answer.request_id, open_ids)
        open_ids.remove(answer.request_id)
    if messages and open_ids:
        raise ThreadBusyError(thread.id, open_ids)
    return last.id if last and (is_open or last.id == key) else key or new_id()
