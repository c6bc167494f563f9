"""The places between the steps of the protocol where a process can end."""

from __future__ import annotations

Point = tuple[str, int]

BEGUN: Point = ("begun", 0)
"""A run was accepted, and nobody told of it."""

BEATEN: Point = ("beaten", 0)
"""A claim was extended."""

TAKEN_BACK: Point = ("taken-back", 0)
"""A claim was taken from a worker that is gone, and nobody told of it."""

ALWAYS = ("claimed", "worked", "written", "advanced")
"""An activation was claimed; its handler had returned; its result was written, and not committed; the next
superstep had begun, and nobody told of it."""

AT_A_BARRIER = ("kept", "half-told")
"""The last result of several was committed, and nothing decided; one of several workers was told of."""


def mark_of(point: Point) -> str:
    """Return the name of the file that says that a process has ended at a point."""
    name, superstep = point
    return f"crashed-{name}-{superstep}"
