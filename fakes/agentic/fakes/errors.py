"""What can go wrong when fakes are started."""

from __future__ import annotations

from agentic.core.errors import AgenticError


class FakesError(AgenticError):
    """Something about the fake servers."""


class MissingExtraError(FakesError, ImportError):
    """A library the fakes are served with is not installed."""

    def __init__(self, library: str) -> None:
        super().__init__(
            f"the fakes need {library}, which is not installed; run `pip install 'agentic-pipelines[local]'`"
        )
        self.library = library


class AddressTakenError(FakesError, OSError):
    """The fakes cannot listen where they were told to."""

    def __init__(self, host: str, port: int, reason: str) -> None:
        super().__init__(
            f"the fakes cannot listen on {host}:{port} ({reason}); choose another port, or 0 for a free one"
        )
        self.host = host
        self.port = port

    def __str__(self) -> str:
        return str(self.args[0])  # OSError would show the arguments as a tuple
