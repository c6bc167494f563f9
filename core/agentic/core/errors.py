"""All errors, as one tree.

AgenticError
  SettingsError     a setting or a stored configuration cannot be used (ValueError)
  GraphError        InvalidGraphError, ConvergenceError, UndeliverableMessageError, ...   core.graph.errors
  PluginError       UnknownPlatformError, DuplicateNameError, BrokenActorError            here
  HttpError         FetchError                                                            core.http.errors
  PipelineError     SpecError, UnknownActorError, ActorError                              actors, pipeline
  PatternError      InvalidPatternError, UnknownParticipantError, AggregationError        core.patterns
  BusError          BusUnavailableError                                                   core.bus.errors
  ServiceError      an embedded server cannot be started                                  core.services.errors
  CodingError       UnknownLanguageError, NoCodeError, ...                         core.coding.errors
  SandboxError      SandboxUnavailableError, SandboxLostError, MissingToolError, ...      core.sandbox.errors
  DataError         DatabaseNotMigratedError, UnknownProjectError, UnknownAgentError, ... mappers.errors
  LedgerError       LedgerUnavailableError, UnknownRunError, RunExistsError, ...          core.ledger.errors
  DurableError      UnknownWorkflowError, CrashedError, RunFailedError, ...               executors.durable
  ExecutionError    BrokerUnavailableError, ...                                           executors.errors

A message contains the event, the value, and the next step for the user; the facts are attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

MAX_TEXT_CHARS = 20_000
"""Characters kept of an error: an error may quote a whole document."""


class AgenticError(Exception):
    """Root of every error this project raises on purpose.

    Errors cross process borders (a worker pool pickles them), so they are rebuilt from their message and
    attributes, without ``__init__``, whose arguments are facts and not the message.

    ``exit_code`` is the exit code of the command line: 1 refused or failed, 3 a server cannot be reached
    (2 is wrong usage, as usual).
    """

    exit_code: ClassVar[int] = 1

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.args, dict(self.__dict__))


def text_of(error: BaseException) -> str:
    """Return the message of an error; never raises, even if the error's class does.

    A foreign ``__str__`` may raise, quote a whole document, or return text that no file and no database
    accepts: lone surrogates and NUL are written as escapes here.
    """
    return storable(raw_text_of(error))


def raw_text_of(error: BaseException) -> str:
    """Return the unchanged message of an error, which may not be storable; never raises."""
    try:
        return str(error)
    except BaseException as exc:  # also SystemExit: recording an error ends nothing
        return f"(no text: its __str__ raised {storable(type(exc).__name__)})"


def name_of(error: BaseException) -> str:
    """Return the name of an error's class, safe to store."""
    return storable(type(error).__name__)


def line_of(error: BaseException) -> str:
    """Return the class and message of an error."""
    return f"{name_of(error)}: {text_of(error)}".removesuffix(": ")


def storable(text: str) -> str:
    """Return text that any encoding and database accepts, and that is not too long."""
    if len(text) > MAX_TEXT_CHARS:
        text = f"{text[:MAX_TEXT_CHARS]}... ({len(text)} characters)"
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def _rebuild(cls: type[AgenticError], args: tuple[object, ...], facts: dict[str, object]) -> AgenticError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(facts)
    return error


class StoreUnavailableError(AgenticError):
    """The store of runs and rows is temporarily unavailable; the operation is retried."""


class SettingsError(AgenticError, ValueError):
    """A setting is invalid."""


class PluginError(AgenticError):
    """Base class of plugin errors."""


class UnknownPlatformError(PluginError, LookupError):
    """No plugin provides a platform of that name."""

    def __init__(self, platform: str, known: Sequence[str]) -> None:
        super().__init__(
            f"no plugin provides the platform {platform!r} (known: {', '.join(known) or 'none'}); see "
            f"`agentic plugins`, or `pip install agentic-plugin-{platform}`"
        )
        self.platform = platform
        self.known = tuple(known)


class DuplicateNameError(PluginError, ValueError):
    """Two plugins use the same name."""

    def __init__(self, kind: str, name: str, first: str, second: str) -> None:
        super().__init__(
            f"the {kind} {name!r} is claimed by two plugins, {first} and {second}; "
            f"uninstall one, or name it in AGENTIC_DISABLED_PLUGINS"
        )
        self.kind = kind
        self.name = name
        self.claimants = (first, second)


class BrokenActorError(PluginError, ValueError):
    """A plugin provides an actor that cannot be loaded."""

    def __init__(self, actor: str, plugin: str, reason: str) -> None:
        super().__init__(
            f"the actor {actor!r} of {plugin} cannot be loaded ({reason}); reinstall that plugin, or name "
            "it in AGENTIC_DISABLED_PLUGINS"
        )
        self.actor = actor
        self.plugin = plugin
