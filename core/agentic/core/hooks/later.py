"""Actors that plugins name, and that are loaded when somebody asks for them."""

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
    """Where an actor is, and what it is called.

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
            Exception: It cannot be loaded; a ValueError if it calls itself otherwise.
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
    """Return an actor that is loaded when a pipeline, or a list of all actors, asks for it.

    A pipeline calls a few of the installed actors. The others, and what they import, stay out of memory::

        actor_at("agentic_plugin_x.compare:CompareActor", name="compare", aliases=["Comparer"])

    Args:
        place: Module and name of the class, with a colon between.
        name: As the class has it.
        aliases: Likewise.
    """
    return ActorAt(place, name, tuple(aliases))


class Later(Generic[T]):
    """Something that is loaded when it is asked for, once.

    Args:
        load: Returns it, or raises an error that says whose it is.
    """

    __slots__ = ("load",)

    def __init__(self, load: Callable[[], T]) -> None:
        self.load = load
