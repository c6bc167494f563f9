"""Random casts: participants, selectors, managers and terminations that follow from a seed alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st

from agentic.core import Workflow, WorkflowBuilder, executor
from agentic.core.agents import ChatAgent
from agentic.core.llm import ChatMessage, FunctionModel, ModelRequest, ScriptLine, ToolCall
from agentic.core.patterns import (
    AggregatedResult,
    ConcurrentBuilder,
    GroupChatBuilder,
    GroupChatState,
    HandoffBuilder,
    MagenticBuilder,
    ParticipantResult,
    SequentialBuilder,
    Termination,
    keyword_termination,
    max_messages_termination,
    max_rounds_termination,
    no_repeat_selector,
)

KINDS = ("agent", "function", "silent", "workflow", "broken")
WORDS = ("yes", "no", "done", "stop", "red", "blue", "", "research complete")
LIMIT = 12

Tree = tuple[Any, ...]


@dataclass(frozen=True)
class Cast:
    """A cast.

    Attributes:
        seed: Decides every word and every choice.
        kinds: Of the participants, in their order.
        termination: A tree of conditions.
        repeats: Whether somebody may speak twice in a row.
    """

    seed: int
    kinds: tuple[str, ...]
    termination: Tree
    repeats: bool = True

    @property
    def names(self) -> list[str]:
        """The participants."""
        return [f"p{number}" for number in range(len(self.kinds))]

    def choice(self, options: Sequence[Any], *facts: object) -> Any:
        """Return one of several, the same for the same facts."""
        return Random(f"{self.seed}:{facts}").choice(options)


def trees() -> st.SearchStrategy[Tree]:
    """Return trees of terminations."""
    leaves: st.SearchStrategy[Tree] = st.one_of(
        st.tuples(st.just("messages"), st.integers(1, 9)),
        st.tuples(st.just("rounds"), st.integers(1, 9)),
        st.tuples(st.just("keyword"), st.sampled_from(["done", "stop", "never said"])),
    )
    return st.recursive(
        leaves, lambda inner: st.tuples(st.sampled_from(["or", "and"]), inner, inner), max_leaves=4
    )


def casts(kinds: Sequence[str] = KINDS[:4], *, fewest: int = 2) -> st.SearchStrategy[Cast]:
    """Return casts of two to five."""
    return st.builds(
        Cast,
        st.integers(0, 1_000_000),
        st.lists(st.sampled_from(kinds), min_size=fewest, max_size=5).map(tuple),
        trees(),
        st.booleans(),
    )


def termination(tree: Tree) -> Termination:
    """Return the condition that a tree describes."""
    match tree:
        case ("messages", count):
            return max_messages_termination(count)
        case ("rounds", count):
            return max_rounds_termination(count)
        case ("keyword", word):
            return keyword_termination(word)
        case ("or", one, other):
            return termination(one) | termination(other)
        case (_, one, other):
            return termination(one) & termination(other)
        case _:
            raise ValueError(tree)


def holds(tree: Tree, texts: Sequence[str]) -> bool:
    """Whether the condition holds: the answers so far, after one request. A second way to say it."""
    match tree:
        case ("messages", count):
            return bool(len(texts) + 1 >= count)
        case ("rounds", count):
            return bool(len(texts) >= count)
        case ("keyword", word):
            return any(word in text for text in texts)
        case ("or", one, other):
            return holds(one, texts) or holds(other, texts)
        case (_, one, other):
            return holds(one, texts) and holds(other, texts)
        case _:
            raise ValueError(tree)


def participants(cast: Cast) -> list[Any]:
    """Return the participants."""
    return [_participant(cast, kind, name) for kind, name in zip(cast.kinds, cast.names, strict=True)]


def _participant(cast: Cast, kind: str, name: str) -> Any:
    async def speak(said: list[ChatMessage]) -> str | None:
        if kind == "broken":
            raise ValueError(f"{name} is broken")
        return None if kind == "silent" else cast.choice(WORDS, name, len(said))

    if kind == "agent":

        def reply(request: ModelRequest) -> str:
            return str(cast.choice(WORDS, name, len(request.messages)))

        return ChatAgent(FunctionModel(reply), name=name)
    node = executor(id="inner" if kind == "workflow" else name)(speak)
    return WorkflowBuilder(name).set_start(node).build() if kind == "workflow" else node


def chat_of(cast: Cast) -> Workflow:
    """Return a group chat with a selector that chooses at random."""

    def choose(state: GroupChatState) -> str:
        return str(cast.choice(cast.names, "speaker", state.current_round))

    return (
        GroupChatBuilder("chat")
        .participants(participants(cast))
        .with_orchestrator_func(choose if cast.repeats else no_repeat_selector(choose))
        .with_termination_condition(termination(cast.termination))
        .with_max_iterations(LIMIT)
        .build()
    )


def sequence_of(cast: Cast) -> Workflow:
    """Return a sequence."""
    return SequentialBuilder("sequence").participants(participants(cast)).build()


def concurrent_of(cast: Cast, seen: list[ParticipantResult] | None = None) -> Workflow:
    """Return concurrent participants, whose results are noted."""

    def keep(results: Sequence[ParticipantResult]) -> AggregatedResult:
        if seen is not None:
            seen.extend(results)
        return AggregatedResult.partial(
            [one for one in results if one.ok], sum(not one.ok for one in results)
        )

    return ConcurrentBuilder("concurrent").participants(participants(cast)).with_aggregator(keep).build()


def mesh_of(cast: Cast) -> Workflow:
    """Return a mesh of agents that pass control on at random."""

    def agent(name: str) -> ChatAgent[Any]:
        others = [f"handoff_to_{other}" for other in cast.names if other != name]

        def reply(request: ModelRequest) -> ScriptLine:
            wanted = cast.choice([*others, *others, ""], name, len(request.messages))
            words = cast.choice(WORDS, name, len(request.messages))
            return ToolCall(id="c", name=wanted, arguments={"reason": words}) if wanted else words or "fine"

        return ChatAgent(FunctionModel(reply), name=name)

    return (
        HandoffBuilder("mesh")
        .participants([agent(name) for name in cast.names])
        .with_termination_condition(termination(cast.termination))
        .with_max_handoffs(LIMIT)
        .build()
    )


def team_of(cast: Cast) -> Workflow:
    """Return a team whose manager answers at random, also with names that nobody has."""

    def manage(request: ModelRequest) -> str:
        text = request.messages[-1].text
        name = cast.choice([*cast.names, *cast.names, "zoe"], "manager", len(text))
        if request.output is None:
            return "the answer"
        if request.output.name == "TaskPlan":
            steps = [{"agent_id": one, "instruction": "work"} for one in (name, cast.names[0])]
            return json.dumps({"steps": steps})
        facts = {
            key: cast.choice([True, False], key, len(text))
            for key in ("is_in_loop", "is_progress_being_made")
        }
        solved = cast.choice([True, False, False, False], "solved", len(text))
        return json.dumps({"is_request_satisfied": solved, "next_speaker": name, **facts})

    return (
        MagenticBuilder("team")
        .participants(participants(cast))
        .with_manager(FunctionModel(manage))
        .with_limits(max_rounds=LIMIT, max_stalls=2)
        .with_termination_condition(termination(cast.termination))
        .build()
    )
