"""Records the replies of a model, and replays them without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal, get_args

from agentic.core.llm.adapter import LLMAdapter, opened_stream, pieces_of
from agentic.core.llm.registry import as_model
from agentic.core.llm.requests import ModelDelta, ModelReply, ModelRequest
from agentic.core.llm.usage import TokenUsage
from agentic.core.llm.wrappers.recordings import Recordings
from agentic.core.threads import in_thread

ReplayMode = Literal["record", "replay", "auto"]


class ReplayModel(LLMAdapter):
    """Records the replies of a model in a file, and replays them: fast, free, and the same each time.

    Replies belong to requests as the model sees them (:attr:`ModelRequest.digest`). Equal requests get their
    replies in the order recorded; a new ``ReplayModel`` begins with the first. A replay has the recorded
    usage and cost. Errors are not recorded.

    Args:
        path: A file that ends in ``.jsonl``; or a folder, where each recording process has a file of its own.
            It belongs to one model.
        model: The model to record; not needed to replay.
        mode: ``replay`` never calls the model. ``record`` always calls it; new replies replace earlier ones.
            ``auto`` replays recorded replies, and calls the model for the others.

    Raises:
        FileNotFoundError: There is nothing to replay.
        ValueError: A model or the mode is missing, or the recordings are of another one, or cannot be read.
    """

    def __init__(
        self, path: str | Path, model: LLMAdapter | str | None = None, *, mode: ReplayMode = "auto"
    ) -> None:
        if mode not in get_args(ReplayMode):  # a wrong letter would ask the model
            raise ValueError(
                f"ReplayModel has no mode {mode!r}; use one of: {', '.join(get_args(ReplayMode))}"
            )
        self.model = model = None if model is None else as_model(model)
        self.mode = mode
        self._recordings = Recordings(Path(path))
        recorded = self._recordings.name
        if mode == "replay" and recorded is None:
            raise FileNotFoundError(
                f"nothing is recorded in {str(path)!r}; run once with mode='auto' and a model"
            )
        if mode != "replay" and model is None:
            raise ValueError(f"ReplayModel(mode={mode!r}) needs a model to record; give one, or use 'replay'")
        if model is not None and recorded not in (None, model.name):
            raise ValueError(
                f"{str(path)!r} has replies of {recorded}, not of {model.name}; use another file"
            )
        self.name = model.name if model else str(recorded)
        self.capabilities = model.capabilities if model else self._recordings.capabilities
        self._used: Counter[str] = Counter()

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See :meth:`LLMAdapter.complete`.

        Raises:
            MissingRecordingError: In mode ``replay``: no reply is recorded. It names the first message that
                differs from the nearest recorded request.
        """
        found = self._replayed(request)
        if isinstance(found, ModelReply):
            return found
        reply = await found.complete(request)
        await self._record(request, reply)
        return reply

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """See :meth:`LLMAdapter.stream`; see :meth:`complete`."""
        found = self._replayed(request)
        if isinstance(found, ModelReply):
            for delta in pieces_of(found):
                yield delta
            return
        async with opened_stream(found, request) as deltas:
            async for delta in deltas:
                if delta.reply is not None:
                    await self._record(request, delta.reply)
                yield delta

    def cost_of(self, usage: TokenUsage) -> float | None:
        """Return the cost of such a use of the model; without the model and a listed price it is 0."""
        return self.model.cost_of(usage) if self.model else super().cost_of(usage) or 0.0

    async def aclose(self) -> None:
        """Close the model."""
        if self.model is not None:
            await self.model.aclose()

    def _replayed(self, request: ModelRequest) -> ModelReply | LLMAdapter:
        """Return the recorded reply, or the model to ask for one."""
        if self.mode != "record":
            replies = self._recordings.of(request.digest)
            number = self._used[request.digest]
            if number < len(replies):
                self._used[request.digest] += 1
                return replies[number]
        if self.mode == "replay" or self.model is None:
            raise self._recordings.missing(request)
        return self.model

    async def _record(self, request: ModelRequest, reply: ModelReply) -> None:
        replaces = self.mode == "record" and request.digest not in self._used
        self._used[request.digest] += 1
        lines = self._recordings.lines_of(request, reply, replaces=replaces)
        await in_thread(self._recordings.append, lines, self.name, self.capabilities)
