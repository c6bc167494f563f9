"""Which values of a stored row win over a newly read row: pure rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentic.mappers import CLEARED

MODES = ("oauth", "archive", "browser", "feed")
"""Ways to read a post, the closest to the author's text first."""

WHOLE = frozenset({"oauth", "archive"})
"""Ways that return all fields of a post."""

CLEARABLE = frozenset({"selftext", "flair", "distinguished"})
"""Optional fields of a post: in a row of a complete way, None means no value."""

MOVING = frozenset({"id", "score", "num_comments", "upvote_ratio", "removed_by", "deleted_at"})
"""Fields that are current in every way that returns them."""

UNCOUNTED = (0, 1)
"""Values that an archive writes before it has counted."""

Row = Mapping[str, object]


def merged(row: Row, stored: Row, mode: str | None) -> dict[str, object]:
    """Return the row to store.

    If a thing is back, its time of deletion is removed, if the mode of reading is reliable in this.

    Args:
        row: Of a post or a comment, as read.
        stored: Its stored row; empty without one.
        mode: The mode of reading.
    """
    is_back = row["deleted_at"] is None and _knows_of_removals(row, stored, mode)
    back = {name: CLEARED for name in ("deleted_at", "removed_by") if is_back and name in row}
    return {**row, **dict.fromkeys(_standing(row, stored, mode)), **back}


def is_poorer(mode: str | None, other: object) -> bool:
    """Whether a post read by ``mode`` has less, or later, information than one read by ``other``."""
    return other in MODES and (mode not in MODES or MODES.index(str(mode)) > MODES.index(str(other)))


def _knows_of_removals(row: Row, stored: Row, mode: str | None) -> bool:
    """Whether a thing that was read really exists: an archive keeps deleted things, and a feed or a page may
    show a thing that a better way has seen as deleted.
    """
    if "body" in row and row["body"] is None:  # a comment without its text
        return False
    if mode == "oauth":
        return True
    return mode != "archive" and "source_mode" in row and not is_poorer(mode, stored.get("source_mode"))


def _standing(row: Row, stored: Row, mode: str | None) -> Iterator[str]:
    """Yield the columns that keep their stored values: the time of deletion, numbers that an archive may not
    have counted, and all values from a better way.
    """
    if stored.get("deleted_at") is not None:
        yield "deleted_at"
    if mode == "archive":
        counted = (name for name in ("score", "num_comments") if stored.get(name) is not None)
        yield from (name for name in counted if row[name] in UNCOUNTED)
    if is_poorer(mode, stored.get("source_mode")):
        yield "raw"
        is_told = stored["source_mode"] in WHOLE and stored["deleted_at"] is None
        for name in row.keys() - MOVING:
            if stored.get(name) is not None or (is_told and name in CLEARABLE):
                yield name
