"""The common part of the builders of patterns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import Self

from agentic.core.graph import Workflow, WorkflowBuilder, WorkflowConfig
from agentic.core.patterns.conversation import USAGE_STATE
from agentic.core.patterns.errors import InvalidPatternError
from agentic.core.patterns.participants import ParticipantLike


class PatternBuilder(ABC):
    """Builds a workflow of participants: agents, workflows, patterns, executors and functions.

    Args:
        name: The workflow's id.
        version: Decides which checkpoints fit; see :class:`~agentic.core.WorkflowBuilder`.
        config: Limits of its runs.
    """

    fewest = 1

    def __init__(
        self, name: str, *, version: str | None = None, config: WorkflowConfig | None = None
    ) -> None:
        self._name = name
        self._version = version
        self._config = config or WorkflowConfig()
        self._participants: list[ParticipantLike] = []

    @classmethod
    def new(cls, name: str) -> Self:
        """Return a builder."""
        return cls(name)

    def add_participant(self, participant: ParticipantLike) -> Self:
        """Add a participant after those that are there."""
        self._participants.append(participant)
        return self

    def participants(self, participants: Iterable[ParticipantLike]) -> Self:
        """Set the participants, in their order."""
        self._participants = list(participants)
        return self

    def build(self) -> Workflow:
        """Return the workflow.

        Raises:
            InvalidPatternError: Participants are missing, or one cannot take part.
            InvalidGraphError: The graph cannot run: two participants have one name.
        """
        if len(self._participants) < self.fewest:
            raise InvalidPatternError(
                self._name,
                f"it has {len(self._participants)} participants; give at least {self.fewest} "
                "with participants([...])",
            )
        return self._build()

    @abstractmethod
    def _build(self) -> Workflow: ...

    def _graph(self, supersteps: int = 0) -> WorkflowBuilder:
        """Return a builder of the graph, whose runs may take this number of supersteps."""
        config = self._config
        if supersteps > config.max_supersteps:
            config = replace(config, max_supersteps=supersteps)
        key, reducer = USAGE_STATE
        return WorkflowBuilder(self._name, self._version, config).add_state(key, reducer=reducer)


def checked_limit(pattern: str, name: str, value: int, *, least: int = 1) -> int:
    """Return a limit.

    Raises:
        InvalidPatternError: It is less than ``least``.
    """
    if value < least:
        raise InvalidPatternError(pattern, f"{name} is {value}; give {least} or more")
    return value
