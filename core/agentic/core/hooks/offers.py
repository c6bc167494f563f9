"""The offers of plugins, by name: a name that two plugins claim belongs to neither; the others still work."""

from __future__ import annotations

import re
from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from contextlib import suppress
from importlib import import_module
from typing import Self, TypeVar, cast, overload

from agentic.core.errors import DuplicateNameError, PluginError
from agentic.core.hooks.later import Later

OWN_CODE = re.compile(r"(?P<file>[^:*?\"<>|]*[^/\\:*?\"<>|]\.py):(?P<function>[^\W\d]\w*)")

T = TypeVar("T")
D = TypeVar("D")


class Offers(Mapping[str, T]):
    """Things by name. A contested name is not among them: ``[]`` raises an error that says who claims it.

    A thing that a plugin only named is loaded at its first use. Iteration over all things leaves out
    the ones that cannot be loaded.

    Args:
        things: Name -> thing, or its loader.
        clashes: Contested name -> the error that names two plugins that claim it.
    """

    def __init__(self, things: Mapping[str, T | Later[T]], clashes: Mapping[str, DuplicateNameError]) -> None:
        self._things = {name: thing for name, thing in things.items() if name not in clashes}
        self.clashes = clashes

    @classmethod
    def of(cls, kind: str, claims: Iterable[tuple[str, str, T | Later[T]]]) -> Self:
        """Index the claims.

        Args:
            kind: The kind of the things: ``platform``.
            claims: (plugin, name, thing), in order.
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
        """Return the thing called ``name``.

        Raises:
            DuplicateNameError: Two plugins claim the name.
            KeyError: No plugin claims it.
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
        """Return the thing called ``name``; ``default`` if it does not exist or is contested."""
        return self[name] if name in self._things else default

    def items(self) -> ItemsView[str, T]:
        """Return all that can be loaded."""
        return self._whole().items()

    def values(self) -> ValuesView[T]:
        """Return all that can be loaded."""
        return self._whole().values()

    def __contains__(self, name: object) -> bool:
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)

    def is_taken(self, name: str) -> bool:
        """Whether any plugin claims ``name``."""
        return name in self._things or name in self.clashes

    def _whole(self) -> dict[str, T]:
        whole: dict[str, T] = {}
        for name in self._things:
            with suppress(PluginError):  # its plugin has recorded it
                whole[name] = self[name]
        return whole

    def joined(self, things: Mapping[str, T]) -> Offers[T]:
        """Return these and ``things``, whose names are not taken."""
        return Offers({**self._things, **things}, self.clashes)


class ActorOffers(Offers[T]):
    """Actors by name. ``./shop.py:clean`` is the actor made of a function in a Python file."""

    def __getitem__(self, name: str) -> T:
        """Return the actor called ``name``.

        Raises:
            OwnCodeError: The function cannot be used.
            DuplicateNameError: See :class:`Offers`, for names of plugins.
        """
        if not is_own_code(name):
            return super().__getitem__(name)
        # By name, as actors of plugins are: hooks know no actors.
        return cast(T, import_module("agentic.core.actors.own_code").load_own_code(name))

    @overload
    def get(self, name: str, /) -> T | None: ...
    @overload
    def get(self, name: str, /, default: T | D) -> T | D: ...
    def get(self, name: str, /, default: object = None) -> object:
        """Return the actor called ``name``; ``default`` if no plugin has it, or two have."""
        return self[name] if is_own_code(name) else super().get(name, default)

    def __contains__(self, name: object) -> bool:
        return is_own_code(name) or super().__contains__(name)


def is_own_code(name: object) -> bool:
    """Whether a name of an actor is a Python file and a function in it: ``./shop.py:clean``."""
    return isinstance(name, str) and ".py:" in name and OWN_CODE.fullmatch(name) is not None


def clash_over(name: str, offers: Mapping[str, object]) -> DuplicateNameError | None:
    """Return the error that names who claims ``name``, if two plugins do."""
    return offers.clashes.get(name) if isinstance(offers, Offers) else None
