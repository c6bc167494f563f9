"""Shows the answer of an agent as it is made: text at the width of the terminal, a line for each call."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from agentic.core.agents.requests import PendingRequest, RequestKind
from agentic.core.agents.responses import AgentChunk, AgentResponse, ChunkKind
from agentic.core.cli import console, err_console
from agentic.core.masking import mask_known
from agentic.core.terminal import harmless
from agentic.core.types import JSONValue


class WrappedText:
    """Writes pieces of a text, and breaks lines between words.

    Args:
        out: Where to write.
        width: Longest line in cells; None leaves lines as they are.
    """

    def __init__(self, out: TextIO, width: int | None) -> None:
        self._out = out
        self._width = width
        self._column = 0
        self._gap = ""
        self._word = ""

    def add(self, text: str) -> None:
        """Write a piece; its last word waits for the rest of the word."""
        for char in harmless(text):
            if char == "\n":
                self._end_word()
                self._out.write("\n")
                self._column, self._gap = 0, ""
            elif char == " ":
                self._end_word()
                self._gap += char
            else:
                self._word += char
        if self._width is None:
            self._end_word()
        self._out.flush()

    def end(self) -> None:
        """Write the last word, and end the line."""
        self._end_word()
        if self._column:
            self._out.write("\n")
        self._column, self._gap = 0, ""
        self._out.flush()

    def _end_word(self) -> None:
        if not self._word:
            return
        size = cell_len(self._gap) + cell_len(self._word)
        if self._width is not None and self._column and self._column + size > self._width:
            self._out.write("\n")
            self._column, self._gap = 0, ""
        self._out.write(f"{self._gap}{self._word}")
        self._column += cell_len(self._gap) + cell_len(self._word)
        self._gap = self._word = ""


class ForPeople:
    """Shows pieces to a person: the answer on standard output, all else on standard error."""

    def __init__(self) -> None:
        self._text = WrappedText(sys.stdout, console.width if console.is_terminal else None)

    def show(self, piece: AgentChunk) -> None:
        """Show a piece."""
        match piece.kind:
            case ChunkKind.TEXT if not piece.path:
                self._text.add(piece.text)
            case ChunkKind.RESTARTED:
                self._note("the model begins its reply again")
            case ChunkKind.MESSAGE if not piece.path:
                self._text.end()
            case ChunkKind.TOOL_STARTED if piece.tool_call is not None:
                self._note(call_text(piece.tool_call.name, piece.tool_call.arguments), piece)
            case ChunkKind.TOOL_FINISHED if piece.tool_result is not None:
                content = piece.tool_result.content
                shown = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
                self._note(f"{'failed:' if piece.tool_result.is_error else '->'} {shown}", piece)
            case ChunkKind.FINISHED if piece.response is not None:
                self._finish(piece.response)
            case _:
                pass

    def end(self) -> None:
        """End a line that an interruption has left open."""
        self._text.end()

    def _note(self, words: str, piece: AgentChunk | None = None) -> None:
        self._text.end()
        depth = 0 if piece is None else len(piece.path)
        line = " ".join(f"{'  ' * depth}  {mask_known(words)}".rstrip().split("\n"))
        room = err_console.width if err_console.is_terminal else 10_000
        if cell_len(line) > room:
            line = f"{set_cell_size(line, room - 1).rstrip()}…"
        err_console.print(Text(harmless(line), style="dim"), soft_wrap=True)

    def _finish(self, response: AgentResponse[Any]) -> None:
        self._text.end()
        if response.reason:
            line = f"stopped without an answer: {response.reason}"
            err_console.print(Text(harmless(line), style="yellow"), soft_wrap=True)


class ForPrograms:
    """Writes each piece as a line of JSON."""

    def show(self, piece: AgentChunk) -> None:
        """Write a piece."""
        if (facts := _facts_of(piece)) is not None:
            sys.stdout.write(f"{json.dumps({'event': str(piece.kind), **facts})}\n")
            sys.stdout.flush()

    def end(self) -> None:
        """Do nothing: each line is whole."""


def call_text(name: str, arguments: Mapping[str, JSONValue]) -> str:
    """Return a call as people write it: ``refund(number=7)``."""
    shown = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in arguments.items())
    return f"{name}({', '.join(shown)})"


def question_of(request: PendingRequest) -> str:
    """Return the question of a request, for a person."""
    if request.kind is RequestKind.APPROVAL and request.call is not None:
        return f"May {call_text(request.call.name, request.call.arguments)} be called?"
    return request.question or json.dumps(request.data, ensure_ascii=False)


def _facts_of(piece: AgentChunk) -> dict[str, JSONValue] | None:
    path: dict[str, JSONValue] = {"path": list(piece.path)} if piece.path else {}
    facts: dict[str, JSONValue] | None = None
    match piece.kind:
        case ChunkKind.TEXT | ChunkKind.THINKING:
            facts = {"text": piece.text}
        case ChunkKind.RESTARTED | ChunkKind.STARTED:
            facts = {"agent": piece.author_name}
        case ChunkKind.TOOL_STARTED if (call := piece.tool_call) is not None:
            facts = {"tool": call.name, "call": call.id, "arguments": call.arguments}
        case ChunkKind.TOOL_FINISHED if (result := piece.tool_result) is not None:
            facts = {"tool": result.name, "call": result.call_id, "result": result.content}
            facts["is_error"] = result.is_error
        case ChunkKind.REQUEST if (asked := piece.request) is not None:
            facts = {"id": asked.id, "kind": str(asked.kind), "question": question_of(asked)}
        case ChunkKind.FINISHED if piece.response is not None:
            facts = _answer(piece.response)
        case _:
            pass
    return None if facts is None else {**path, **facts}


def _answer(response: AgentResponse[Any]) -> dict[str, JSONValue]:
    pending: list[JSONValue] = [one.id for one in response.pending]
    return {
        "thread": response.thread_id,
        "turn": response.turn,
        "status": str(response.status),
        "text": response.text,
        "output": response.data,
        "reason": response.reason,
        "pending": pending,
        "usage": response.usage.model_dump(mode="json"),
    }
