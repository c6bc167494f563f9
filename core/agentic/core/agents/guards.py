"""Guards: checks of an agent's input, tool calls and answer."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import isawaitable

from agentic.core.llm.messages import ChatMessage, ToolCall


class Guard:
    """Checks the work of an agent. Subclasses override one or more of its methods.

    Each returns None if all is well, else the reason. Input and answer: the run stops with it. Tool call: the
    model reads it as the result, and the tool is not called.

    The words of a refused answer are in no piece, no response, no thread and no run, unless the agent has
    ``keeps_refused=True``. So an agent whose guards check answers says each reply at once, when it is whole.
    A reply counts as answered once it is checked: if the process dies in the check, the model is asked again.
    """

    async def check_input(self, messages: Sequence[ChatMessage]) -> str | None:
        """Check the messages of a new turn, before the first request to the model."""
        del messages
        return None

    async def check_call(self, call: ToolCall) -> str | None:
        """Check a call before its tool runs, or before a person is asked for approval."""
        del call
        return None

    async def check_answer(self, message: ChatMessage) -> str | None:
        """Check the final message, before the caller gets it."""
        del message
        return None


async def reason_of(checked: object) -> str | None:
    """Return the reason of a guard, which goes into the thread; its method may be a plain one.

    Raises:
        TypeError: It returned something else, such as True, which says neither yes nor no.
    """
    found = await checked if isawaitable(checked) else checked
    if found is None or isinstance(found, str):
        return found
    raise TypeError(f"a guard returns None if all is well, else the reason as a text, not {found!r:.100}")
