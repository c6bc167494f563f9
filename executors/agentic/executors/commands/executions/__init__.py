"""``agentic executions``."""

from typing import TYPE_CHECKING

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from agentic.core.moved import found

        return found(__name__, name)
