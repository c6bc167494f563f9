"""Patterns: agents that work together, as plain workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.patterns.aggregating import (
        AgentAggregator,
        AggregatedResult,
        Aggregator,
        AggregatorFn,
        CustomAggregator,
        DefaultAggregator,
        model_synthesis,
    )
    from agentic.core.patterns.building import PatternBuilder
    from agentic.core.patterns.concurrent import BroadcastExecutor, ConcurrentBuilder
    from agentic.core.patterns.conversation import ConversationInput, PatternResult
    from agentic.core.patterns.errors import (
        AggregationError,
        InvalidPatternError,
        PatternError,
        SelectorMisfitError,
        TooManyFailuresError,
        UnknownParticipantError,
    )
    from agentic.core.patterns.group_chat import GroupChatBuilder, GroupChatOrchestrator, ManagerSelection
    from agentic.core.patterns.magentic import MagenticBuilder, MagenticPlanner
    from agentic.core.patterns.meshes import (
        Handoff,
        HandoffBuilder,
        HandoffCapable,
        HandoffMessage,
        PersonExecutor,
        handoff,
    )
    from agentic.core.patterns.participants import BroadcastMessage, ParticipantLike, ParticipantResult
    from agentic.core.patterns.planning import (
        AgentCapability,
        ComplexTask,
        PlanCreatedEvent,
        ProgressLedger,
        SubTask,
        TaskPlan,
        TaskResult,
    )
    from agentic.core.patterns.ready import brainstorming, code_review, content_creation, research_qa
    from agentic.core.patterns.selectors import (
        GroupChatState,
        SelectionFunc,
        llm_selector,
        no_repeat_selector,
        round_robin_selector,
        smart_selector,
    )
    from agentic.core.patterns.sequential import ConditionalGate, GateCondition, SequentialBuilder, Summarizer
    from agentic.core.patterns.terminations import (
        Termination,
        TerminationFunc,
        any_termination,
        keyword_termination,
        max_messages_termination,
        max_rounds_termination,
    )

__all__ = [
    "AgentAggregator",
    "AgentCapability",
    "AggregatedResult",
    "AggregationError",
    "Aggregator",
    "AggregatorFn",
    "BroadcastExecutor",
    "BroadcastMessage",
    "ComplexTask",
    "ConcurrentBuilder",
    "ConditionalGate",
    "ConversationInput",
    "CustomAggregator",
    "DefaultAggregator",
    "GateCondition",
    "GroupChatBuilder",
    "GroupChatOrchestrator",
    "GroupChatState",
    "Handoff",
    "HandoffBuilder",
    "HandoffCapable",
    "HandoffMessage",
    "InvalidPatternError",
    "MagenticBuilder",
    "MagenticPlanner",
    "ManagerSelection",
    "ParticipantLike",
    "ParticipantResult",
    "PatternBuilder",
    "PatternError",
    "PatternResult",
    "PersonExecutor",
    "PlanCreatedEvent",
    "ProgressLedger",
    "SelectionFunc",
    "SelectorMisfitError",
    "SequentialBuilder",
    "SubTask",
    "Summarizer",
    "TaskPlan",
    "TaskResult",
    "Termination",
    "TerminationFunc",
    "TooManyFailuresError",
    "UnknownParticipantError",
    "any_termination",
    "brainstorming",
    "code_review",
    "content_creation",
    "handoff",
    "keyword_termination",
    "llm_selector",
    "max_messages_termination",
    "max_rounds_termination",
    "model_synthesis",
    "no_repeat_selector",
    "research_qa",
    "round_robin_selector",
    "smart_selector",
]

_HOMES = {
    "AgentAggregator": "aggregating",
    "AggregatedResult": "aggregating",
    "Aggregator": "aggregating",
    "AggregatorFn": "aggregating",
    "CustomAggregator": "aggregating",
    "DefaultAggregator": "aggregating",
    "model_synthesis": "aggregating",
    "PatternBuilder": "building",
    "BroadcastExecutor": "concurrent",
    "ConcurrentBuilder": "concurrent",
    "ConversationInput": "conversation",
    "PatternResult": "conversation",
    "AggregationError": "errors",
    "InvalidPatternError": "errors",
    "PatternError": "errors",
    "SelectorMisfitError": "errors",
    "TooManyFailuresError": "errors",
    "UnknownParticipantError": "errors",
    "GroupChatBuilder": "group_chat",
    "GroupChatOrchestrator": "group_chat",
    "ManagerSelection": "group_chat",
    "MagenticBuilder": "magentic",
    "MagenticPlanner": "magentic",
    "Handoff": "meshes",
    "HandoffBuilder": "meshes",
    "HandoffCapable": "meshes",
    "HandoffMessage": "meshes",
    "PersonExecutor": "meshes",
    "handoff": "meshes",
    "BroadcastMessage": "participants",
    "ParticipantLike": "participants",
    "ParticipantResult": "participants",
    "AgentCapability": "planning",
    "ComplexTask": "planning",
    "PlanCreatedEvent": "planning",
    "ProgressLedger": "planning",
    "SubTask": "planning",
    "TaskPlan": "planning",
    "TaskResult": "planning",
    "brainstorming": "ready",
    "code_review": "ready",
    "content_creation": "ready",
    "research_qa": "ready",
    "GroupChatState": "selectors",
    "SelectionFunc": "selectors",
    "llm_selector": "selectors",
    "no_repeat_selector": "selectors",
    "round_robin_selector": "selectors",
    "smart_selector": "selectors",
    "ConditionalGate": "sequential",
    "GateCondition": "sequential",
    "SequentialBuilder": "sequential",
    "Summarizer": "sequential",
    "Termination": "terminations",
    "TerminationFunc": "terminations",
    "any_termination": "terminations",
    "keyword_termination": "terminations",
    "max_messages_termination": "terminations",
    "max_rounds_termination": "terminations",
}


def __getattr__(name: str) -> object:
    return loaded(__name__, _HOMES, name)
