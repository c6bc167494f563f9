"""Methods that plugins override and that have a new name: the old one works, with a warning."""

from __future__ import annotations

from abc import ABCMeta


def name_of_override(cls: type, base: type, new: str, old: str) -> str | None:
    """Return the name of a class's override of a method of ``base``: the new or the old one, or None."""
    for one in cls.__mro__:
        if one is base:
            break
        for name in (new, old):
            if name in vars(one):
                return name
    return None


def warn_of_old_method(cls: type, new: str, old: str) -> None:
    """Warn if a new class defines a method by its old name only; for ``__init_subclass__``."""
    if old not in vars(cls) or new in vars(cls):
        return
    from agentic.core.moved import warn_of_old_name

    # The class statement is the fourth frame; one of an abstract class passes through abc.py.
    stack_level = 5 if isinstance(cls, ABCMeta) else 4
    warn_of_old_name(f"{cls.__module__}.{cls.__qualname__}.{old}", new, stack_level)
