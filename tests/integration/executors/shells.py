"""A command line for tests, in this process and in a folder of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from structlog.testing import capture_logs
from tests.commands import invoke
from typer.testing import Result

from agentic.core.errors import AgenticError
from agentic.mappers import Database, create_execution, find_agent, find_project


@dataclass(frozen=True)
class Shell:
    """A command line in a folder of its own."""

    home: Path
    app: typer.Typer

    def __call__(self, *arguments: str) -> str:
        """Run a command that succeeds; return its output."""
        result = self.run(*arguments)
        if result.exception is not None:
            raise result.exception
        return result.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json"))

    def run(self, *arguments: str) -> Result:
        with capture_logs():  # standard output is the command's
            return invoke(self.app, arguments)

    @staticmethod
    def parse(result: Result) -> Any:
        """Return what a command that need not have succeeded printed as JSON."""
        return json.loads(result.stdout)

    def fails(self, *arguments: str) -> AgenticError:
        """Run a command that is refused; return why."""
        error = self.run(*arguments).exception
        assert isinstance(error, AgenticError)
        return error

    def queue(self, agent: str) -> str:
        """Make an execution that nobody has begun; return its id."""
        with self.database.writing() as session:
            found = find_agent(session, find_project(session, "default").id, agent)
            return create_execution(session, found).id

    @property
    def database(self) -> Database:
        return Database(f"sqlite:///{self.home / 'agentic.db'}")
