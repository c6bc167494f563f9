"""Errors of the browser itself; an error of a page is a ``FetchError``."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.errors import AgenticError


class BrowserUnavailableError(AgenticError, RuntimeError):
    """No browser is available, or it does not start; the message says what to install."""


class InvalidStorageError(AgenticError, ValueError):
    """The local storage of a session cannot be given to a browser."""

    def __init__(self, session: str, faults: Sequence[str]) -> None:
        super().__init__(
            f"the local storage of session {session!r} cannot be read: {'; '.join(faults)}; give the list "
            f"`origins` of a browser's storage state"
        )
        self.session = session
        self.faults = tuple(faults)
