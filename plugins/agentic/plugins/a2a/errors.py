"""Errors of agents that other systems use, and of agents of other systems."""

from __future__ import annotations

from agentic.core.agents import AgentError


class A2AError(AgentError):
    """Base class of the errors of this plugin."""


class MissingA2ASdkError(A2AError, ImportError):
    """The extra is not installed."""

    def __init__(self, module: str) -> None:
        super().__init__(
            f"A2A needs the module {module!r}, which is not installed: pip install 'agentic-pipelines[a2a]'"
        )
        self.module = module


class RemoteAddressError(A2AError, ValueError):
    """An address cannot be the address of an agent."""

    is_retriable = False


class RemoteAgentError(A2AError):
    """A remote agent does not answer as it should."""

    def __init__(self, agent: str, reason: str) -> None:
        super().__init__(f"remote agent {agent!r}: {reason}")
        self.agent = agent
        self.reason = reason


class RemoteAgentUnavailableError(RemoteAgentError, ConnectionError):
    """A remote agent cannot be reached. ``agent.run((), thread)`` continues: nothing is sent twice."""


class RemoteTaskTimeoutError(RemoteAgentError, TimeoutError):
    """A remote task did not end in time. It continues there; ``agent.run((), thread)`` waits for it again."""


class RemoteAgentDeniedError(RemoteAgentError, PermissionError):
    """A remote agent refuses the credentials."""

    is_retriable = False
