"""A thousand histories of calls that wait for people: whatever happens meanwhile, no wrong call runs."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from tests.property.graph.effort import EFFORT

from agentic.core.agents import (
    AgentThread,
    AnswerMismatchError,
    ChatAgent,
    RequestAnswer,
    RunOptions,
    Tool,
    ToolContext,
)
from agentic.core.llm import ScriptedModel, ScriptLine, ToolCall
from agentic.core.types import JSONValue

HISTORIES = 1_000
STEPS = 7
OPTIONS = RunOptions(approval_s=3_600)
THINGS = ("tea", "car", "hat")
PARAMETERS: dict[str, JSONValue] = {"type": "object", "properties": {"thing": {"type": "string"}}}

Bought = tuple[str, str, int]
"""Id of the call, thing, version of the tool."""


class Buying(Tool):
    """A tool that people must approve."""

    def __init__(self, version: int, bought: list[Bought]) -> None:
        super().__init__("buy", f"Buy a thing, as of {version}.", PARAMETERS, approval="always")
        self.number = version
        self.bought = bought

    async def call(self, arguments: Mapping[str, JSONValue], context: ToolContext) -> JSONValue:
        """Write it down."""
        self.bought.append((context.call_id, str(arguments["thing"]), self.number))
        return "bought"


@dataclass
class History:
    """Some calls at a time, and what happens while people think.

    Attributes:
        chance: Decides.
        version: Of the tool.
        data: The thread; each step restores it, as a process does after a kill.
        raised: The version of the tool for which each request was raised.
        answers: Those that counted.
        allowed: The calls that a person approved as they run.
        bought: The calls that ran.
        happened: The kinds of steps.
        late_count: Answers that came too late.
    """

    chance: random.Random
    version: int = 1
    data: bytes = b""
    raised: dict[str, int] = field(default_factory=dict)
    answers: list[RequestAnswer] = field(default_factory=list)
    allowed: list[Bought] = field(default_factory=list)
    bought: list[Bought] = field(default_factory=list)
    happened: list[str] = field(default_factory=list)
    late_count: int = 0

    async def live(self) -> None:
        """Ask for approvals, and take some steps."""
        wishes = [
            ToolCall(id=f"c{number}", name="buy", arguments={"thing": self.chance.choice(THINGS)})
            for number in range(self.chance.randint(1, 4))
        ]
        thread = AgentThread.new("shop")
        await self.agent(wishes).run("go", thread, options=OPTIONS)
        self.keep(thread)
        for _ in range(STEPS):
            kind = self.chance.choice(
                ("answer", "answer", "answer", "answer", "again", "change", "forge", "expire")
            )
            await self.take(kind, AgentThread.deserialize(self.data))
            assert sorted(self.bought) == sorted(self.allowed), self.happened

    async def take(self, kind: str, thread: AgentThread) -> None:
        """Take a step."""
        self.happened.append(kind)
        if kind == "change":
            self.version += 1
        elif kind == "forge":
            self.forge()
        elif kind == "expire":
            self.expire()
        elif kind == "again" and self.answers:
            answer = self.chance.choice(self.answers)
            with pytest.raises(AnswerMismatchError):
                await self.agent().run(answer, thread)
        elif kind == "answer" and thread.pending:
            await self.answer(thread)

    async def answer(self, thread: AgentThread) -> None:
        """Answer one request, or first in a way that does not count."""
        request = self.chance.choice(thread.pending)
        assert request.call is not None
        is_same = self.raised[request.id] == self.version and request.call in thread.messages[1].tool_calls
        answer = RequestAnswer(request_id=request.id, approved=self.chance.random() < 0.6)
        if self.chance.random() < 0.2:
            with pytest.raises(AnswerMismatchError):
                await self.agent().run([answer, answer], AgentThread.deserialize(self.data))
        await self.agent().run(answer, thread, options=OPTIONS)
        is_late = request.expires_at is not None and request.expires_at < time.time()
        if answer.approved and is_same and not is_late:
            self.allowed.append((request.call.id, str(request.call.arguments["thing"]), self.version))
        self.late_count += is_late
        self.answers.append(answer)
        self.keep(thread)

    def forge(self) -> None:
        """Change the arguments of a call in the stored thread."""
        document = json.loads(self.data)
        call = self.chance.choice(document["entries"][1]["messages"][0]["parts"])
        call["arguments"] = {"thing": f"gold {len(self.happened)}"}
        self.data = json.dumps(document).encode()

    def expire(self) -> None:
        """Let two hours pass."""
        document = json.loads(self.data)
        for entry in document["entries"]:
            for request in entry.get("asked", ()):
                request["expires_at"] -= 7_200
        self.data = json.dumps(document).encode()

    def agent(self, *lines: ScriptLine | list[ToolCall]) -> ChatAgent:
        """Return the agent of a new process."""
        model = ScriptedModel([*lines, "done"])
        return ChatAgent(model, name="shop", tools=[Buying(self.version, self.bought)])

    def keep(self, thread: AgentThread) -> None:
        """Store the thread."""
        self.data = thread.serialize()
        for request in thread.pending:
            self.raised.setdefault(request.id, self.version)


async def test_no_history_of_approvals_runs_a_wrong_call() -> None:
    """Killed while it waits, answered twice, arguments and tool changed, expired, rejected among others."""
    counts = dict.fromkeys(("bought", "rejected", "late", "forged", "changed", "again"), 0)
    for seed in range(HISTORIES * EFFORT):
        history = History(random.Random(seed))
        await history.live()
        counts["bought"] += len(history.bought)
        counts["rejected"] += sum(not one.approved for one in history.answers)
        counts["late"] += history.late_count
        counts["forged"] += "forge" in history.happened
        counts["changed"] += "change" in history.happened
        counts["again"] += "again" in history.happened
    assert min(counts.values()) > HISTORIES / 20, counts
