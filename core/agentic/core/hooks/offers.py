"""What plugins bring, by name: a name that two of them claim is nobody's, and the others stay as they are."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from contextlib import suppress
from typing import TypeVar, overload

from agentic.core.errors import DuplicateNameError, PluginError
from agentic.core.hooks.later import Later

T = TypeVar("T")
D = TypeVar("D")


class Offers(Mapping[str, T]):
    """Things by name. A contested name is not among them: asking for it with ``[]`` says who claims it.

    What a plugin only named is loaded when it is asked for. Who goes through all things is not given those
    that cannot be loaded.

    Args:
        things: Name -> thing, or what loads it.
        clashes: Contested name -> the error that names two who claim it.
    """

    def __init__(self, things: Mapping[str, T | Later[T]], clashes: Mapping[str, DuplicateNameError]) -> None:
        self._things = {name: thing for name, thing in things.items() if name not in clashes}
        self.clashes = clashes

    @classmethod
    def of(cls, kind: str, claims: Iterable[tuple[str, str, T | Later[T]]]) -> Offers[T]:
        """Index what is claimed.

        Args:
            kind: What the things are: ``platform``.
            claims: Who claims which name for what, in order.
        """
        owners: dict[str, str] = {}
        things: dict[str, T | Later[T]] = {}
        clashes: dict[str, DuplicateNameError] = {}
        for owner, name, thing in claims:
            if name in owners:
                clashes.setdefault(name, DuplicateNameError(kind, name, owners[name], owner))
            owners.setdefault(name, owner)
            things[name] = thing
        return cls(things, clashes)

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, self))}}}"

    def __getitem__(self, name: str) -> T:
        """Return what is called ``name``.

        Raises:
            DuplicateNameError: Two plugins claim the name.
            KeyError: Nobody does.
            PluginError: It cannot be loaded.
        """
        if clash := self.clashes.get(name):
            raise DuplicateNameError(clash.kind, name, *clash.claimants)
        thing = self._things[name]
        if not isinstance(thing, Later):
            return thing
        loaded: T = thing.load()
        self._things[name] = loaded
        return loaded

    @overload
    def get(self, name: str, /) -> T | None: ...
    @overload
    def get(self, name: str, /, default: T | D) -> T | D: ...
    def get(self, name: str, /, default: object = None) -> object:
        """Return what is called ``name`` and is nobody else's; ``default`` if there is no such thing."""
        return self[name] if name in self._things else default

    def items(self) -> ItemsView[str, T]:
        """Go through all that can be loaded."""
        return self._whole().items()

    def values(self) -> ValuesView[T]:
        """Go through all that can be loaded."""
        return self._whole().values()

    def __contains__(self, name: object) -> bool:
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)

    def is_taken(self, name: str) -> bool:
        """Whether anybody claims ``name``."""
        return name in self._things or name in self.clashes

    def _whole(self) -> dict[str, T]:
        whole: dict[str, T] = {}
        for name in self._things:
            with suppress(PluginError):  # which its plugin has taken note of
                whole[name] = self[name]
        return whole

    def joined(self, things: Mapping[str, T]) -> Offers[T]:
        """Return these and ``things``, whose names are not taken."""
        return Offers({**self._things, **things}, self.clashes)


def clash_over(name: str, offers: Mapping[str, object]) -> DuplicateNameError | None:
    """Return who claim ``name``, if two do."""
    return offers.clashes.get(name) if isinstance(offers, Offers) else None
