"""Errors about LangGraph's graphs and their stored threads."""

from __future__ import annotations

from agentic.core.errors import AgenticError, StoreUnavailableError


class LangGraphError(AgenticError):
    """Base of errors about graphs of LangGraph."""


class MissingLangGraphError(LangGraphError, ImportError):
    """LangGraph is not installed."""

    def __init__(self) -> None:
        super().__init__("graphs of LangGraph need its library: pip install 'agentic-pipelines[langgraph]'")


class GraphNotLoadedError(LangGraphError, ValueError):
    """A graph cannot be loaded by its name."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"the graph {name!r} cannot be used: {reason}")
        self.name = name


class ThreadTakenError(LangGraphError):
    """Another run has continued the thread since this one read it, or has not ended in it."""

    def __init__(self, thread_id: str, reason: str) -> None:
        super().__init__(f"thread {thread_id!r} of LangGraph is in use: {reason}")
        self.thread_id = thread_id


class ThreadNotCopiedError(LangGraphError, ValueError):
    """A thread cannot be copied over another one."""

    def __init__(self, thread_id: str) -> None:
        super().__init__(
            f"thread {thread_id!r} has checkpoints already; delete it first, or copy to another name"
        )
        self.thread_id = thread_id


class ThreadNameError(LangGraphError, ValueError):
    """A thread, or a part of one, has a name that cannot be stored."""

    def __init__(self, what: str, name: str, reason: str) -> None:
        super().__init__(f"the {what} {name[:80]!a} of LangGraph cannot be stored: {reason}")
        self.name = name


class StoredStateError(LangGraphError):
    """A stored checkpoint cannot be read."""

    def __init__(self, thread_id: str, reason: str) -> None:
        super().__init__(f"a stored checkpoint of LangGraph's thread {thread_id!r} cannot be read: {reason}")
        self.thread_id = thread_id


class UnknownStateTypeError(LangGraphError, TypeError):
    """A value in a graph's state has a type that may not be made from stored data."""

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"the state holds a {kind}, which the schema of the graph does not declare: annotate it there, "
            f"or name it: types=[{kind!r}]"
        )
        self.kind = kind


class SaverUnavailableError(LangGraphError, StoreUnavailableError):
    """The store of checkpoints is temporarily unavailable."""
