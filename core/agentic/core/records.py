"""Small immutable classes that are made many times in every superstep, and for every page of a crawl."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from typing_extensions import dataclass_transform

ClassT = TypeVar("ClassT", bound=type)


@dataclass_transform(frozen_default=True)
def record(cls: ClassT) -> ClassT:
    """Make a slotted dataclass that type checkers hold to be frozen.

    A dataclass frozen at run time sets each field through ``object.__setattr__``, which makes it three times
    as slow to create: with some ten records a superstep that was a fifth of the engine's cost.
    """
    # Hashable, as a frozen dataclass is, so that records can be defaults of fields.
    return dataclass(slots=True, unsafe_hash=True)(cls)  # type: ignore[return-value]  # slots make a new class
