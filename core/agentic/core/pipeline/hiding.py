"""Secrets a step was given, kept out of what it leaves behind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agentic.core.actors import Failure, SecretStore
from agentic.core.pipeline.expressions import SECRETS
from agentic.core.pipeline.references import find_references
from agentic.core.types import JSONValue

MASK = "***"
_SHORTEST = 4  # to mask anything shorter would garble every text


@dataclass(frozen=True, slots=True)
class Hidden:
    """The secrets of a call: name -> value. Shows none of them."""

    values: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Hidden({sorted(self.values)})"

    def text(self, text: str) -> str:
        """Return ``text`` with every secret in it masked."""
        for value in self._worth_hiding():
            text = text.replace(value, MASK)
        return text

    def value(self, value: JSONValue) -> JSONValue:
        """Return ``value`` with every secret in its texts masked."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.value(part) for key, part in value.items()}
        if isinstance(value, Sequence):
            return [self.value(part) for part in value]
        return value

    def failure(self, failure: Failure) -> Failure:
        """Return ``failure`` with every secret in its message masked."""
        return replace(failure, message=self.text(failure.message))

    def _worth_hiding(self) -> Iterable[str]:
        return sorted((v for v in self.values.values() if len(v) >= _SHORTEST), key=len, reverse=True)


NOTHING_HIDDEN = Hidden({})


async def read_secrets(config: JSONValue, store: SecretStore) -> Hidden:
    """Return the secrets that ``config`` names.

    Raises:
        UnknownSecretError: There is none of a name.
    """
    paths = {found.expression.path for found in find_references(config)}
    names = sorted({path[1] for path in paths if path is not None and path[0] == SECRETS})
    return Hidden({name: (await store.secret(name)).get_secret_value() for name in names})
