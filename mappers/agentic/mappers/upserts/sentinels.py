"""How a row says that its source has nothing to say of a column, or that there is nothing."""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal

from pydantic import BaseModel


class Cleared(Enum):
    """The type of :data:`CLEARED`."""

    CLEARED = "cleared"


CLEARED: Final[Literal[Cleared.CLEARED]] = Cleared.CLEARED
"""Used as a value: the source says that there is none, so the stored value is removed.

The column becomes as in a row that never had a value: its default, or else NULL. Not for a placeholder of
something that is gone (``[deleted]``): mark that in another column, and keep the text.
"""


def stated(thing: BaseModel, field: str, value: object) -> object:
    """Return what a row is to say of a field of ``thing``.

    Args:
        thing: What the source said, validated.
        field: Name of the field in its model.
        value: What the row makes of it; None where there is nothing.

    Returns:
        ``value``; where that is None, ``CLEARED`` if the source gave the field (as null, or as what means
        nothing, like ``""``), and None, which keeps what is stored, if it left it out.
    """
    return CLEARED if value is None and field in thing.model_fields_set else value
