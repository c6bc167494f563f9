"""The models of one try of a case: counted, asked once, within a budget, recorded and replayed."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agentic.core.actors.context import Once
from agentic.core.agents.specs.spec import FILE_PROVIDERS
from agentic.core.evals.errors import NotRecordedError
from agentic.core.llm.adapter import LLMAdapter, pieces_of
from agentic.core.llm.budget import Budget, BudgetExceededError
from agentic.core.llm.open_models import OpenModels
from agentic.core.llm.requests import ModelDelta, ModelReply, ModelRequest, canonical
from agentic.core.llm.usage import TokenUsage
from agentic.core.llm.wrappers.budgeting import BudgetModel
from agentic.core.llm.wrappers.replay import ReplayModel
from agentic.core.llm.wrappers.wrapping import ModelWrapper
from agentic.core.masking import is_telling
from agentic.core.types import JSONValue

Replies = Literal["ask", "record", "replay"]
"""Whether models are asked; asked for replies that are not recorded yet; or never."""

_NAME_CHARS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPolicy:
    """How an evaluation uses models.

    Attributes:
        replies: Whether they are asked.
        recordings: Folder of the recorded replies; needed to record and to replay.
        budget: Of the whole evaluation; replayed replies cost nothing of it.
    """

    replies: Replies = "ask"
    recordings: Path | None = None
    budget: Budget | None = None


class CaseModels(OpenModels):
    """Opens the models of one try of a case; connections are shared by all.

    Args:
        opened: Has the connections.
        policy: Of the evaluation.
        place: Names the try in the folder of recordings.
        once: Keeps each reply, so that no answered request is made again; None where the caller does.

    Attributes:
        usage: Of all its models so far.
        is_over_budget: Whether the budget had no room for a request.
    """

    def __init__(
        self, opened: OpenModels, policy: ModelPolicy, place: str, *, once: Once | None = None
    ) -> None:
        super().__init__()
        self._shared = opened
        self._policy = policy
        self._place = place
        self._once = once
        self._models: dict[str, LLMAdapter] = {}
        self.usage = TokenUsage()
        self.is_over_budget = False

    def open(self, name: str, options: Mapping[str, JSONValue] | None = None) -> LLMAdapter:
        """Return a model; see :class:`~agentic.core.llm.open_models.OpenModels`.

        Raises:
            NotRecordedError: It is replayed, and nothing is recorded for this try.
        """
        key = canonical([name, dict(options or {})])
        if key not in self._models:
            made = self._made(name, options)
            self._models[key] = _CountedModel(made, self, self._once, _place_of_options(name, options))
        return self._models[key]

    def named(self, name: str, **options: Any) -> LLMAdapter:  # noqa: ANN401 - as of llm()
        """Return a model, as :func:`~agentic.core.llm.llm` does."""
        return self.open(name, options)

    async def aclose(self) -> None:
        """Leave the connections to the others."""

    def _made(self, name: str, options: Mapping[str, JSONValue] | None) -> LLMAdapter:
        policy = self._policy
        folder = policy.recordings
        path = None if folder is None else folder / word_of(model_label(name)) / self._place
        if policy.replies == "replay" and path is not None:
            try:
                return ReplayModel(path, mode="replay")
            except FileNotFoundError:
                raise NotRecordedError(model_label(name), str(path.parent)) from None
        model = self._shared.open(name, options)
        if policy.budget is not None:
            model = BudgetModel(model, policy.budget)
        return model if path is None or policy.replies == "ask" else ReplayModel(path, model)


class _CountedModel(ModelWrapper):
    """Counts the use of a model, and keeps its replies."""

    def __init__(self, model: LLMAdapter, counts: CaseModels, once: Once | None, key: str) -> None:
        super().__init__(model)
        self._counts = counts
        self._once = once
        self._key = key
        self._asked: Counter[str] = Counter()

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See :meth:`LLMAdapter.complete`."""
        with self._noticing():
            reply = await self._kept(request)
        self._count(reply)
        return reply

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """See :meth:`LLMAdapter.stream`; a kept reply comes in few pieces."""
        if self._once is not None:
            for delta in pieces_of(await self.complete(request)):
                yield delta
            return
        with self._noticing():
            async for delta in super().stream(request):
                if delta.reply is not None:
                    self._count(delta.reply)
                yield delta

    async def aclose(self) -> None:
        """Leave the connections to the others."""

    async def _kept(self, request: ModelRequest) -> ModelReply:
        if self._once is None:
            return await self.model.complete(request)
        number = self._asked[request.digest]
        self._asked[request.digest] += 1

        async def ask() -> JSONValue:
            return (await self.model.complete(request)).to_json()

        try:
            kept = await self._once(f"model.{self._key}.{request.digest}.{number}", ask)
        except Exception:
            self._asked[request.digest] -= 1  # the next try of it is the same request
            raise
        return ModelReply.from_json(kept)

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        """Note that the budget had no room: an agent only stops then."""
        try:
            yield
        except BudgetExceededError:
            self._counts.is_over_budget = True
            raise

    def _count(self, reply: ModelReply) -> None:
        self._counts.usage += reply.usage


def _place_of_options(name: str, options: Mapping[str, JSONValue] | None) -> str:
    """Return a model's place among kept replies: two servers may have different models of one name."""
    told = {key: value for key, value in (options or {}).items() if not is_telling(key)}
    return name if not told else word_of(f"{name} {canonical(told)}")


def model_label(name: str) -> str:
    """Return a model for people: one in a file without its folders."""
    provider, _, rest = name.partition(":")
    return f"{provider}:{rest.rpartition('/')[2]}" if provider in FILE_PROVIDERS else name


def word_of(text: str) -> str:
    """Return a name of a file for a text: readable, and different for different texts."""
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "-" for char in text)
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{kept[:_NAME_CHARS]}-{digest}"


def place_of(case_id: str, repeat: int, part: str = "") -> str:
    """Return the file of a try in the folder of a model's recordings."""
    return f"{word_of(case_id)}.{repeat}{part and f'.{part}'}.jsonl"
