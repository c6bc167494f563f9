"""Magentic: a manager makes a plan, follows the progress, makes a new plan when stuck, and answers.

After Fourney et al., Magentic-One: A Generalist Multi-Agent System for Solving Complex Tasks, 2024.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeVar

from pydantic import BaseModel

from agentic.core.agents.agent import Agent
from agentic.core.agents.chat_agent import ChatAgent
from agentic.core.graph import (
    ApprovalRequest,
    ApprovalResponse,
    ExecutorFailure,
    ExecutorKind,
    Workflow,
    WorkflowContext,
    handler,
)
from agentic.core.llm.adapter import LLMAdapter
from agentic.core.llm.messages import ChatMessage
from agentic.core.patterns.asking import ask
from agentic.core.patterns.building import PatternBuilder, checked_limit
from agentic.core.patterns.conversation import ConversationInput, Conversing, conversation_of
from agentic.core.patterns.errors import InvalidPatternError
from agentic.core.patterns.participants import (
    BroadcastMessage,
    ParticipantResult,
    StarRole,
    description_of,
    next_speaker,
    participant_of,
)
from agentic.core.patterns.planning import (
    MANAGER,
    ComplexTask,
    PlanCreatedEvent,
    ProgressLedger,
    SubTask,
    TaskPlan,
    TaskResult,
    answer_prompt,
    ledger_prompt,
    plan_prompt,
    plan_words,
    replan_prompt,
    team_of,
)
from agentic.core.patterns.selectors import name_in
from agentic.core.patterns.terminations import Termination, TerminationFunc, as_termination

MAX_ROUNDS = 20
MAX_STALLS = 3
MAX_REPLANS = 2
MAX_REVIEWS = 3
"""How often a person may send a plan back."""

DataT = TypeVar("DataT", bound=BaseModel)
Ctx = WorkflowContext[BroadcastMessage, TaskResult]


class MagenticBuilder(PatternBuilder):
    """Builds a team with a manager, who plans, assigns each step, and answers in the end.

    Before each step the manager fills in a progress ledger. Loops, missing progress and failures count as
    stalls; after too many in a row there is a new plan, and after too many plans an answer from the results
    so far. The input is a text, a conversation or a :class:`ComplexTask`, the output a :class:`TaskResult`.
    """

    _manager: Agent[Any] | None = None
    _termination: Termination | None = None
    _max_rounds: int = MAX_ROUNDS
    _max_stalls: int = MAX_STALLS
    _max_replans: int = MAX_REPLANS
    _is_reviewed: bool = False

    def with_manager(self, manager: Agent[Any] | LLMAdapter | str) -> Self:
        """Set the manager: an agent, or the model of one, or the model's name."""
        if not isinstance(manager, Agent):
            manager = ChatAgent(manager, MANAGER, name="manager")
        self._manager = manager
        return self

    def with_limits(
        self, *, max_rounds: int = MAX_ROUNDS, max_stalls: int = MAX_STALLS, max_replans: int = MAX_REPLANS
    ) -> Self:
        """Set the limits of the work.

        Args:
            max_rounds: The most steps of members.
            max_stalls: Stalls until there is a new plan.
            max_replans: The most new plans; 0 for none.
        """
        self._max_rounds = checked_limit(self._name, "max_rounds", max_rounds)
        self._max_stalls = checked_limit(self._name, "max_stalls", max_stalls)
        self._max_replans = checked_limit(self._name, "max_replans", max_replans, least=0)
        return self

    def with_plan_review(self) -> Self:
        """Ask a person to approve the plan before the work begins, by a request of the run."""
        self._is_reviewed = True
        return self

    def with_termination_condition(self, condition: TerminationFunc) -> Self:
        """Set a condition that ends the work; it gets the task and the answers of members."""
        self._termination = as_termination(condition)
        return self

    def _build(self) -> Workflow:
        if self._manager is None:
            raise InvalidPatternError(self._name, "it has no manager; set one with with_manager(model)")
        nodes = [participant_of(node, StarRole(), self._name) for node in self._participants]
        planner = MagenticPlanner(
            "planner",
            self._manager,
            {str(node.id): description_of(node) for node in nodes},
            termination=self._termination,
            max_rounds=self._max_rounds,
            max_stalls=self._max_stalls,
            max_replans=self._max_replans,
            is_reviewed=self._is_reviewed,
        )
        graph = self._graph(2 * self._max_rounds + 2).set_start(planner)
        graph.add_fan_out_edge(planner, nodes, select=next_speaker)
        for node in nodes:
            graph.add_edge(node, planner, on="always")
        return graph.build()


class MagenticPlanner(Conversing):
    """The manager's place in the graph.

    Args:
        id: Unique in the pattern.
        manager: The agent that plans and decides.
        participants: The names of the team, with descriptions.
        termination: Ends the work.
        max_rounds: The most steps.
        max_stalls: Stalls until there is a new plan.
        max_replans: The most new plans.
        is_reviewed: Whether a person approves the first plan.
    """

    def __init__(  # noqa: PLR0913  # the parts of the pattern
        self,
        id: str,  # noqa: A002  # as of every executor
        manager: Agent[Any],
        participants: Mapping[str, str],
        *,
        termination: Termination | None = None,
        max_rounds: int = MAX_ROUNDS,
        max_stalls: int = MAX_STALLS,
        max_replans: int = MAX_REPLANS,
        is_reviewed: bool = False,
    ) -> None:
        super().__init__(id, kind=ExecutorKind.ORCHESTRATOR)
        self.manager = manager
        self.available_agents = team_of(participants)
        self.names = tuple(participants)
        self.termination = termination
        self.max_rounds = max_rounds
        self.max_stalls = max_stalls
        self.max_replans = max_replans
        self.is_reviewed = is_reviewed

    @property
    def called_workflows(self) -> tuple[Workflow, ...]:
        """The workflows of the manager."""
        return tuple(self.manager.workflows)

    @handler
    async def on_task(self, task: ComplexTask, ctx: Ctx) -> BroadcastMessage | None:
        """Make a plan, and begin."""
        return await self._begin([ChatMessage.user(task.text)], ctx)

    @handler
    async def on_input(self, given: ConversationInput, ctx: Ctx) -> BroadcastMessage | None:
        """Make a plan, and begin."""
        return await self._begin(conversation_of(given), ctx)

    @handler
    async def on_result(self, result: ParticipantResult, ctx: Ctx) -> BroadcastMessage | None:
        """Take an answer, and decide the next step."""
        silence = ChatMessage.assistant("(no answer)", author_name=result.executor_id)
        self._say([result.message or silence], ctx)
        return await self._go_on(ctx, has_failed=result.message is None)

    @handler
    async def on_failure(self, failure: ExecutorFailure, ctx: Ctx) -> BroadcastMessage | None:
        """Take a failure for a stall, and decide the next step."""
        # The class alone, as for tools: a message may have secrets, and models read it.
        words = f"(failed with {failure.error_type})"
        self._say([ChatMessage.assistant(words, author_name=str(failure.executor_id))], ctx)
        return await self._go_on(ctx, has_failed=True)

    async def create_plan(self, task: str, ctx: Ctx) -> TaskPlan | None:
        """Return the plan for a task; None if a person has refused all plans.

        If no step is for a member of the team, also at the second try, the first member gets the task.
        """
        plan = await self._planned(plan_prompt(task, self.available_agents), ctx, "plan.")
        if not self.is_reviewed:
            return plan
        for number in range(MAX_REVIEWS):
            asked = ApprovalRequest(action="follow this plan", details=plan.model_dump(mode="json"))
            review = await ctx.request_info(asked, ApprovalResponse, number=number + 1)
            if review.approved:
                return plan
            if number + 1 == MAX_REVIEWS:
                break
            fault = f"A person has refused this plan:\n{plan_words(plan)}\nReason: {review.reason}"
            prompt = plan_prompt(task, self.available_agents, fault)
            plan = await self._planned(prompt, ctx, f"plan.{number + 2}.")
        return None

    async def _begin(self, messages: Sequence[ChatMessage], ctx: Ctx) -> BroadcastMessage | None:
        task = messages[-1].text if messages else ""
        ctx.local.update({"task": task, "count": 0, "begun": max(len(messages) - 1, 0)})
        self._say(messages, ctx)
        plan = await self.create_plan(task, ctx)
        if plan is None:
            reason = f"a person has refused {MAX_REVIEWS} plans"
            usage = self.usage_so_far(ctx)
            await ctx.yield_output(TaskResult(answer="", is_satisfied=False, reason=reason, usage=usage))
            return None
        await self._adopt(plan, ctx)
        return self._assign(plan.steps[0], ctx)

    async def _go_on(self, ctx: Ctx, *, has_failed: bool) -> BroadcastMessage | None:
        said = self.read_conversation(ctx, self._count(ctx, "count"))
        plan = TaskPlan.model_validate(ctx.local["plan"])
        if (reason := self._reason_to_end(said, ctx)) is not None:
            await self._finish(said, plan, reason, ctx)
            return None
        prompt = ledger_prompt(self._task(ctx), self.available_agents, plan, said)
        ledger = await self._asked(prompt, ProgressLedger, "ledger.", ctx)
        if ledger.is_request_satisfied:
            await self._finish(said, plan, "the task is solved", ctx, is_satisfied=True)
            return None
        if (rounds := self._count(ctx, "rounds")) >= self.max_rounds:
            await self._finish(said, plan, f"max_rounds: {rounds} steps", ctx)
            return None
        speaker = name_in(ledger.next_speaker, self.names)
        stalls = self._stalls_after(ledger, ctx, has_failed=has_failed or speaker is None)
        if stalls > self.max_stalls:
            return await self._plan_again(said, plan, ledger.reason or "no progress", ctx)
        ctx.local["stalls"] = stalls
        if speaker is None:
            return self._assign(plan.steps[rounds % len(plan.steps)], ctx)
        words = ledger.instruction_or_question or "Continue with your part of the plan."
        return self._assign(SubTask(agent_id=speaker, instruction=words), ctx)

    def _reason_to_end(self, said: Sequence[ChatMessage], ctx: Ctx) -> str | None:
        own = str(self.id)
        answers = [one for one in said[self._count(ctx, "begun") :] if one.author_name != own]
        if self.termination is not None and (reason := self.termination.reason(answers)):
            return reason
        return None

    def _stalls_after(self, ledger: ProgressLedger, ctx: Ctx, *, has_failed: bool) -> int:
        stalls = self._count(ctx, "stalls")
        is_stalled = has_failed or ledger.is_in_loop or not ledger.is_progress_being_made
        return stalls + 1 if is_stalled else max(stalls - 1, 0)

    async def _plan_again(
        self, said: Sequence[ChatMessage], plan: TaskPlan, why: str, ctx: Ctx
    ) -> BroadcastMessage | None:
        done = self._count(ctx, "replans")
        if done >= self.max_replans:
            await self._finish(said, plan, f"stuck after {done + 1} plans: {why}", ctx)
            return None
        prompt = replan_prompt(self._task(ctx), self.available_agents, plan, said, why)
        new = await self._planned(prompt, ctx, "replan.")
        ctx.local.update({"replans": done + 1, "stalls": 0})
        await self._adopt(new, ctx)
        return self._assign(new.steps[0], ctx)

    async def _planned(self, prompt: str, ctx: Ctx, part: str) -> TaskPlan:
        plan = (await self._asked(prompt, TaskPlan, part, ctx)).within(self.names)
        if plan.steps:
            return plan
        again = f"{prompt}\n\nYour plan had no step for a member. The members are: {', '.join(self.names)}."
        plan = (await self._asked(again, TaskPlan, f"{part}again.", ctx)).within(self.names)
        if plan.steps:
            return plan
        # An error would come again in each resumed run, because the replies are kept.
        step = SubTask(agent_id=self.names[0], instruction=self._task(ctx))
        return plan.model_copy(update={"steps": (step,)})

    async def _adopt(self, plan: TaskPlan, ctx: Ctx) -> None:
        ctx.local["plan"] = plan.model_dump(mode="json")
        replans = self._count(ctx, "replans")
        await ctx.add_event(PlanCreatedEvent(steps=len(plan.steps), replan=replans))
        self._say([ChatMessage.assistant(plan_words(plan), author_name=str(self.id))], ctx)

    def _assign(self, step: SubTask, ctx: Ctx) -> BroadcastMessage:
        rounds = self._count(ctx, "rounds")
        words = f"{step.agent_id}: {step.text}"
        self._say([ChatMessage.assistant(words, author_name=str(self.id))], ctx)
        ctx.local["rounds"] = rounds + 1
        return BroadcastMessage(target=step.agent_id, message_count=self._count(ctx, "count"), round=rounds)

    async def _finish(
        self,
        said: Sequence[ChatMessage],
        plan: TaskPlan,
        reason: str,
        ctx: Ctx,
        *,
        is_satisfied: bool = False,
    ) -> None:
        prompt = ChatMessage.user(answer_prompt(self._task(ctx), said, reason))
        answer = await ask(self.manager, [prompt], ctx, part="answer.")
        self.add_usage(ctx, answer.usage)
        result = TaskResult(
            answer=answer.text,
            is_satisfied=is_satisfied,
            reason=reason,
            plan=plan.steps,
            conversation=tuple(said),
            round_count=self._count(ctx, "rounds"),
            replan_count=self._count(ctx, "replans"),
            usage=self.usage_so_far(ctx),
        )
        await ctx.yield_output(result)

    async def _asked(self, prompt: str, kind: type[DataT], part: str, ctx: Ctx) -> DataT:
        answer = await ask(self.manager, [ChatMessage.user(prompt)], ctx, output_type=kind, part=part)
        self.add_usage(ctx, answer.usage)
        return kind.model_validate(answer.data)

    def _say(self, messages: Sequence[ChatMessage], ctx: Ctx) -> None:
        ctx.local["count"] = self.add_messages(ctx, self._count(ctx, "count"), messages)

    def _task(self, ctx: Ctx) -> str:
        return str(ctx.local["task"])

    def _count(self, ctx: Ctx, name: str) -> int:
        found = ctx.local.get(name, 0)
        return found if isinstance(found, int) else 0
