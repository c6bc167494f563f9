"""Actors that plugins name, and that are loaded when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar, cast

if TYPE_CHECKING:
    from agentic.core.actors import Actor

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ActorAt:
    """The place and the names of an actor.

    Attributes:
        place: Module and name of its class, with a colon between.
        name: Its name.
        aliases: Its other names.
    """

    place: str
    name: str
    aliases: tuple[str, ...] = ()

    def load(self) -> type[Actor]:
        """Return the class.

        Raises:
            Exception: It cannot be loaded; a ValueError if its name differs.
        """
        module, _, attribute = self.place.partition(":")
        actor = cast("type[Actor]", getattr(import_module(module), attribute))
        if (actor.name, tuple(actor.aliases)) != (self.name, self.aliases):
            raise ValueError(
                f"{self.place} is the actor {actor.name!r} with the aliases {list(actor.aliases)}, not "
                f"{self.name!r} with {list(self.aliases)}; use the same values in actor_at"
            )
        return actor


def actor_at(place: str, *, name: str, aliases: Sequence[str] = ()) -> ActorAt:
    """Return an actor that is loaded when a pipeline, or a list of all actors, uses it.

    A pipeline calls a few of the installed actors. The others, and their imports, stay out of memory::

        actor_at("agentic_plugin_x.compare:CompareActor", name="compare", aliases=["Comparer"])

    Args:
        place: Module and name of the class, with a colon between.
        name: The same as in the class.
        aliases: The same as in the class.
    """
    return ActorAt(place, name, tuple(aliases))


class Later(Generic[T]):
    """An object that is loaded once, when it is first used.

    Args:
        load: Returns it, or raises an error that names its plugin.
    """

    __slots__ = ("load",)

    def __init__(self, load: Callable[[], T]) -> None:
        self.load = load
