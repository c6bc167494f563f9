"""``agentic chat``: speak to an agent; its answer is shown as it is made."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer
from rich.text import Text

from agentic.core.agents import AgentStoppedError
from agentic.core.agents.requests import AgentInput, PendingRequest, RequestAnswer, RequestKind
from agentic.core.agents.responses import AgentResponse, ResponseStatus
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.audit import acting_user
from agentic.core.cli import err_console
from agentic.core.cli.main import INTERRUPTED
from agentic.core.errors import AgenticError
from agentic.core.masking import mask_known
from agentic.core.terminal import harmless
from agentic.executors.commands.shared.completing import agent_names
from agentic.executors.commands.shared.options import InProject, OptionError
from agentic.plugins.chat.commands.showing import ForPeople, ForPrograms, question_of
from agentic.plugins.chat.commands.speaking import Speaker, opened_speaker

YES = frozenset({"y", "yes"})
NO = frozenset({"n", "no"})
SHOWN = 8
"""Characters of a request's id; ``--answer`` takes the beginning of one."""


def chat(  # noqa: PLR0913  # one parameter for each option
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="An agent of the platform chat, or a file.", autocompletion=agent_names
        ),
    ],
    message: Annotated[
        str | None, typer.Argument(help="The message. Default: a conversation, until Ctrl-D.")
    ] = None,
    *,
    thread: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Continue this thread (id or prefix). Default: your newest one."),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Begin a new thread.")] = False,
    user: Annotated[
        str, typer.Option(metavar="ID", help="The person who speaks. Default: your user name.")
    ] = "",
    answer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID=ANSWER", help="Answer a request: yes, 'no REASON', or the text. Repeatable."
        ),
    ] = None,
    project: InProject = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print each event as a line of JSON.")] = False,
) -> None:
    """Speak to an agent. Its answer is shown as it is made; the thread is kept."""
    if new and thread is not None:
        raise OptionError("--new begins a thread, and --thread continues one; give one of them")
    answers = dict(map(_pair, answer or ()))
    with opened_speaker(name, project, user or acting_user()) as speaker, asyncio.Runner() as runner:
        talk = Talk(speaker, runner, answers, as_json=as_json)
        try:
            talk.begin(thread, is_new=new)
            talk.go_through([message] if message is not None else None)
        finally:
            talk.close()


def _pair(given: str) -> tuple[str, str]:
    request_id, mark, answer = given.partition("=")
    if not mark or not request_id:
        raise OptionError("--answer takes ID=ANSWER: yes, 'no REASON', or the text of an answer")
    return request_id, answer


@dataclass(slots=True)
class Talk:
    """A conversation of a command.

    Args:
        speaker: The agent, and the person.
        runner: Runs each turn, on one event loop; Ctrl-C cancels the turn.
        answers: Request -> answer, from the command line.
        as_json: For a program.
    """

    speaker: Speaker
    runner: asyncio.Runner
    answers: Mapping[str, str]
    as_json: bool
    thread: AgentThread = field(init=False)
    shown: ForPeople | ForPrograms = field(init=False)

    def begin(self, thread_id: str | None, *, is_new: bool) -> None:
        """Find the thread."""
        self.shown = ForPrograms() if self.as_json else ForPeople()
        self.thread = self.runner.run(self.speaker.find_thread(thread_id, is_new=is_new))
        self.speaker.check_free(self.thread)
        if self.as_json:
            return
        if self.thread.entries and thread_id is None:
            self._tell(f"continues thread {self.thread.id}; --new begins another one", style="dim")
        if self._is_open and not self.thread.pending:
            self._tell("the last answer was interrupted; an empty line continues it", style="dim")

    def go_through(self, messages: Iterable[str] | None) -> None:
        """Say the messages, or those that a person types."""
        is_talk = messages is None
        for given in self._inputs(_typed() if messages is None else messages):
            try:
                if not self._turn(given):
                    return
            except KeyboardInterrupt:
                self._interrupted()
                if not is_talk:
                    raise typer.Exit(INTERRUPTED) from None
            except AgentStoppedError:
                if not is_talk:
                    raise typer.Exit(1) from None
            except AgenticError as exc:
                if not is_talk:
                    raise
                self.shown.end()
                self._tell(str(exc), style="red")
                self._reload()

    def close(self) -> None:
        """Close connections, and say how to continue."""
        with suppress(Exception):  # the answer was shown
            self.runner.run(self.speaker.aclose())
        thread = getattr(self, "thread", None)
        if thread is not None and thread.entries and not self.as_json:
            line = (
                f"thread {thread.id}; continue: agentic chat {self.speaker.given} --thread {thread.id[:12]}"
            )
            self._tell(line, style="dim")

    def _inputs(self, messages: Iterable[str]) -> Iterator[AgentInput]:
        """Yield nothing first if the thread waits for answers, then the messages."""
        if self.thread.pending:
            yield ()
        for message in messages:
            if message.strip():
                yield message
            elif self._is_open:
                yield ()

    @property
    def _is_open(self) -> bool:
        """Whether the last answer was interrupted."""
        return self.thread.turn is not None and self.thread.turn.ended is None

    def _turn(self, given: AgentInput) -> bool:
        """Take a turn, with the answers of the person; return whether it has ended."""
        while True:
            if pending := self.thread.pending:
                answers = self._asked(pending)
                if not answers:
                    return False
                response = self.runner.run(self._speak(answers))
            else:
                response = self.runner.run(self._speak(given))
                given = ()
            if response.status is ResponseStatus.STOPPED:
                raise AgentStoppedError(self.speaker.agent.name, response)
            if response.is_complete:
                return True

    async def _speak(self, given: AgentInput | Sequence[RequestAnswer]) -> AgentResponse[Any]:
        async with aclosing(self.speaker.speak(given, self.thread)) as pieces:  # type: ignore[type-var]  # a generator
            async for piece in pieces:
                self.shown.show(piece)
                if piece.done and piece.response is not None:
                    return piece.response
        raise ValueError("the answer ended without its last piece")

    def _asked(self, pending: Sequence[PendingRequest]) -> list[RequestAnswer]:
        """Return the answers of the person; none if they end the input, or do not exist."""
        found: list[RequestAnswer] = []
        for request in pending:
            given = next((text for name, text in self.answers.items() if request.id.startswith(name)), None)
            if given is None and not self.as_json:
                given = self._read(request)
            if given is not None:
                found.append(_answer(request, given))
        if len(found) < len(pending):
            self._tell_open(pending[len(found) :])
        return found

    def _read(self, request: PendingRequest) -> str | None:
        self._tell(question_of(request), style="bold")
        is_approval = request.kind is RequestKind.APPROVAL
        while (line := _line("y, n or n REASON: " if is_approval else "answer: ")) is not None:
            if not is_approval or line.partition(" ")[0].lower() in YES | NO:
                return line
        return None

    def _tell_open(self, pending: Sequence[PendingRequest]) -> None:
        if not self.as_json:
            ids = " ".join(f"--answer {one.id[:SHOWN]}=..." for one in pending)
            command = f"agentic chat {self.speaker.given} --thread {self.thread.id[:12]} {ids}"
            self._tell(f"the agent waits for an answer; give it later: {command}", style="yellow")

    def _interrupted(self) -> None:
        self.shown.end()
        if not self.as_json:
            self._tell("stopped; the thread is kept", style="yellow")
        self._reload()

    def _reload(self) -> None:
        """Read the thread again: an interrupted turn may have stored more than this process has seen."""
        known = self.thread
        self.thread = self.runner.run(_reloaded(self.speaker, known))

    def _tell(self, line: str, style: str) -> None:
        err_console.print(Text(harmless(mask_known(line)), style=style), soft_wrap=True)


async def _reloaded(speaker: Speaker, thread: AgentThread) -> AgentThread:
    from agentic.core.agents import ThreadNotFoundError

    try:
        return await AgentThread.load(thread.id, speaker.store)
    except ThreadNotFoundError:  # it was stopped before its first entry
        return speaker.agent.new_thread(user_id=speaker.user_id)


def _answer(request: PendingRequest, given: str) -> RequestAnswer:
    by = acting_user()
    if request.kind is not RequestKind.APPROVAL:
        is_given = bool(given.strip()) or not request.asked_by  # nothing declines a question of a call
        return RequestAnswer(request_id=request.id, approved=is_given, result=given, answered_by=by)
    word, _, reason = given.strip().partition(" ")
    if word.lower() not in YES | NO:
        raise OptionError(f"{given!r} does not answer an approval; write yes, or 'no REASON'")
    return RequestAnswer(
        request_id=request.id, approved=word.lower() in YES, reason=reason.strip(), answered_by=by
    )


def _typed() -> Iterator[str]:
    """Yield the lines that a person types, until the end of input; Ctrl-C there ends it, too."""
    with suppress(KeyboardInterrupt):
        while (line := _line("> ")) is not None:
            yield line


def _line(prompt: str) -> str | None:
    """Return a line of standard input; None at its end."""
    if sys.stdin is None:
        return None
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        return line.rstrip("\n") if line else None
    try:
        sys.stderr.write(prompt)
        sys.stderr.flush()
        return input()
    except EOFError:
        sys.stderr.write("\n")
        return None
