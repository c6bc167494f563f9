"""Models that are files: scripts and recordings. For examples, demonstrations and tests, offline."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

import agentic.core.llm.errors as model_errors
from agentic.core.actors.own_code import OwnCodeError, find_own_file
from agentic.core.errors import AgenticError
from agentic.core.llm.adapter import LLMAdapter
from agentic.core.llm.errors import ModelError
from agentic.core.llm.messages import ChatMessage, ChatRole, ToolCall
from agentic.core.llm.requests import ModelRequest
from agentic.core.llm.scripted import FunctionModel, ScriptEndedError, ScriptLine
from agentic.core.llm.wrappers.replay import ReplayModel
from agentic.core.pipeline.expressions.suggestions import unknown_word
from agentic.core.reading.data_text import DataTextError, read_data
from agentic.core.types import JSONValue


class ScriptError(AgenticError, ValueError):
    """A file is not a script of a model."""


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    say: str = ""
    call: dict[str, dict[str, JSONValue]] | list[dict[str, dict[str, JSONValue]]] = {}
    answer: JSONValue = None
    error: str = ""

    @property
    def calls(self) -> list[tuple[str, dict[str, JSONValue]]]:
        """The calls of tools: name and arguments."""
        given = self.call if isinstance(self.call, list) else [self.call]
        return [pair for one in given for pair in one.items()]


@dataclass(frozen=True, slots=True)
class _Script:
    """Its replies, and the errors before each."""

    replies: tuple[_Line, ...]
    errors: Mapping[int, tuple[str, ...]]


def script_model(file: str) -> LLMAdapter:
    """Return the model ``scripted:FILE``; it replies with the lines of a YAML file.

    Each reply of the conversation is a line, from the first: so a conversation continues in another process.
    A line is a text, or a mapping: ``say`` is a text, ``call`` has calls of tools with their arguments,
    ``answer`` is structured output, ``error`` raises an error of models once in each process, by its
    ``failure_class``.

    Args:
        file: Below ``AGENTIC_MODULE_PATH``, or named by a spec that the user of this process has named.

    Raises:
        OwnCodeError: It does not exist, or may not be used here.
        ScriptError: It is not a script.
    """
    script = _read(file)
    name = f"scripted:{file.rpartition('/')[2]}"
    raised: Counter[int] = Counter()

    def reply(request: ModelRequest) -> ScriptLine:
        said = sum(1 for message in request.messages if message.role is ChatRole.ASSISTANT)
        errors = script.errors.get(said, ())
        if raised[said] < len(errors):
            raised[said] += 1
            return _error(errors[raised[said] - 1], name)
        if said >= len(script.replies):
            last = request.messages[-1].text if request.messages else ""
            raise ScriptEndedError(name, len(script.replies), last)
        return _message(script.replies[said], said)

    return FunctionModel(reply, name=name)


def replay_model(file: str) -> LLMAdapter:
    """Return the model ``replay:FILE``; it replies as recorded by :class:`~agentic.core.llm.ReplayModel`.

    Raises:
        OwnCodeError: The file does not exist, or may not be used here.
        ValueError: It is not a recording.
    """
    return ReplayModel(find_own_file(file), mode="replay")


def _read(file: str) -> _Script:
    path = find_own_file(file)
    try:
        data = read_data(path.read_text(encoding="utf-8")).data
    except (OSError, UnicodeDecodeError) as exc:
        raise OwnCodeError(f"{path} cannot be read ({type(exc).__name__})") from None
    except DataTextError as exc:
        raise ScriptError(f"{path} is not YAML: {exc}") from None
    if not isinstance(data, list) or not data:
        raise ScriptError(f"{path} is not a script: write a list of lines, such as '- say: Hello'")
    replies: list[_Line] = []
    errors: dict[int, tuple[str, ...]] = {}
    for number, given in enumerate(data, 1):
        line = _line(given, f"{path}, line {number} of the script")
        if line.error:
            errors[len(replies)] = (*errors.get(len(replies), ()), line.error)
        else:
            replies.append(line)
    return _Script(tuple(replies), errors)


def _line(given: object, place: str) -> _Line:
    if isinstance(given, str):
        return _Line(say=given)
    try:
        line = _Line.model_validate(given)
    except ValidationError as exc:
        fault = exc.errors(include_url=False)[0]
        key = str(fault["loc"][-1]) if fault["loc"] else ""
        message = unknown_word("key", key, _Line.model_fields) if key else fault["msg"]
        raise ScriptError(f"{place}: {message}") from None
    if line.error and line.error not in _CLASSES:
        raise ScriptError(f"{place}: {unknown_word('error', line.error, _CLASSES)}")
    if not (line.error or line.say or line.calls or line.answer is not None):
        raise ScriptError(f"{place}: it says nothing; give say, call, answer or error")
    return line


def _message(line: _Line, number: int) -> ChatMessage:
    text = line.say if line.answer is None else json.dumps(line.answer, ensure_ascii=False)
    calls = [
        ToolCall(id=f"call_{number}_{index}", name=name, arguments=arguments)
        for index, (name, arguments) in enumerate(line.calls)
    ]
    return ChatMessage.assistant(text, *calls)


def _error(failure_class: str, model: str) -> ModelError:
    return _CLASSES[failure_class](model, "the script says so")


def _error_classes() -> dict[str, type[ModelError]]:
    found: list[Any] = [one for one in vars(model_errors).values() if isinstance(one, type)]
    return {one.failure_class: one for one in found if issubclass(one, ModelError) and one is not ModelError}


_CLASSES = _error_classes()
