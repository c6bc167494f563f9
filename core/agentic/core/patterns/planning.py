"""Tasks, plans and the progress ledger of the planner pattern, and the words for its manager."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.agents.responses import SpokenOutput
from agentic.core.graph import CustomEvent
from agentic.core.llm.messages import ChatMessage
from agentic.core.patterns.conversation import transcript

MANAGER = (
    "You lead a team that solves a task. You make plans, follow the progress, and decide who does the next "
    "step. Give each member instructions that are complete in themselves. Name members exactly as they are "
    "listed."
)

_TRANSCRIPT_CHARS = 60_000


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AgentCapability(_Data):
    """A member of the team, for its planner."""

    agent_id: str
    description: str = ""


class ComplexTask(_Data):
    """A task for a planner."""

    __wire_name__ = "agentic.patterns.ComplexTask"

    description: str = Field(min_length=1)
    context: str = ""

    @property
    def text(self) -> str:
        """The task, with its context."""
        return f"{self.description}\n\n{self.context}".strip()


class SubTask(_Data):
    """A step of a plan."""

    __wire_name__ = "agentic.patterns.SubTask"

    agent_id: str = Field(description="Name of the member who does it.")
    instruction: str = Field(description="What to do, complete in itself.")
    context: str = Field(default="", description="What the member must know for it.")

    @property
    def text(self) -> str:
        """The instruction, with its context."""
        return f"{self.instruction}\n\n{self.context}".strip()


class TaskPlan(_Data):
    """The manager's plan."""

    __wire_name__ = "agentic.patterns.TaskPlan"

    facts: str = Field(default="", description="What is known, and what must be found out.")
    steps: tuple[SubTask, ...] = Field(description="In their order; one for each piece of work.")

    def within(self, names: Sequence[str]) -> TaskPlan:
        """Return the plan without the steps of unknown members."""
        return self.model_copy(update={"steps": tuple(one for one in self.steps if one.agent_id in names)})


class ProgressLedger(_Data):
    """The manager's view of the progress, before each step."""

    is_request_satisfied: bool = Field(description="Whether the task is solved.")
    is_in_loop: bool = Field(default=False, description="Whether the same is said or done again and again.")
    is_progress_being_made: bool = Field(default=True, description="Whether the last answer helped.")
    next_speaker: str = Field(default="", description="Name of the member who does the next step.")
    instruction_or_question: str = Field(default="", description="For that member, complete in itself.")
    reason: str = ""


class TaskResult(SpokenOutput):
    """The result of a planner.

    Attributes:
        answer: The answer to the task.
        is_satisfied: Whether the manager found the task solved.
        reason: Why the work ended.
        plan: The last plan.
        conversation: All that was said.
        round_count: Steps that members did.
        replan_count: How often a new plan was made.
    """

    __wire_name__ = "agentic.patterns.TaskResult"

    answer: str
    is_satisfied: bool
    reason: str = ""
    plan: tuple[SubTask, ...] = ()
    conversation: tuple[ChatMessage, ...] = ()
    round_count: int = 0
    replan_count: int = 0

    @property
    def text(self) -> str:
        """The answer."""
        return self.answer


class PlanCreatedEvent(CustomEvent):
    """Live event of a new plan: ``plan.created``, with the number of its steps and of earlier plans."""

    def __init__(self, steps: int, replan: int = 0) -> None:
        super().__init__(type="plan.created", data={"steps": steps, "replan": replan})


def plan_prompt(task: str, team: Sequence[AgentCapability], fault: str = "") -> str:
    """Return the question for a plan."""
    return (
        f"Task:\n{task}\n\nTeam:\n{_listed(team)}\n\nWrite down the facts, and a plan: steps of members in "
        f"their order.{fault and f' {fault}'}"
    )


def replan_prompt(
    task: str, team: Sequence[AgentCapability], plan: TaskPlan, said: Sequence[ChatMessage], why: str
) -> str:
    """Return the question for a new plan, after the old one has failed."""
    return (
        f"{_situation(task, plan, said)}\n\nTeam:\n{_listed(team)}\n\nThe work is stuck: {why}. Say in the "
        "facts what went wrong, and make a new plan that avoids it."
    )


def ledger_prompt(
    task: str, team: Sequence[AgentCapability], plan: TaskPlan, said: Sequence[ChatMessage]
) -> str:
    """Return the question for the progress."""
    return (
        f"{_situation(task, plan, said)}\n\nTeam:\n{_listed(team)}\n\nIs the task solved? If not: is the "
        "work in a loop, is progress being made, and who does what next?"
    )


def answer_prompt(task: str, said: Sequence[ChatMessage], ended: str) -> str:
    """Return the question for the final answer."""
    return (
        f"Task:\n{task}\n\nWork of the team:\n{_cut(transcript(said))}\n\nThe work has ended: {ended}. Write "
        "the answer to the task for the person who gave it, from this work alone."
    )


def plan_words(plan: TaskPlan) -> str:
    """Return a plan as text for people and members."""
    steps = "\n".join(f"{number}. {one.agent_id}: {one.text}" for number, one in enumerate(plan.steps, 1))
    return f"{plan.facts}\n\nPlan:\n{steps}".strip()


def team_of(participants: Mapping[str, str]) -> tuple[AgentCapability, ...]:
    """Return the team of a planner."""
    return tuple(AgentCapability(agent_id=name, description=told) for name, told in participants.items())


def _situation(task: str, plan: TaskPlan, said: Sequence[ChatMessage]) -> str:
    return f"Task:\n{task}\n\n{plan_words(plan)}\n\nWork so far:\n{_cut(transcript(said)) or '(none)'}"


def _listed(team: Sequence[AgentCapability]) -> str:
    return "\n".join(f"- {one.agent_id}{one.description and f': {one.description}'}" for one in team)


def _cut(text: str) -> str:
    return text if len(text) <= _TRANSCRIPT_CHARS else f"...\n{text[-_TRANSCRIPT_CHARS:]}"
