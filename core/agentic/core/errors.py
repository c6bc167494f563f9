"""What can go wrong, as one tree.

AgenticError
  SettingsError     a setting or a stored configuration cannot be used (ValueError)
  GraphError        InvalidGraphError, ConvergenceError, UndeliverableMessageError, ...   core.graph.errors
  PluginError       UnknownPlatformError, DuplicateNameError, BrokenActorError            here
  HttpError         FetchError                                                            core.http.errors
  PipelineError     SpecError, UnknownActorError, ActorError                              actors, pipeline
  BusError          BusUnavailableError                                                   core.bus.errors
  ServiceError      an embedded server cannot be started                                  core.services.errors
  DataError         DatabaseNotMigratedError, UnknownProjectError, UnknownAgentError, ... mappers.errors
  LedgerError       LedgerUnavailableError, UnknownRunError, RunExistsError, ...          core.ledger.errors
  DurableError      UnknownWorkflowError, CrashedError, RunFailedError, ...               executors.durable
  ExecutionError    BrokerUnavailableError, ...                                           executors.errors

A message says what happened, with which value, and what to do next; the facts are attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class AgenticError(Exception):
    """Root of every error this project raises on purpose.

    Errors cross process borders (a worker pool pickles them), so they are rebuilt from their message and
    attributes instead of by calling ``__init__``, whose arguments are facts and not the message.

    ``exit_code`` is what the command line ends with: 1 refused or failed, 3 a server cannot be reached
    (2 is bad usage, as everywhere).
    """

    exit_code: ClassVar[int] = 1

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.args, dict(self.__dict__))


def _rebuild(cls: type[AgenticError], args: tuple[object, ...], facts: dict[str, object]) -> AgenticError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(facts)
    return error


class SettingsError(AgenticError, ValueError):
    """A setting cannot be used as it is."""


class PluginError(AgenticError):
    """Something about plugins."""


class UnknownPlatformError(PluginError, LookupError):
    """No plugin brings a platform of that name."""

    def __init__(self, platform: str, known: Sequence[str]) -> None:
        super().__init__(
            f"no plugin brings the platform {platform!r} (known: {', '.join(known) or 'none'}); "
            f"see `agentic plugins`, or `pip install agentic-plugin-{platform}`"
        )
        self.platform = platform
        self.known = tuple(known)


class DuplicateNameError(PluginError, ValueError):
    """Two plugins claim one name."""

    def __init__(self, kind: str, name: str, first: str, second: str) -> None:
        super().__init__(
            f"the {kind} {name!r} is claimed by two plugins, {first} and {second}; "
            f"uninstall one, or name it in AGENTIC_DISABLED_PLUGINS"
        )
        self.kind = kind
        self.name = name
        self.claimants = (first, second)


class BrokenActorError(PluginError, ValueError):
    """A plugin brings an actor that cannot be loaded."""

    def __init__(self, actor: str, plugin: str, reason: str) -> None:
        super().__init__(
            f"the actor {actor!r} of {plugin} cannot be loaded ({reason}); install that plugin anew, or "
            f"name it in AGENTIC_DISABLED_PLUGINS"
        )
        self.actor = actor
        self.plugin = plugin
