"""Runs agents and workflows: platform executors, durable runs, the Celery app and their commands."""

from agentic.executors.base import BaseAgentExecutor
from agentic.executors.factory import ExecutorFactory
from agentic.executors.runs import RunClient, RunHandle, submit

__all__ = ["BaseAgentExecutor", "ExecutorFactory", "RunClient", "RunHandle", "submit"]
