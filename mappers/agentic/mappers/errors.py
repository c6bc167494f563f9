"""Errors of stored data.

DataError
  DatabaseUrlError            the URL does not name a supported database (ValueError)
  DatabaseUnavailableError    the database cannot be opened, went away or stays locked (ConnectionError)
  DatabaseNotMigratedError    tables are missing or older than this version
  DatabaseNewerError          a newer version created the tables
  SchemaDriftError            tables differ from the models although every migration was applied
  MigrationError              a migration cannot be loaded or does not run
  UnknownProjectError         UnknownAgentError, UnknownExecutionError (LookupError)
  UnknownDeadLetterError          no dead letter with that id, or several (LookupError)
  DuplicateProjectError       DuplicateAgentError (ValueError)
  AgentDisabledError          the agent starts no new executions
  ProjectBusyError            the project cannot be removed while it has open runs
  UnknownColumnError          a mapper fills a column its table does not have (LookupError)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from agentic.core.errors import AgenticError, StoreUnavailableError


class DataError(AgenticError):
    """Base of errors about stored data."""


class DatabaseUrlError(DataError, ValueError):
    """The URL does not name a supported database."""


class DatabaseUnavailableError(DataError, StoreUnavailableError, ConnectionError):
    """The database cannot be opened, went away, or another process blocked it for too long.

    ``url`` contains neither user name nor password.
    """

    exit_code: ClassVar[int] = 3

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"the database {url} cannot be used: {reason}; check AGENTIC_DATABASE_URL, that it is running "
            "and not blocked by another process (`agentic db upgrade` creates a new SQLite file)"
        )
        self.url = url
        self.reason = reason


class DatabaseNotMigratedError(DataError):
    """Tables are missing or older than this version needs.

    ``behind`` has a sentence for each history that lacks migrations. It is empty for a database without any
    table: in most cases the command ran in another folder than the project's.
    """

    def __init__(self, url: str, behind: Sequence[str] = ()) -> None:
        state = (
            f"is not up to date ({'; '.join(behind)}); run `agentic db upgrade`"
            if behind
            else "does not exist or is empty; change to the folder of your project (or set AGENTIC_HOME or "
            "AGENTIC_DATABASE_URL), or run `agentic db upgrade` to create the tables here"
        )
        super().__init__(f"the database {url} {state}")
        self.url = url
        self.behind = tuple(behind)


class DatabaseNewerError(DataError):
    """A newer version of this project, or of a plugin, created the tables."""

    def __init__(self, url: str, history: str, revision: str) -> None:
        package = "agentic-pipelines" if history == "core" else f"the plugin that provides {history!r}"
        super().__init__(
            f"the database {url} has the {history} revision {revision!r}, which this installation does not "
            f"know; upgrade {package}, or use another database"
        )
        self.url = url
        self.history = history
        self.revision = revision


class SchemaDriftError(DataError):
    """The tables have the newest revision, but differ from the models."""

    def __init__(self, url: str, differences: Sequence[str]) -> None:
        super().__init__(
            f"the tables of {url} differ from the models ({'; '.join(differences)}); write the missing "
            "migration, or undo manual changes of the tables"
        )
        self.url = url
        self.differences = tuple(differences)


class MigrationError(DataError):
    """A migration cannot be loaded or does not run; its changes were rolled back."""

    def __init__(self, history: str, reason: str) -> None:
        advice = "please report it" if history == "core" else "update its plugin, or disable it for now"
        super().__init__(f"the migrations of {history!r} failed and were rolled back: {reason}; {advice}")
        self.history = history
        self.reason = reason


class UnknownProjectError(DataError, LookupError):
    """No project has that name."""

    def __init__(self, project: str, known: Sequence[str]) -> None:
        super().__init__(
            f"no project {project!r} (known: {_listed(known)}); add it with `agentic projects add {project}`"
        )
        self.project = project
        self.known = tuple(known)


class UnknownAgentError(DataError, LookupError):
    """The project has no agent with that name or id; agents of other projects do not count."""

    def __init__(self, agent: str, project: str, known: Sequence[str] = ()) -> None:
        super().__init__(
            f"the project {project!r} has no agent {agent!r} (known: {_listed(known)}); "
            f"see `agentic agents list`"
        )
        self.agent = agent
        self.project = project
        self.known = tuple(known)


class UnknownPipelineError(DataError, LookupError):
    """The project has no pipeline with that name, or not that version."""

    def __init__(self, name: str, known: Sequence[str] = ()) -> None:
        super().__init__(
            f"pipeline {name!r} is not stored (known: {_listed(known)}); see `agentic pipelines list`, or "
            "store one with `agentic pipelines add FILE`"
        )
        self.name = name
        self.known = tuple(known)


class UnknownDeadLetterError(DataError, LookupError):
    """The project has no dead letter with that id, or several with that prefix."""

    def __init__(self, letter: str, count: int = 0) -> None:
        found = f"{count} or more dead letters begin with" if count else "no dead letter begins with"
        super().__init__(
            f"{found} {letter!r}; see `agentic dead-letters list`, or name their execution with --execution"
        )
        self.letter = letter


class UnknownExecutionError(DataError, LookupError):
    """That agent or project has no such execution."""

    def __init__(self, execution: str, owner: str) -> None:
        super().__init__(f"no execution {execution!r} of {owner}; see `agentic executions list`")
        self.execution = execution
        self.owner = owner


class DuplicateProjectError(DataError, ValueError):
    """A project with that name exists."""

    def __init__(self, project: str) -> None:
        super().__init__(f"project {project!r} exists already; choose another name")
        self.project = project


class DuplicateAgentError(DataError, ValueError):
    """The project has an agent with that name."""

    def __init__(self, agent: str, project: str) -> None:
        super().__init__(
            f"the project {project!r} has an agent {agent!r} already; choose another name, or change "
            "that one with --replace"
        )
        self.agent = agent
        self.project = project


class AgentDisabledError(DataError):
    """The agent starts no new executions, because a user disabled it."""

    def __init__(self, agent: str, project: str) -> None:
        super().__init__(
            f"agent {agent!r} of project {project!r} is disabled; enable it with `agentic agents enable "
            f"{agent}`"
        )
        self.agent = agent
        self.project = project


class ProjectBusyError(DataError):
    """The project cannot be removed while it has open runs."""

    def __init__(self, project: str, count: int) -> None:
        runs = "1 run has" if count == 1 else f"{count} runs have"
        super().__init__(
            f"{runs} not ended in project {project!r}; end them with `agentic executions cancel --all` or "
            f"`agentic runs cancel RUN`, or wait"
        )
        self.project = project
        self.count = count


class UnknownColumnError(DataError, LookupError):
    """A mapper fills a column its table does not have."""

    def __init__(self, table: str, names: Sequence[str], known: Sequence[str]) -> None:
        super().__init__(
            f"the table {table!r} has no column {_listed(names)} (known: {_listed(known)}); "
            f"correct the mapper, or put the rest of the source's answer into `raw`"
        )
        self.table = table
        self.names = tuple(names)


class UnstableKeyError(DataError, ValueError):
    """The stored keys of rows differ from the mapper's keys, so the rows would never be found again."""

    def __init__(self, table: str, columns: Sequence[str]) -> None:
        super().__init__(
            f"rows of the table {table!r} return from the database with another key ({_listed(columns)}) "
            "than the mapper gave, so they are never found again; give the key as the database stores it: "
            "numbers rounded, texts without trailing blanks, dates as dates"
        )
        self.table = table
        self.columns = tuple(columns)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
