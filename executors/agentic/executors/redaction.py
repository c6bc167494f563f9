"""Keeps secrets out of what is stored, logged, published and shown."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import BaseModel, SecretBytes, SecretStr

from agentic.core.errors import AgenticError
from agentic.core.graph import WorkflowEvent
from agentic.core.settings import safe_text
from agentic.core.types import JSONValue

MASK = "**********"
MAX_ERROR_CHARS = 500
# Shorter values are no secrets, and masking each "no" or "1" would make a message unreadable.
MIN_SECRET_CHARS = 4


@dataclass(frozen=True, slots=True)
class Redactor:
    """Masks known secrets wherever they turn up, and strips URLs of passwords and queries in errors."""

    secrets: tuple[str, ...] = ()

    @classmethod
    def of(cls, config: BaseModel | None) -> Redactor:
        """Return one that knows every secret in ``config``, at any depth."""
        found = {secret for secret in _secrets_in(config) if len(secret) >= MIN_SECRET_CHARS}
        return cls(tuple(sorted(found, key=len, reverse=True)))

    def joined(self, other: Redactor) -> Redactor:
        """Return one that knows the secrets of both."""
        return Redactor(tuple(sorted({*self.secrets, *other.secrets}, key=len, reverse=True)))

    def text(self, text: str) -> str:
        """Return ``text`` with each secret masked."""
        for secret in self.secrets:
            text = text.replace(secret, MASK)
        return text

    def data(self, value: JSONValue) -> JSONValue:
        """Return JSON data with each secret masked, in keys too."""
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.data(item) for item in value]
            case dict():
                return {self.text(key): self.data(item) for key, item in value.items()}
        return value

    def event(self, event: WorkflowEvent) -> WorkflowEvent:
        """Return ``event`` with each secret masked in its data, and its error cleaned."""
        data = dict(event.data)
        if self.secrets:
            data = {self.text(key): self.data(item) for key, item in data.items()}
        if isinstance(said := data.get("error"), str):
            data["error"] = self.error(said)
        return event.with_data(data)

    def error(self, error: BaseException | str) -> str:
        """Return one short line that says what went wrong, fit to be stored and shown.

        Errors of this project speak for themselves; others are preceded by their type.
        """
        if isinstance(error, str):
            said = error
        elif isinstance(error, AgenticError):
            said = str(error)
        else:
            said = f"{type(error).__name__}: {error}".removesuffix(": ")
        line = " ".join(self.text(safe_text(said)).split())
        return line if len(line) <= MAX_ERROR_CHARS else f"{line[: MAX_ERROR_CHARS - 3]}..."

    def traceback(self, error: BaseException) -> str:
        """Return the traceback of ``error`` for the log."""
        return self.text(safe_text("".join(traceback.format_exception(error))))


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
