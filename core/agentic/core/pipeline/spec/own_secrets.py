"""The passwords and tokens that a pipeline itself holds: in its steps, in its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self, cast

from agentic.core.http.sessions.url_credentials import UrlCredentials
from agentic.core.masking import guessed_secrets, remember_secrets
from agentic.core.pipeline.expressions.secret_masking import Hidden
from agentic.core.pipeline.spec.spec import PipelineSpec
from agentic.core.types import JSONValue

PREFIX = "#"
"""Before the number of an unnamed one; no reference can have it."""


@dataclass(frozen=True, slots=True)
class OwnSecrets:
    """Values that look like secrets, although they are written in the spec.

    They are masked in results, failures and events like other secrets, and URLs are kept without them.

    Attributes:
        credentials: The credentials in URLs, by origin.
    """

    credentials: UrlCredentials = field(default_factory=UrlCredentials)
    _texts: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def found_in(cls, spec: PipelineSpec, inputs: Mapping[str, JSONValue] | None = None) -> Self:
        """Return the secrets of a pipeline and of its agent's inputs."""
        data: JSONValue = [cast(JSONValue, spec.model_dump(mode="json")), dict(inputs or {})]
        return cls(UrlCredentials.found_in(data), tuple(dict.fromkeys(guessed_secrets(data))))

    def joined(self, hidden: Hidden) -> Hidden:
        """Return the secrets of a call with these; the events and logs of this run know them from now on."""
        if not self._texts:
            return hidden
        remember_secrets(*self._texts)
        named = {f"{PREFIX}{number}": text for number, text in enumerate(self._texts)}
        return Hidden({**named, **hidden.values})


NO_OWN_SECRETS = OwnSecrets()
