"""Loads public names of packages at their first use."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module


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
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    found: object = getattr(import_module(f".{homes[name]}", package), name)
    setattr(sys.modules[package], name, found)
    return found
