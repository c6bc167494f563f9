"""Keeps the secrets of a step out of its results and messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from agentic.core.actors import Failure, SecretStore
from agentic.core.masking import Masker, parts_of, remember_filled
from agentic.core.pipeline.expressions.expressions import SECRETS
from agentic.core.pipeline.expressions.references import find_references
from agentic.core.types import JSONValue

MASK = "***"


@dataclass(frozen=True, slots=True)
class Hidden:
    """The secrets of a call: name -> value. Shows none of them."""

    values: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Hidden({sorted(self.values)})"

    def text(self, text: str) -> str:
        """Return ``text`` with every secret in it masked."""
        return self._masker.text(text, MASK)

    def value(self, value: JSONValue) -> JSONValue:
        """Return ``value`` with every secret in its texts masked."""
        return self._masker.data(value, MASK)

    def failure(self, failure: Failure) -> Failure:
        """Return ``failure`` with every secret in its message masked."""
        return replace(failure, message=self.text(failure.message))

    @property
    def _masker(self) -> Masker:
        return Masker.of(part for value in self.values.values() for part in parts_of(value))


NOTHING_HIDDEN = Hidden({})


async def read_secrets(config: JSONValue, store: SecretStore) -> Hidden:
    """Return the secrets that ``config`` names.

    Raises:
        UnknownSecretError: A secret of that name does not exist.
    """
    found = {name: (await store.secret(name)).get_secret_value() for name in secret_names(config)}
    remember_filled(*found.values())  # redirects must not pass them on
    return Hidden(found)


def secret_names(config: JSONValue) -> list[str]:
    """Return the names of the secrets that ``config`` refers to, as ``${secrets.NAME}``."""
    paths = {found.expression.path for found in find_references(config)}
    return sorted({path[1] for path in paths if path is not None and path[0] == SECRETS and path[1:]})
