"""Questions of runs: sent on ``agentic.request.{run}.{request}``, answered to the inbox of the question.

The answering side waits for a verdict: another answer may have been first, or the type may be wrong. A
question is repeated every half minute until it is answered, for later listeners.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress

from pydantic import BaseModel, ConfigDict, ValidationError

from agentic.core.bus.errors import AnswerRefusedError
from agentic.core.bus.listening import Listener, Message
from agentic.core.bus.port import Bus
from agentic.core.bus.requests import request
from agentic.core.bus.subjects import token
from agentic.core.errors import AgenticError
from agentic.core.logging import get_logger
from agentic.core.masking import mask_known
from agentic.core.types import JSONValue

log = get_logger(__name__)

AGAIN_S = 30.0
"""Repeat interval of a delivered question; undelivered ones are repeated sooner."""

UNHEARD_S = 2.0

LATE_S = 1.0
"""How long a late answer still gets a reply; after that there is no subscriber."""

Take = Callable[[JSONValue, str], Awaitable[None]]
"""Receives an answer and its author; raises an :class:`AgenticError` if it is not accepted."""


class Question(BaseModel):
    """A question of a run.

    Attributes:
        project: The project of the run.
        run: The outermost run.
        request: Unique over all runs.
        path: The executor that asks.
        question: The question, as JSON.
        response_type: Name of the required answer type.
        deadline: Seconds since the epoch, after which no run waits for an answer; None for never.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")  # a later version may add fields

    project: str
    run: str
    request: str
    path: str
    question: JSONValue
    response_type: str
    deadline: float | None = None

    @property
    def subject(self) -> str:
        """The subject it is sent to."""
        return f"agentic.request.{token(self.project, self.run)}.{token(self.request)}"


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    answer: JSONValue
    answered_by: str = ""


class _Verdict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    error: str | None = None


async def ask(bus: Bus, question: Question, take: Take) -> None:
    """Ask until an answer is accepted; cancel it when the answer is no longer needed.

    Args:
        bus: The bus.
        question: The question.
        take: Called with each answer in turn, until it accepts one.
    """
    inbox = bus.inbox()
    payload = question.model_dump_json().encode()
    async with bus.listen(inbox) as answers:
        try:
            wait_s = 0.0
            while True:
                try:
                    async with asyncio.timeout(wait_s):
                        message = await answers.next()
                except TimeoutError:
                    await bus.send(question.subject, payload, reply=inbox)
                    wait_s = AGAIN_S
                    continue
                if message.nobody_listens:
                    wait_s = UNHEARD_S
                elif await _is_taken(bus, question, message, take):
                    return await _refuse_late(bus, question, answers)
        finally:
            for message in answers.take_rest():
                await _tell(bus, question, message, f"{question.request!r} is closed")


async def _refuse_late(bus: Bus, question: Question, answers: Listener) -> None:
    """Refuse answers that came at the same time, so that their senders do not wait."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LATE_S):
            while True:
                message = await answers.next()
                await _tell(bus, question, message, f"{question.request!r} is answered already")


async def _is_taken(bus: Bus, question: Question, message: Message, take: Take) -> bool:
    fault: str | None = None
    try:
        given = _Answer.model_validate_json(message.payload)
        await take(given.answer, given.answered_by)
    except ValidationError as exc:
        fault = (
            "it is not a valid answer: "
            f"{'; '.join(error['msg'] for error in exc.errors(include_input=False))}"
        )
    except AgenticError as exc:
        fault = mask_known(str(exc))
    await _tell(bus, question, message, fault)
    return fault is None


async def _tell(bus: Bus, question: Question, answer: Message, fault: str | None) -> None:
    """Send the verdict to the author of an answer."""
    if fault is not None:
        log.info("answer.refused", request=question.request, reason=fault)
    if answer.reply:
        await bus.send(answer.reply, _Verdict(error=fault).model_dump_json().encode())


class OpenQuestion:
    """A received question, and the way to answer it.

    Attributes:
        question: The question.
    """

    def __init__(self, bus: Bus, question: Question, inbox: str) -> None:
        self.question = question
        self._bus = bus
        self._inbox = inbox

    async def answer(self, value: JSONValue, by: str, *, timeout_s: float = 10.0) -> None:
        """Answer, and wait for the verdict.

        Args:
            value: JSON of the required type.
            by: The author of the answer, for the record.
            timeout_s: Seconds to wait for the verdict.

        Raises:
            AnswerRefusedError: It is not accepted: another answer was first, or the type is wrong.
            NobodyListensError: The process that asked is gone; another will ask again if it is still open.
            NoAnswerError: It may or may not be accepted.
            BusUnavailableError: The server cannot be used.
        """
        payload = _Answer(answer=value, answered_by=by).model_dump_json().encode()
        told = await request(self._bus, self._inbox, payload, timeout_s=timeout_s)
        if (fault := _Verdict.model_validate_json(told).error) is not None:
            raise AnswerRefusedError(self.question.request, fault)


@asynccontextmanager
async def open_questions(
    bus: Bus, *, project: str | None = None
) -> AsyncGenerator[AsyncGenerator[OpenQuestion, None], None]:
    """Listen to questions of runs until the block ends; repeated questions come again.

    ::

        async with open_questions(bus, project="shop") as questions:
            async for asked in questions:
                await asked.answer({"approved": True}, by="robot")

    Args:
        bus: The bus.
        project: Only from this project.
    """
    async with (
        bus.listen("agentic.request.*.*") as messages,
        aclosing(_questions(bus, messages, project)) as questions,
    ):
        yield questions


async def _questions(bus: Bus, messages: Listener, project: str | None) -> AsyncGenerator[OpenQuestion, None]:
    async for message in messages:
        try:
            question = Question.model_validate_json(message.payload)
        except ValidationError as exc:
            log.warning("question.unreadable", subject=message.subject, fault_count=exc.error_count())
            continue
        is_ours = message.subject == question.subject and project in {None, question.project}
        if message.reply and is_ours:
            yield OpenQuestion(bus, question, message.reply)
