"""Packages whose names are loaded when they are asked for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module


def loaded(package: str, homes: Mapping[str, str], name: str) -> object:
    """Return a public name of a package, for its ``__getattr__``, which is asked for it once.

    Args:
        package: Its full name.
        homes: The module of each public name, within the package; beside it, with a dot before.
            No module in the package may have a public name: when it is loaded, it takes the name's place.
        name: What is asked for.

    Raises:
        AttributeError: It is no public name.
    """
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    found: object = getattr(import_module(f".{homes[name]}", package), name)
    setattr(sys.modules[package], name, found)
    return found
