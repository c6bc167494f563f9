"""Packages whose names are loaded when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module


def loaded(package: str, homes: Mapping[str, str], name: str) -> object:
    """Return a public name of a package, for its ``__getattr__``.

    Args:
        package: Its full name.
        homes: The module of each public name, within the package.
        name: What is asked for.

    Raises:
        AttributeError: It is no public name.
    """
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return getattr(import_module(f"{package}.{homes[name]}"), name)
