"""Commands that are loaded when they are called: help needs their names and first sentences only."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, cast

import typer
from typer.main import get_command_name
from typer.models import CommandInfo, TyperInfo

from agentic.core.lazily import uncollected

VERBOSE = frozenset({"-v", "--verbose"})
"""The options before the name of a command, after which that command still runs."""


def add_command_at(app: typer.Typer, place: str, *, name: str, help: str) -> None:  # noqa: A002 - as in typer
    """Add a command that is loaded when it is called::

        add_command_at(app, "agentic_plugin_x.commands:tidy", name="tidy", help="Remove stale rows.")

    Args:
        app: The command line, or a group.
        place: Module and name of its function, with a colon between.
        name: Its name.
        help: The first paragraph of its docstring, shown in the list of commands.
    """
    app.registered_commands.append(_CommandAt(place, name, help))


def add_group_at(
    app: typer.Typer,
    place: str,
    *,
    name: str,
    help: str,  # noqa: A002 - as in typer
    hidden: bool = False,
    callback: Callable[..., None] | None = None,
) -> None:
    """Add a group of commands that is loaded when one of them is called.

    Args:
        app: The command line.
        place: Module and name of its ``typer.Typer``, with a colon between.
        name: Its name.
        help: Its help.
        hidden: Whether help leaves it out.
        callback: Called before each of its commands.
    """
    app.add_typer(_GroupAt(place, help), name=name, hidden=hidden, callback=callback)


def add_old_group(app: typer.Typer, place: str, old: str, new: str, *, help: str) -> None:  # noqa: A002
    """Add a group of commands by its old name: help does not list it, and a call warns on standard error."""

    def warn() -> None:  # typer reads its parameters: a partial has none
        from agentic.core.moved import old_name_text

        sys.stderr.write(f"agentic: {old_name_text(f'`agentic {old}`', f'`agentic {new}`')}\n")

    add_group_at(app, place, name=old, help=help, hidden=True, callback=warn)


def load_place(place: str) -> object:
    """Return the object of a module and a name, with a colon between."""
    module, _, attribute = place.partition(":")
    with uncollected():
        loaded = import_module(module)
    return cast(object, getattr(loaded, attribute))


class _CommandAt(CommandInfo):
    def __init__(self, place: str, name: str, summary: str) -> None:
        self.place = place
        self.summary = summary
        super().__init__(name)

    @property
    def callback(self) -> Callable[..., Any] | None:
        return cast("Callable[..., Any]", load_place(self.place))

    @callback.setter
    def callback(self, given: Callable[..., Any] | None) -> None:
        """Typer sets it when it makes this."""


class _GroupAt(typer.Typer):
    """Has no attributes of a group until one of them is used."""

    def __init__(self, place: str, summary: str) -> None:
        self.place = place
        self.summary = summary

    def loaded(self) -> typer.Typer:
        """Return the group."""
        return cast(typer.Typer, load_place(self.place))

    def __getattr__(self, name: str) -> object:
        whole = vars(self.loaded())
        if name not in whole:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.__dict__.update(whole)  # the same lists: a command that is added to one is in both
        return cast(object, whole[name])


def only(app: typer.Typer, words: Sequence[str]) -> typer.Typer:
    """Return ``app`` with the command that ``words`` name, or with names only if they name none.

    To read what each of eighty commands takes costs more than most commands do.
    """
    wanted = [word for word in words if word not in VERBOSE]
    if not (app.registered_callback or app.registered_groups):
        return app  # typer makes of a single command one that has no name
    return _narrowed(app, wanted)


def _narrowed(app: typer.Typer, words: Sequence[str]) -> typer.Typer:
    wanted = words[0] if words else ""
    commands = [one for one in app.registered_commands if name_of(one) == wanted]
    groups = [_whole(one, words[1:]) for one in app.registered_groups if one.name == wanted]
    narrowed = copy.copy(app)
    if commands or groups:
        narrowed.registered_commands, narrowed.registered_groups = commands, groups
    else:
        narrowed.registered_commands = [_named(one) for one in app.registered_commands]
        narrowed.registered_groups = [_named_group(one) for one in app.registered_groups]
    return narrowed


def name_of(command: CommandInfo) -> str:
    """Return the name that a command has on the command line."""
    return command.name or get_command_name(getattr(command.callback, "__name__", ""))


def _whole(group: TyperInfo, words: Sequence[str]) -> TyperInfo:
    """Return a group, loaded, with the command that ``words`` name."""
    whole = copy.copy(group)
    if (app := group.typer_instance) is not None:
        whole.typer_instance = _narrowed(app.loaded() if isinstance(app, _GroupAt) else app, words)
    return whole


def _named(command: CommandInfo) -> CommandInfo:
    if not isinstance(command, _CommandAt):
        return command
    panel = command.rich_help_panel
    return CommandInfo(command.name, callback=_nothing, help=command.summary, rich_help_panel=panel)


def _named_group(group: TyperInfo) -> TyperInfo:
    if not isinstance(group.typer_instance, _GroupAt):
        return group
    named = copy.copy(group)
    named.typer_instance = typer.Typer(help=group.typer_instance.summary)
    return named


def _nothing() -> None:
    """Stand for a command whose name is enough."""
