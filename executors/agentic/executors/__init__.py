"""Runs agents and workflows: platform executors, durable runs, the Celery app and their commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.executors.agents.doctor import AgentsDoctor
    from agentic.executors.agents.factory import ExecutorFactory
    from agentic.executors.api import ApiAgentExecutor
    from agentic.executors.background.runs import DurableBackgroundRuns
    from agentic.executors.base import AgentWork, BaseAgentExecutor
    from agentic.executors.checkpoints import open_checkpoints
    from agentic.executors.errors import NothingReadError, SourceRefusedError, may_pass, refusal_of
    from agentic.executors.project_http import ProjectHttp
    from agentic.executors.retrying import ask_again, refusing
    from agentic.executors.runs import RunClient, RunHandle, submit

__all__ = [
    "AgentWork",
    "AgentsDoctor",
    "ApiAgentExecutor",
    "BaseAgentExecutor",
    "DurableBackgroundRuns",
    "ExecutorFactory",
    "NothingReadError",
    "ProjectHttp",
    "RunClient",
    "RunHandle",
    "SourceRefusedError",
    "ask_again",
    "may_pass",
    "open_checkpoints",
    "refusal_of",
    "refusing",
    "submit",
]

_HOMES = {
    "AgentWork": "base",
    "AgentsDoctor": "agents.doctor",
    "ApiAgentExecutor": "api",
    "BaseAgentExecutor": "base",
    "DurableBackgroundRuns": "background.runs",
    "ExecutorFactory": "agents.factory",
    "NothingReadError": "errors",
    "ProjectHttp": "project_http",
    "RunClient": "runs",
    "RunHandle": "runs",
    "SourceRefusedError": "errors",
    "ask_again": "retrying",
    "may_pass": "errors",
    "open_checkpoints": "checkpoints",
    "refusal_of": "errors",
    "refusing": "retrying",
    "submit": "runs",
}


def __getattr__(name: str) -> object:
    # Every command and TAB completion imports this package; the database would add half a second.
    return loaded(__name__, _HOMES, name)
