"""Runs agents: platform executors, their factory, the Celery app and the commands around them."""

from agentic.executors.base import BaseAgentExecutor
from agentic.executors.factory import ExecutorFactory

__all__ = ["BaseAgentExecutor", "ExecutorFactory"]
