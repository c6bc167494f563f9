"""A fast model for simple work, and a smart one after its failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Literal, Protocol

from agentic.core.llm.adapter import LLMAdapter, opened_stream
from agentic.core.llm.messages import ChatMessage
from agentic.core.llm.requests import ModelDelta, ModelReply, ModelRequest, canonical
from agentic.core.llm.wrappers.wrapping import ModelWrapper, naming, naming_delta
from agentic.core.records import record

Tier = Literal["fast", "smart"]

MAX_SIMPLE_CHARS = 2_000
"""A longer error, such as a compiler's about several files, is complex."""


@record(kw_only=True)
class ErrorFingerprint:
    """What an error is about.

    Attributes:
        key: Equal for errors with one cause, whatever lines and numbers they name.
        is_complex: Whether a fast model is not expected to mend it.
    """

    key: str
    is_complex: bool = False


class ErrorFingerprinter(Protocol):
    """Recognizes errors; a room that knows the tools can do it better than :class:`WordFingerprinter`."""

    def fingerprint(self, error: str) -> ErrorFingerprint:
        """Return the fingerprint of the text of an error."""
        ...


class WordFingerprinter:
    """Implements :class:`ErrorFingerprinter` by the words of an error, without numbers, paths and ids.

    Errors of more than 2,000 characters are complex.
    """

    def fingerprint(self, error: str) -> ErrorFingerprint:
        """See :meth:`ErrorFingerprinter.fingerprint`."""
        words = (word.strip("'\"`.,:;()[]{}").lower() for word in error.split())
        kept = [word for word in words if word.replace("-", "").replace("_", "").isalpha()]
        return ErrorFingerprint(key=" ".join(kept), is_complex=len(error) > MAX_SIMPLE_CHARS)


class FailurePick:
    """Picks the smart model by the failures of the conversation since the last message of a person.

    These are results of tools that are errors. After a result that is not one, the failures before it count
    as mended. The smart model is picked for a complex error, for one that came back after an attempt to mend
    it, and after ``patience`` messages with failures of any kind.

    Args:
        fingerprinter: Recognizes errors.
        patience: Messages with failures, one after the other, that the fast model may see.
    """

    def __init__(self, fingerprinter: ErrorFingerprinter | None = None, *, patience: int = 2) -> None:
        self._fingerprinter = WordFingerprinter() if fingerprinter is None else fingerprinter
        self._patience = patience

    def __call__(self, request: ModelRequest) -> Tier:
        """Return the tier of a request."""
        rounds = [self._fingerprints(message) for message in unmended(request.messages)]
        seen = Counter(key for found in rounds for key in {one.key for one in found})
        is_complex = any(one.is_complex for found in rounds for one in found)
        came_back = any(count > 1 for count in seen.values())
        return "smart" if is_complex or came_back or len(rounds) > self._patience else "fast"

    def _fingerprints(self, message: ChatMessage) -> list[ErrorFingerprint]:
        return [self._fingerprinter.fingerprint(error) for error in errors_in(message)]


class TieredModel(ModelWrapper):
    """Asks a fast model or a smart one, request by request; ``ModelReply.replied_by`` names it.

    Args:
        fast: The cheap model.
        smart: The expensive model.
        pick: Returns ``"fast"`` or ``"smart"`` for a request.
    """

    def __init__(
        self,
        fast: LLMAdapter | str,
        smart: LLMAdapter | str,
        pick: Callable[[ModelRequest], Tier] | None = None,
    ) -> None:
        super().__init__(fast, smart)
        self._pick = FailurePick() if pick is None else pick

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See :meth:`LLMAdapter.complete`."""
        model = self.picked(request)
        return naming(await model.complete(request), model)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """See :meth:`LLMAdapter.stream`."""
        model = self.picked(request)
        async with opened_stream(model, request) as deltas:
            async for delta in deltas:
                yield naming_delta(delta, model)

    def picked(self, request: ModelRequest) -> LLMAdapter:
        """Return the model for a request.

        Raises:
            ValueError: ``pick`` returned another word.
        """
        match self._pick(request):
            case "fast":
                return self.models[0]
            case "smart":
                return self.models[1]
            case other:
                raise ValueError(f"pick of a TieredModel returned {other!r}; return 'fast' or 'smart'")


def unmended(messages: tuple[ChatMessage, ...]) -> list[ChatMessage]:
    """Return the last messages of tools with errors, one after the other, the newest first."""
    found: list[ChatMessage] = []
    for message in reversed(messages):
        if message.tool_results:
            if not any(result.is_error for result in message.tool_results):
                break
            found.append(message)
        elif message.role == "user":
            break
    return found


def errors_in(message: ChatMessage) -> Iterator[str]:
    """Yield the texts of the failed tool calls in a message."""
    for result in message.tool_results:
        if result.is_error:
            yield result.content if isinstance(result.content, str) else canonical(result.content)
