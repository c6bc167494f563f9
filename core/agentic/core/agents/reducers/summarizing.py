"""A reducer that replaces the older part of a conversation by a summary of a model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from agentic.core.agents.conversation import groups_of
from agentic.core.agents.reducers.choosing import Group, kept_always
from agentic.core.agents.reducers.counting import TokenCountingReducer
from agentic.core.agents.reducers.reducer import Keep
from agentic.core.errors import line_of
from agentic.core.llm.adapter import LLMAdapter
from agentic.core.llm.messages import ChatMessage, ChatRole
from agentic.core.llm.registry import as_model
from agentic.core.llm.requests import ModelRequest
from agentic.core.llm.tokens import TokenEstimator
from agentic.core.logging import get_logger
from agentic.core.types import JSONValue

log = get_logger(__name__)

INSTRUCTIONS = (
    "Summarize this part of a conversation for the assistant who continues it. Keep names, numbers, "
    "decisions, open questions and results of tools. Answer with the summary only."
)
HEADING = "Summary of the earlier conversation:\n"

_PART = 8
"""Groups that one summary adds to the one before: the same beginning is summarized the same way each time."""


class SummarizingReducer:
    """Replaces older messages by a summary.

    The conversation is summarized in parts of eight groups, each on top of the summary before. A summary is
    made once: it is kept in the thread. If the model fails, the oldest messages are left out instead.

    Args:
        summarizer: Writes the summaries, or its name; a cheap model suffices.
        max_tokens: The conversation is summarized when it has more.
        instructions: For the summarizer.
        estimator: Counts tokens.
    """

    def __init__(
        self,
        summarizer: LLMAdapter | str,
        *,
        max_tokens: int,
        instructions: str = INSTRUCTIONS,
        estimator: TokenEstimator | None = None,
    ) -> None:
        self.summarizer = as_model(summarizer)
        self.instructions = instructions
        self._fallback = TokenCountingReducer(max_tokens, estimator=estimator)

    def needs_reduction(self, messages: Sequence[ChatMessage]) -> bool:
        """Whether the messages have more tokens."""
        return self._fallback.needs_reduction(messages)

    async def reduce(self, messages: Sequence[ChatMessage], keep: Keep) -> Sequence[ChatMessage]:
        """Return the summary and the messages after it."""
        groups = groups_of(messages)
        always = kept_always(groups)
        older = [index for index in range(len(groups)) if index not in always]
        count = self._count_of_older(groups, older)
        try:
            summary = await self._summary([groups[index] for index in older[:count]], keep)
        except Exception as exc:  # the conversation must not end because its summary failed
            log.warning("summary.failed", error=line_of(exc))
            return await self._fallback.reduce(messages, keep)
        gone = set(older[:count])
        found: list[ChatMessage] = []
        for index, group in enumerate(groups):
            if index in gone:
                continue
            if summary is not None and group[0].role is not ChatRole.SYSTEM:
                found.append(ChatMessage.user(f"{HEADING}{summary}"))
                summary = None
            found += group
        for shorter in (found, messages):  # without the summary, if it is too long itself
            if not self.needs_reduction(found):
                break
            found = list(await self._fallback.reduce(shorter, keep))
        return found

    def _count_of_older(self, groups: Sequence[Group], older: Sequence[int]) -> int:
        """Return how many of the older groups to summarize: whole parts, until half of the tokens is free."""
        left = sum(map(self._fallback.tokens_of, groups))
        count = 0
        while left > self._fallback.max_tokens // 2 and count < len(older):
            part = older[count : count + _PART]
            left -= sum(self._fallback.tokens_of(groups[index]) for index in part)
            count += len(part)
        return count

    async def _summary(self, groups: Sequence[Group], keep: Keep) -> str | None:
        summary: str | None = None
        for start in range(0, len(groups), _PART):
            part = [message for group in groups[start : start + _PART] for message in group]
            request = self._request(summary, part)

            async def effect(request: ModelRequest = request) -> JSONValue:
                return (await self.summarizer.complete(request)).text

            key = f"summary.{hashlib.sha256(request.digest.encode()).hexdigest()[:32]}"
            kept = await keep(key, effect)
            if not isinstance(kept, str) or not kept.strip():
                raise ValueError("the summarizer gave an empty summary")
            summary = kept
        return summary

    def _request(self, summary: str | None, part: Sequence[ChatMessage]) -> ModelRequest:
        lines = [] if summary is None else [f"{HEADING}{summary}"]
        lines += [_written(message) for message in part]
        return ModelRequest(instructions=self.instructions, messages=(ChatMessage.user("\n".join(lines)),))


def _written(message: ChatMessage) -> str:
    name = message.author_name or str(message.role)
    calls = [f"{call.name}({json.dumps(call.arguments)})" for call in message.tool_calls]
    results = [f"{one.name} -> {json.dumps(one.content)}" for one in message.tool_results]
    return f"{name}: {' '.join((message.text, *calls, *results)).strip()}"
