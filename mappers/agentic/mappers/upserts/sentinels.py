"""How a row says that its source omits a value, or that the value does not exist."""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal

from pydantic import BaseModel


class Cleared(Enum):
    """The type of :data:`CLEARED`."""

    CLEARED = "cleared"


CLEARED: Final[Literal[Cleared.CLEARED]] = Cleared.CLEARED
"""A value of a row: the source reports its absence, so the stored one is removed.

The column gets its default, or else NULL, as if it never had a value. Do not use it for placeholders of
deleted things (``[deleted]``): mark them in another column, and keep the text.
"""


def value_or_cleared(thing: BaseModel, field: str, value: object) -> object:
    """Return the row's value for a field of ``thing``.

    Args:
        thing: Validated data of the source.
        field: Name of the field in its model.
        value: The converted value; None without one.

    Returns:
        ``value``. If that is None: ``CLEARED`` if the source sent the field (as null, or empty, like ``""``),
        or None, which keeps the stored value, if it left the field out.
    """
    return CLEARED if value is None and field in thing.model_fields_set else value
