"""Keeps secrets out of stored, logged, published and shown data."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, SecretBytes, SecretStr, ValidationError

from agentic.core.errors import AgenticError, line_of, text_of
from agentic.core.graph import WorkflowEvent
from agentic.core.graph.codec.codec import to_text
from agentic.core.hooks import get_registry
from agentic.core.hooks.offers import clash_over
from agentic.core.masking import MASK, Masker, guessed_secrets, mask_known, parts_of, remember_secrets
from agentic.core.settings import safe_text
from agentic.core.types import JSONValue

if TYPE_CHECKING:
    from agentic.mappers import AgentModel

__all__ = ["MASK", "Redactor"]

MAX_ERROR_CHARS = 500


@dataclass(frozen=True, slots=True)
class Redactor:
    """Masks secrets everywhere, and removes passwords and queries from URLs in errors.

    It masks its known secrets in data, too. In text for people it also masks all others that this process
    has read, but not in data: a database password may be an ordinary word.
    """

    secrets: tuple[str, ...] = ()

    @classmethod
    def of(cls, config: BaseModel | None) -> Redactor:
        """Return a redactor that knows every secret in ``config``, at any depth."""
        return cls(Masker.of(part for secret in _secrets_in(config) for part in parts_of(secret)).secrets)

    @classmethod
    def of_agent(cls, agent: AgentModel) -> Redactor:
        """Return a redactor for the secrets in an agent's config; the logs of this process mask them, too.

        Secrets are the values that its platform's settings declare, passwords in URLs, and values of names
        like ``api_key``. Where two plugins claim the platform, any text may be a secret.
        """
        found = [*guessed_secrets(agent.config)]
        platforms = get_registry().platforms
        platform = platforms.get(agent.agent_platform)
        if platform is not None and platform.settings is not None:
            with suppress(ValidationError):  # its runs fail at their start
                found += _secrets_in(platform.settings.model_validate(agent.config))
        remember_secrets(*found)
        if clash_over(agent.agent_platform, platforms):  # most are not secrets: other agents' logs keep them
            found += _texts_in(agent.config)
        return cls(Masker.of(part for secret in found for part in parts_of(secret)).secrets)

    def joined(self, secrets: Sequence[str]) -> Redactor:
        """Return a redactor that knows these secrets, too."""
        return Redactor(self._masker.joined(secrets).secrets) if secrets else self

    def text(self, text: str) -> str:
        """Return ``text`` with each secret masked."""
        return self._masker.text(text)

    def said(self, text: str) -> str:
        """Return text for people with each secret masked, including all secrets of this process."""
        return mask_known(self.text(text))

    def data(self, value: JSONValue) -> JSONValue:
        """Return JSON data with each secret masked, in keys too."""
        return self._masker.data(value)

    def event(self, event: WorkflowEvent) -> WorkflowEvent:
        """Return ``event`` with each secret masked in its data, and its error cleaned."""
        data = dict(event.data)
        # Searching it as one text costs a tenth of searching each part, and most have no secret.
        if self.secrets and self.text(text := to_text(data)) != text:
            data = {self.text(key): self.data(item) for key, item in data.items()}
        if isinstance(said := data.get("error"), str):
            data["error"] = self.error(said)
        return event.with_data(data)

    def error(self, error: BaseException | str) -> str:
        """Return the error in one short line, safe to store and show.

        Errors of other projects get their type as a prefix.
        """
        if isinstance(error, str):
            said = error
        elif isinstance(error, AgenticError):
            said = text_of(error)
        else:
            said = line_of(error)
        line = " ".join(self.said(safe_text(said)).split())
        return line if len(line) <= MAX_ERROR_CHARS else f"{line[: MAX_ERROR_CHARS - 3]}..."

    def traceback(self, error: BaseException) -> str:
        """Return the traceback of ``error`` for the log."""
        return self.said(safe_text("".join(traceback.format_exception(error))))

    @property
    def _masker(self) -> Masker:
        return Masker(self.secrets)


def _texts_in(value: JSONValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from _texts_in(item)
        case list():
            for item in value:
                yield from _texts_in(item)


def _secrets_in(value: object) -> Iterator[str]:
    match value:
        case SecretStr():
            yield value.get_secret_value()
        case SecretBytes():
            yield value.get_secret_value().decode(errors="replace")
        case BaseModel():
            for name in type(value).model_fields:
                yield from _secrets_in(getattr(value, name))
        case Mapping():
            for item in value.values():
                yield from _secrets_in(item)
        case list() | tuple() | set() | frozenset():
            for item in value:
                yield from _secrets_in(item)
