"""Five ways for agents to work together: sequence, concurrent, group chat, handoff, Magentic."""

import argparse
import asyncio
import json
import textwrap
from collections.abc import Callable, Mapping

from agentic.core import EventKind, Workflow
from agentic.core.agents import ChatAgent, SpokenOutput
from agentic.core.llm import LLMAdapter, ScriptedModel, ScriptLine, ToolCall
from agentic.core.patterns import (
    ConcurrentBuilder,
    GroupChatBuilder,
    HandoffBuilder,
    MagenticBuilder,
    SequentialBuilder,
    keyword_termination,
    model_synthesis,
)

Speak = Callable[..., LLMAdapter | str]
"""Returns the real model, or one that says the lines it is given."""

TASK = "A slogan for a cheap e-bike."
PLAN = {"steps": [{"agent_id": "writer", "instruction": "Write it."}]}
NEXT = {"is_request_satisfied": False, "next_speaker": "judge", "instruction_or_question": "Is it short?"}


def agent(speak: Speak, name: str, instructions: str, *script: ScriptLine) -> ChatAgent:
    """Return an agent."""
    return ChatAgent(speak(*script), instructions, name=name, description=instructions)


def sequence(speak: Speak) -> Workflow:
    """Return a fixed order: each one reads all answers before it."""
    writer = agent(speak, "writer", "You write slogans.", "Ride far, and spend only little.")
    editor = agent(speak, "editor", "You make the slogan shorter.", "Ride far, spend little.")
    return SequentialBuilder("sequence").participants([writer, editor]).build()


def concurrent(speak: Speak) -> Workflow:
    """Return independent views at the same time, and one answer made of them."""
    poet = agent(speak, "poet", "You like rhymes.", "A bike you like.")
    clerk = agent(speak, "clerk", "You name the price.", "An e-bike for 500.")
    joins = model_synthesis(speak("A bike you like, for 500."))
    return ConcurrentBuilder("concurrent").participants([poet, clerk]).with_aggregator(joins).build()


def group_chat(speak: Speak) -> Workflow:
    """Return a debate: everybody hears every answer, until the critic agrees."""
    writer = agent(speak, "writer", "You write slogans.", "Ride cheap.", "Ride far, spend little.")
    critic = agent(speak, "critic", "You criticize, or say APPROVED.", "It sounds poor.", "APPROVED")
    ends = keyword_termination("approved", author="critic")
    chat = GroupChatBuilder("chat").participants([writer, critic])
    return chat.with_termination_condition(ends).with_max_iterations(8).build()


def handoff(speak: Speak) -> Workflow:
    """Return a mesh: the one who has control answers, or passes control on."""
    passes = ToolCall(id="", name="handoff_to_writer", arguments={"reason": "It is about a slogan."})
    desk = agent(speak, "desk", "You know prices only. Slogans are for the writer.", passes)
    writer = agent(speak, "writer", "You write slogans.", "Ride far, spend little.")
    return HandoffBuilder("desk").participants([desk, writer]).build()


def magentic(speak: Speak) -> Workflow:
    """Return a manager that plans, assigns steps, and looks at the progress after each."""
    writer = agent(speak, "writer", "You write slogans.", "Ride far, spend little.")
    judge = agent(speak, "judge", "You judge slogans.", "Short enough.")
    done = json.dumps({"is_request_satisfied": True})
    manager = speak(json.dumps(PLAN), json.dumps(NEXT), done, "Ride far, spend little.")
    team = MagenticBuilder("magentic").participants([writer, judge])
    return team.with_manager(manager).with_limits(max_rounds=8).build()


PATTERNS: Mapping[str, Callable[[Speak], Workflow]] = {
    pattern.__name__: pattern for pattern in (sequence, concurrent, group_chat, handoff, magentic)
}


async def run(name: str, speak: Speak) -> None:
    """Run a pattern; print who worked, in order, and the answer."""
    result = await PATTERNS[name](speak).run(TASK)
    way = [event.path for event in result.events if event.kind is EventKind.EXECUTOR_COMPLETED]
    print(textwrap.fill(f"{name}: {' > '.join(way)}", 80, subsequent_indent="  "))
    print(f"  {result.output(SpokenOutput).text}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", choices=[*PATTERNS], help="all of them if omitted")
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="a real model; without it, scripts answer")
    given = parser.parse_args()
    for name in [given.pattern] if given.pattern else PATTERNS:
        asyncio.run(run(name, lambda *script: given.model or ScriptedModel(script)))
