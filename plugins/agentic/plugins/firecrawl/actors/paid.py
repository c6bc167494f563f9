"""Actors whose calls cost credits."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping

from agentic.core.actors import Actor
from agentic.core.actors.actor import InputT, OutputT
from agentic.core.types import JSONValue


class PaidActor(Actor[InputT, OutputT], ABC):
    """An actor that is retried automatically only if the previous call cost nothing."""

    @classmethod
    def repeatable_after(cls, config: Mapping[str, JSONValue]) -> frozenset[str]:  # noqa: ARG003 - as declared
        """Return the failures that the service reports before it begins."""
        return frozenset({"rate_limited"})
