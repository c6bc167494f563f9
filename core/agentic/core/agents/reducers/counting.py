"""Reducers that need no model: by the number of messages, by tokens, by importance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentic.core.agents.conversation import groups_of
from agentic.core.agents.reducers.choosing import newest_that_fit
from agentic.core.agents.reducers.reducer import ChatReducer, Keep
from agentic.core.llm.messages import ChatMessage
from agentic.core.llm.tokens import TokenEstimator


class NoOpReducer:
    """Leaves conversations as they are."""

    def needs_reduction(self, messages: Sequence[ChatMessage]) -> bool:
        """Return False."""
        del messages
        return False

    async def reduce(self, messages: Sequence[ChatMessage], keep: Keep) -> Sequence[ChatMessage]:
        """Return the messages."""
        del keep
        return messages


class MessageCountingReducer:
    """Keeps the system's messages, the task, and the newest others.

    Args:
        max_messages: Messages that stay, with the system's; results of calls count, too.

    Raises:
        ValueError: ``max_messages`` is below 1.
    """

    def __init__(self, max_messages: int) -> None:
        self.max_messages = _positive("max_messages", max_messages)

    def needs_reduction(self, messages: Sequence[ChatMessage]) -> bool:
        """Whether there are more messages."""
        return len(messages) > self.max_messages

    async def reduce(self, messages: Sequence[ChatMessage], keep: Keep) -> Sequence[ChatMessage]:
        """Return the messages that stay."""
        del keep
        return newest_that_fit(messages, self.max_messages, len)


class TokenCountingReducer:
    """Keeps the system's messages, the task, and the newest others within a number of tokens.

    Args:
        max_tokens: Of all messages; instructions and tools are not counted.
        estimator: Counts them; by the length of the texts if omitted.

    Raises:
        ValueError: ``max_tokens`` is below 1.
    """

    def __init__(self, max_tokens: int, *, estimator: TokenEstimator | None = None) -> None:
        self.max_tokens = _positive("max_tokens", max_tokens)
        self.estimator = estimator or TokenEstimator()

    def needs_reduction(self, messages: Sequence[ChatMessage]) -> bool:
        """Whether the messages have more tokens."""
        return self.tokens_of(messages) > self.max_tokens

    async def reduce(self, messages: Sequence[ChatMessage], keep: Keep) -> Sequence[ChatMessage]:
        """Return the messages that stay."""
        del keep
        return newest_that_fit(messages, self.max_tokens, self.tokens_of)

    def tokens_of(self, messages: Sequence[ChatMessage]) -> int:
        """Return the estimated tokens of messages."""
        return sum(map(self.estimator.message_tokens, messages))


class SlidingWindowReducer:
    """Keeps the newest messages, and the important ones among the older.

    Args:
        window_size: Newest messages that stay.
        max_important: Older important messages that stay, the newest first.
        is_important: By default, messages whose ``meta`` has ``"important": true``.

    Raises:
        ValueError: ``window_size`` is below 1.
    """

    def __init__(
        self,
        window_size: int,
        *,
        max_important: int = 0,
        is_important: Callable[[ChatMessage], bool] | None = None,
    ) -> None:
        self.window_size = _positive("window_size", window_size)
        self.max_important = max_important
        self.is_important = is_important or _is_marked

    def needs_reduction(self, messages: Sequence[ChatMessage]) -> bool:
        """Whether there are more messages than both numbers."""
        return len(messages) > self.window_size + self.max_important

    async def reduce(self, messages: Sequence[ChatMessage], keep: Keep) -> Sequence[ChatMessage]:
        """Return the messages that stay."""
        del keep
        groups = groups_of(messages)
        important = [
            index for index in reversed(range(len(groups))) if any(map(self.is_important, groups[index]))
        ]
        chosen, count = [], 0
        for index in important:
            count += len(groups[index])
            if count > self.max_important:
                break
            chosen.append(index)
        size = self.window_size + sum(len(groups[index]) for index in chosen)
        return newest_that_fit(messages, size, len, chosen)


class ChainReducer:
    """Applies reducers one after the other, each if it is needed.

    Args:
        reducers: In their order.
    """

    def __init__(self, *reducers: ChatReducer) -> None:
        self.reducers = reducers

    def needs_reduction(self, messages: Sequence[ChatMessage]) -> bool:
        """Whether one of them is needed."""
        return any(reducer.needs_reduction(messages) for reducer in self.reducers)

    async def reduce(self, messages: Sequence[ChatMessage], keep: Keep) -> Sequence[ChatMessage]:
        """Return the messages that stay after all of them."""
        for reducer in self.reducers:
            if reducer.needs_reduction(messages):
                messages = await reducer.reduce(messages, keep)
        return messages


def _is_marked(message: ChatMessage) -> bool:
    return message.meta.get("important") is True


def _positive(name: str, value: int) -> int:
    if value < 1:
        raise ValueError(f"{name} is {value}, but must be at least 1")
    return value
