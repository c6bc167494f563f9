"""The actor that summarizes texts, pages and items."""

from __future__ import annotations

from pydantic import Field

from agentic.core.actors import Actor, ActorContext
from agentic.core.llm import ChatMessage, ModelRequest, StructuredMode
from agentic.plugins.web.language.asking import (
    DATA_ALONE,
    MODEL_FAILURES,
    READING_FAILURES,
    Question,
    answered,
)
from agentic.plugins.web.language.inputs import LanguageInput
from agentic.plugins.web.language.output import AnswersOutput, Item


class SummarizeInput(LanguageInput):
    """What to summarize, and the form of the summary."""

    length: str = Field(
        default="at most three sentences", min_length=1, description="In words for the model."
    )
    language: str | None = Field(
        default=None, description="Such as `English` or `de`; the language of the text without it."
    )
    into: str = Field(default="summary", min_length=1, description="The field of the item for the summary.")


class SummarizeActor(Actor[SummarizeInput, AnswersOutput]):
    """Summarizes pages, texts and items with a language model."""

    name = "summarize"
    version = "1"
    Input = SummarizeInput
    Output = AnswersOutput
    failure_classes = MODEL_FAILURES | READING_FAILURES
    reads = frozenset({"html", "json", "other"})

    async def run(self, ctx: ActorContext, given: SummarizeInput, /) -> AnswersOutput:
        """Return the item or items with their summaries."""
        return await answered(ctx, given, _Summary(given))


class _Summary(Question):
    def __init__(self, given: SummarizeInput) -> None:
        self._given = given

    def request(self, text: str, mode: StructuredMode) -> ModelRequest:
        del mode  # a summary is plain text
        language = self._given.language or "the language of the text"
        task = (
            f"Summarize the text that the user gives, in {self._given.length}, in {language}. Reply with the "
            f"summary alone. Add no facts of your own. {DATA_ALONE}"
        )
        parts = [task]
        if self._given.instructions:
            parts.append(self._given.instructions)
        return ModelRequest(instructions="\n\n".join(parts), messages=(ChatMessage.user(text),))

    def read(self, message: ChatMessage) -> Item:
        if not (text := message.text.strip()):
            raise ValueError("the summary is empty")
        return {self._given.into: text}

    @property
    def no_answer(self) -> Item:
        return {self._given.into: None}
