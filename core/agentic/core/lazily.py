"""Loads public names of packages at their first use."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec


def loaded(package: str, homes: Mapping[str, str], name: str) -> object:
    """Return a public name of a package, for its ``__getattr__``, which is called once per name.

    Args:
        package: Its full name.
        homes: The module of each public name: in the package, or beside it with a leading dot.
            No module in the package may have the name of a public name: loading it would replace the name.
        name: The requested name.

    Raises:
        AttributeError: It is not a public name.
    """
    if name not in homes:
        return old_name(package, name)
    with uncollected():
        module = import_module(f".{homes[name]}", package)
    found: object = getattr(module, name)
    setattr(sys.modules[package], name, found)
    return found


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the collector of cycles while modules are loaded: they make many objects, and no garbage.

    A command that opens the database would start it 220 times.
    """
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()


def old_name(package: str, name: str) -> object:
    """Return a public name by its old name, see :mod:`agentic.core.moved`.

    Raises:
        AttributeError: It never had this name.
    """
    # The import system and debuggers ask every package for names such as __path__ and __wrapped__.
    if name.startswith("__"):
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    from agentic.core.moved import renamed

    return renamed(package, name)


class OldPaths:
    """A finder at the end of ``sys.meta_path``: it is asked only for modules that do not exist."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Return how to load a module that moved; None for any other module."""
        if not name.startswith("agentic."):
            return None
        from agentic.core import moved

        return moved.spec_of(name)


def find_old_paths() -> None:
    """Make the old paths of modules work, see :mod:`agentic.core.moved`, which is loaded for them only."""
    if OldPaths not in sys.meta_path:
        sys.meta_path.append(OldPaths)
