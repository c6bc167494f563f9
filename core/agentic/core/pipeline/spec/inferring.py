"""The intent behind the words of a person, by a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import ValidationError

from agentic.core.actors import PipelineError
from agentic.core.pipeline.spec.intents import IntentSpec

if TYPE_CHECKING:  # a check of a pipeline asks no model
    from agentic.core.llm.adapter import LLMAdapter
    from agentic.core.types import JSONValue

INSTRUCTIONS = (
    "Turn the words of a person into an intent: the data that the person wants from a web site. Choose the "
    "kind: page (the data of one page), list (the items that a list page leads to), search (the items that a "
    "search finds), site (all pages of a site), feed (RSS or Atom). Use only URLs and selectors that the "
    "person gave, and leave out everything else."
)
MAX_WORDS_CHARS = 10_000
NOT_FROM_WORDS = ("schema_version", "goal", "login", "allow_private_hosts")
"""Fields that a model never sets: the words are the goal, and access is the person's own decision."""


class NoIntentError(PipelineError, ValueError):
    """A model found no intent in the words of a person."""

    def __init__(self, faults: str) -> None:
        super().__init__(
            f"the words do not give an intent that can be used: {faults}; name the URL and the data, and for "
            "a list or a search the CSS selector of its items, or write the intent as a file"
        )
        self.faults = faults


class ModelIntentInference:
    """Turns the words of a person into an intent by a model; an :class:`IntentInference`.

    The model is asked again if its answer cannot be used. It cannot choose a site that the words do not name,
    and sets neither a login nor access to private hosts.

    Args:
        model: The model.
        attempts: How often it is asked at most.
    """

    def __init__(self, model: LLMAdapter, *, attempts: int = 3) -> None:
        self.model = model
        self.attempts = attempts

    async def infer(self, words: str) -> IntentSpec:
        """Return the intent behind the words.

        Raises:
            NoIntentError: The model found none, or the words are too long.
            ModelError: It did not reply.
        """
        if len(words) > MAX_WORDS_CHARS:
            raise NoIntentError(f"{len(words)} characters are too many ({MAX_WORDS_CHARS} at most)")
        faults = ""
        for _ in range(self.attempts):
            prompt = f"{words}\n\nAn earlier answer was wrong: {faults}" if faults else words
            try:
                return _intent(await self._ask(prompt), words)
            except ValidationError as exc:
                faults = "; ".join(_told(exc))
            except ValueError as exc:
                faults = str(exc)
        raise NoIntentError(faults)

    async def _ask(self, prompt: str) -> JSONValue:
        from agentic.core.llm.messages import as_messages
        from agentic.core.llm.requests import ModelRequest
        from agentic.core.llm.structured import bind_schema, read_json

        request = ModelRequest(instructions=INSTRUCTIONS, messages=as_messages(prompt))
        bound = bind_schema(request, _schema(), self.model.capabilities.structured, name="intent")
        return read_json((await self.model.complete(bound)).message)


def _schema() -> dict[str, JSONValue]:
    schema = IntentSpec.model_json_schema()
    for name in NOT_FROM_WORDS:
        del schema["properties"][name]
    return schema


def _intent(answer: JSONValue, words: str) -> IntentSpec:
    if not isinstance(answer, dict):
        raise ValueError("the answer is not a JSON object")  # noqa: TRY004  # as of any other wrong answer
    for name in NOT_FROM_WORDS:
        if name in answer:
            raise ValueError(f"{name} is not for you to set; leave it out")
    intent = IntentSpec.model_validate({**answer, "goal": words})
    host = urlsplit(intent.url).hostname
    if not host or host not in words.lower():
        shown = host or intent.url[:100]
        raise ValueError(f"the words do not name the site {shown!r}; use one that they name")
    return intent


def _told(error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False, include_context=False, include_input=False)[:10]:
        yield f"{'.'.join(map(str, fault['loc'])) or 'it'}: {fault['msg']}"
