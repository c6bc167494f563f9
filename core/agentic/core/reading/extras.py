"""Libraries that only some actors need."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from agentic.core.actors import ActorError


class MissingExtraError(ActorError, ValueError):
    """A library that a step needs is not installed."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(
            f"{library} is not installed; run `pip install 'agentic-pipelines[{extra}]'`",
            failure_class="error",
        )
        self.library = library
        self.extra = extra


def load(library: str, extra: str) -> Any:  # noqa: ANN401 - a module, of whatever shape
    """Return the module ``library``, which comes with the extra of that name.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        return import_module(library)
    except ImportError as exc:
        raise MissingExtraError(library, extra) from exc


def require(library: str, extra: str) -> None:
    """Check that ``library`` is installed, without loading it.

    Raises:
        MissingExtraError: It is not installed.
    """
    if find_spec(library) is None:
        raise MissingExtraError(library, extra)
