"""Actors whose calls cost credits."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping

from agentic.core.actors import Actor
from agentic.core.actors.actor import InputT, OutputT
from agentic.core.types import JSONValue


class PaidActor(Actor[InputT, OutputT], ABC):
    """An actor that is called again unasked only where the call before cost nothing."""

    @classmethod
    def repeatable_after(cls, config: Mapping[str, JSONValue]) -> frozenset[str]:  # noqa: ARG003 - as declared
        """Return what the service says before it begins."""
        return frozenset({"rate_limited"})
