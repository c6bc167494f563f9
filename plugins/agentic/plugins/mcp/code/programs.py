"""Running programs: calls of tools for them, and the state of one that waits."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentic.core.agents import (
    RequestAnswer,
    RequestKind,
    Tool,
    ToolContext,
    ToolError,
    ToolPause,
    ToolQuestion,
)
from agentic.core.agents.journal import PartJournal
from agentic.core.agents.tools.calling import as_json, call_tool
from agentic.core.agents.tools.pausing import MAX_PAUSES, Continued
from agentic.core.llm.messages import ToolCall, ToolResult
from agentic.core.llm.usage import TokenUsage
from agentic.core.types import JSONValue
from agentic.plugins.mcp.code.interpreter import Interpreter
from agentic.plugins.mcp.code.signatures import stubs_of

MAX_CALLS = 500
"""Of tools, by one program."""


async def run_program(code: str, named: Mapping[str, Tool], context: ToolContext) -> JSONValue | ToolPause:
    """Run a program over tools, or continue the one that the call was paused with.

    Args:
        code: The program.
        named: The tools, by the names of the functions.
        context: Of the call.

    Raises:
        ToolError: It failed.
    """
    waiting = _restored(context)
    started_at = waiting.started_at if waiting else await _started_at(context)
    interpreter = Interpreter(dict.fromkeys(named, _host), started_at)
    run = _Run(named, context, interpreter, started_at)
    try:
        if waiting is None:
            used = {name: tool for name, tool in named.items() if name in code}
            snapshot = await interpreter.start(code, stubs_of(used))
        else:
            run.restore(waiting)
            snapshot = await interpreter.restore(base64.b64decode(waiting.snapshot))
        return await run.to_end(snapshot)
    finally:
        await interpreter.aclose()


class _Call(BaseModel):
    """A call that a program waits for."""

    model_config = ConfigDict(extra="forbid")

    function: str
    arguments: dict[str, JSONValue]
    pause: ToolPause | None = None
    pauses: int = 0
    keys: dict[str, str] = Field(default_factory=dict, description="Our key of a question -> the tool's.")
    approval: str | None = Field(default=None, description="Key of the question for an approval.")
    approved: bool = False


class _Waiting(BaseModel):
    """The kept state of a program that waits."""

    model_config = ConfigDict(extra="forbid")

    snapshot: str
    started_at: float
    printed: str = ""
    calls: dict[int, _Call]
    made: int


@dataclass(slots=True)
class _Run:
    """A running program.

    Attributes:
        calls: The calls that it waits for, by their number.
        made: Calls so far.
        printed: Printed before a pause.
    """

    named: Mapping[str, Tool]
    context: ToolContext
    interpreter: Interpreter
    started_at: float
    calls: dict[int, _Call] = field(default_factory=dict)
    made: int = 0
    printed: str = ""
    answers: dict[str, RequestAnswer] = field(default_factory=dict)

    def restore(self, waiting: _Waiting) -> None:
        """Continue where another process stopped."""
        self.calls, self.made, self.printed = waiting.calls, waiting.made, waiting.printed
        if self.context.continued is not None:
            self.answers = self.context.continued.answers

    async def to_end(self, snapshot: Any) -> JSONValue | ToolPause:  # noqa: ANN401  # of monty
        """Drive the program to its end, or to where it waits for people."""
        import pydantic_monty as monty

        while True:
            match snapshot:
                case monty.MontyComplete():
                    return self._result(as_json(snapshot.output))
                case monty.FunctionSnapshot() if snapshot.is_os_function:
                    snapshot = await self.interpreter.resume(snapshot.resume_not_handled)
                case monty.FunctionSnapshot():
                    snapshot = await self.interpreter.resume(snapshot.resume, self._taken(snapshot))
                case monty.FutureSnapshot():
                    settled = await self._settle(snapshot.pending_call_ids)
                    if not settled:
                        return await self._pause(snapshot.pending_call_ids)
                    snapshot = await self.interpreter.resume(snapshot.resume, settled)
                case _:
                    snapshot = await self.interpreter.resume(snapshot.resume_auto)

    def _taken(self, snapshot: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return the first answer to a call: its result comes later, or an error."""
        name = str(snapshot.function_name)
        if name not in self.named:
            return {"exception": NameError(f"no tool is called {name!r}; search_tools finds them")}
        if self.made >= MAX_CALLS:
            return {"exception": RuntimeError(f"a program calls at most {MAX_CALLS} tools")}
        if snapshot.args:
            return {"exception": TypeError(f"{name}() takes keyword arguments only")}
        self.made += 1
        arguments = cast(dict[str, JSONValue], as_json(snapshot.kwargs))
        self.calls[snapshot.call_id] = _Call(function=name, arguments=arguments)
        return {"future": ...}

    async def _settle(self, numbers: Sequence[int]) -> dict[int, Any]:
        """Return the results of the calls that can be made now."""
        # All end first: a nested agent that waits in a graph leaves by a cancellation.
        found = await asyncio.gather(*(self._settled(number) for number in numbers), return_exceptions=True)
        for one in found:
            if isinstance(one, BaseException):
                raise one
        settled = {number: one for number, one in zip(numbers, found, strict=True) if isinstance(one, dict)}
        for number in settled:
            self.calls.pop(number, None)
        return settled

    async def _settled(self, number: int) -> dict[str, Any] | None:
        call = self.calls.get(number)
        if call is None or call.function not in self.named:
            return {"exception": RuntimeError("the tool of this call is gone")}
        tool = self.named[call.function]
        made = ToolCall(id=f"{self.context.call_id}.{number}", name=tool.name, arguments=call.arguments)
        if (refused := await self._refused(call, tool, made)) is not None:
            return refused
        if call.approval is not None and not call.approved:
            return None
        return _answered(call, await self._called(number, call, tool, made))

    async def _refused(self, call: _Call, tool: Tool, made: ToolCall) -> dict[str, Any] | None:
        """Return the error of a call that a guard or a person refuses; note an approval that is needed."""
        if call.pause is not None or call.approved:
            return None
        if (reason := await self.context.refusal_of(made)) is not None:
            return {"exception": RuntimeError(reason)}
        if not tool.needs_approval(call.arguments):
            return None
        # An approval is for one version of a tool, too.
        key = f"{made.id.rpartition('.')[2]}.{tool.version}"
        call.approval = key
        if (answer := self.answers.get(key)) is not None:
            call.approved = answer.approved
            if not answer.approved:
                reason = answer.reason and f": {answer.reason}"
                return {"exception": RuntimeError(f"a person rejected the call{reason}")}
        return None

    async def _called(self, number: int, call: _Call, tool: Tool, made: ToolCall) -> ToolResult | ToolPause:
        """Call a tool; in a graph, a call that was made before a crash has its result already."""
        continued = None
        if call.pause is not None:
            given = {theirs: self.answers[ours] for ours, theirs in call.keys.items() if ours in self.answers}
            if len(given) < len(call.pause.questions):
                return call.pause
            continued = Continued(call.pause, given)
        text = json.dumps([call.function, call.arguments], sort_keys=True)
        part = f"code.{number}.{hashlib.sha256(text.encode()).hexdigest()[:12]}.{call.pauses}"
        context = replace(
            self.context,
            call_id=made.id,
            idempotency_key=f"{self.context.idempotency_key}.{number}",
            journal=PartJournal(self.context.journal, f"{part}/"),
            continued=continued,
        )

        async def effect() -> JSONValue:
            found = await call_tool(tool, made, context)
            kind = "pause" if isinstance(found, ToolPause) else "result"
            return {kind: found.model_dump(mode="json")}

        stored = await self.context.journal.once(part, effect)
        if continued is None:
            self.context.add_usage(TokenUsage(tool_calls=1))
        facts = cast(dict[str, Any], stored)
        if "pause" in facts:
            return ToolPause.model_validate(facts["pause"])
        return ToolResult.model_validate(facts["result"])

    async def _pause(self, numbers: Sequence[int]) -> ToolPause:
        """Return the pause of the program: its state, and the questions of its calls."""
        questions: list[ToolQuestion] = []
        for number in numbers:
            call = self.calls[number]
            tool = self.named[call.function]
            call.keys = {}
            if call.pause is None:
                made = ToolCall(
                    id=f"{self.context.call_id}.{number}", name=tool.name, arguments=call.arguments
                )
                questions.append(
                    ToolQuestion(
                        key=str(call.approval),
                        kind=RequestKind.APPROVAL,
                        question=f"call {tool.name}",
                        call=made,
                    )
                )
                continue
            for one in call.pause.questions:
                key = f"{number}.{call.pauses}.{one.key}"
                call.keys[key] = one.key
                questions.append(one.model_copy(update={"key": key}))
        waiting = _Waiting(
            snapshot=base64.b64encode(await self.interpreter.dump()).decode(),
            started_at=self.started_at,
            printed=f"{self.printed}{self.interpreter.printed}",
            calls=self.calls,
            made=self.made,
        )
        return ToolPause(state=waiting.model_dump(mode="json"), questions=tuple(questions))

    def _result(self, output: JSONValue) -> JSONValue:
        printed = f"{self.printed}{self.interpreter.printed}"
        if not printed:
            return output
        return printed if output is None else {"printed": printed, "result": output}


def _answered(call: _Call, result: ToolResult | ToolPause) -> dict[str, Any] | None:
    """Return a result as the interpreter takes it; None for a pause, which is noted."""
    if isinstance(result, ToolPause):
        call.pause, call.pauses = result, call.pauses + 1
        return (
            {"exception": RuntimeError("the tool asks without an end")} if call.pauses > MAX_PAUSES else None
        )
    if result.is_error:
        return {"exception": RuntimeError(str(result.content))}
    return {"return_value": result.content}


def _restored(context: ToolContext) -> _Waiting | None:
    state = None if context.continued is None else context.continued.pause.state
    if state is None:
        return None
    try:
        return _Waiting.model_validate(state)
    except ValidationError:
        raise ToolError("the kept program cannot be read; run it again") from None


async def _started_at(context: ToolContext) -> float:
    """Return when the program was first started: its clock is the same when it is run again."""

    async def now() -> JSONValue:
        return time.time()

    return cast(float, await context.journal.once("code.started", now))


def _host(**_: object) -> None:
    """Stand for a tool in the lookup of names; calls of it are taken before."""
