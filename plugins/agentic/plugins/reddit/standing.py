"""What of a row that was read gives way to what is stored of its thing: pure rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentic.mappers import CLEARED

MODES = ("oauth", "archive", "browser", "feed")
"""Ways to read a post: the nearest to the author's text first."""

WHOLE = frozenset({"oauth", "archive"})
"""Ways that return all fields of a post."""

CLEARABLE = frozenset({"selftext", "flair", "distinguished"})
"""Optional fields of a post: in a row of a complete way, None means that there is none."""

MOVING = frozenset({"id", "score", "num_comments", "upvote_ratio", "removed_by", "deleted_at"})
"""Fields that are current in every way that returns them."""

UNCOUNTED = (0, 1)
"""Values that an archive, which counts late, writes before it has counted."""

Row = Mapping[str, object]


def merged(row: Row, stored: Row, mode: str | None) -> dict[str, object]:
    """Return ``row`` as it is to be stored.

    What is there again has no time of being gone any more, if who says so can know.

    Args:
        row: Of a post or a comment, as read.
        stored: Its row by now; empty if there is none.
        mode: The way it was read.
    """
    is_back = row["deleted_at"] is None and _knows_of_removals(row, stored, mode)
    back = {name: CLEARED for name in ("deleted_at", "removed_by") if is_back and name in row}
    return {**row, **dict.fromkeys(_standing(row, stored, mode)), **back}


def is_poorer(mode: str | None, other: object) -> bool:
    """Tell whether a post read by ``mode`` says less, or says it later, than one read by ``other``."""
    return other in MODES and (mode not in MODES or MODES.index(str(mode)) > MODES.index(str(other)))


def _knows_of_removals(row: Row, stored: Row, mode: str | None) -> bool:
    """Tell whether what is read as being there is: an archive keeps what is gone, and a feed or a page may
    show what a better way has seen to be gone.
    """
    if "body" in row and row["body"] is None:  # a comment without its words
        return False
    if mode == "oauth":
        return True
    return mode != "archive" and "source_mode" in row and not is_poorer(mode, stored.get("source_mode"))


def _standing(row: Row, stored: Row, mode: str | None) -> Iterator[str]:
    """Yield the columns that stay as they are stored: when it was first seen to be gone, numbers that an
    archive may not have counted, and all that a better way has told.
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
