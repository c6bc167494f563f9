"""Trees of comments as lists: pure rules."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pydantic import ValidationError

from agentic.core.types import JSONValue
from agentic.plugins.reddit.reading.items import Answer, Listing, More

BATCH = 100
"""Comments per further request."""


@dataclass(slots=True)
class Tree:
    """The comments of a post so far.

    Args:
        limit: Maximum number of comments.

    Attributes:
        comments: By fullname, in the order they came, each without its replies.
        waiting: Omitted comments that may be requested.
    """

    limit: int
    comments: dict[str, Answer] = field(default_factory=dict)
    waiting: deque[More] = field(default_factory=deque)

    @property
    def is_full(self) -> bool:
        """Whether the limit is reached."""
        return len(self.comments) >= self.limit

    def add(self, things: Iterable[object]) -> None:
        """Add comments with all their replies, each before its replies."""
        for found in flat(things):
            if isinstance(found, More):
                self.waiting.append(found)
            else:
                self.comments.setdefault(str(found.get("name") or f"t1_{found.get('id')}"), found)

    def next_batch(self) -> More | None:
        """Take the next request: comments before continued threads; None at the end."""
        if not self.waiting:
            return None
        found = next((more for more in self.waiting if not more.is_thread), self.waiting[0])
        self.waiting.remove(found)
        if len(found.children) > BATCH:
            self.waiting.append(found.without(BATCH))
            count = found.count - self.waiting[-1].count
            return found.model_copy(update={"children": found.children[:BATCH], "count": count})
        return found

    def kept(self) -> tuple[Answer, ...]:
        """Return the kept comments."""
        return tuple(self.comments.values())[: self.limit]

    def warnings(self, post_id: str, to_raise: str) -> tuple[str, ...]:
        """Describe the omitted comments in words; ``to_raise`` names the settings that reduce them."""
        cut = max(len(self.comments) - self.limit, 0)
        left_out = cut + sum(more.count for more in self.waiting)
        threads = sum(more.is_thread for more in self.waiting)
        advice = f"; raise {to_raise}"
        found = [f"{left_out:,} comments of {post_id} were skipped{advice}"] if left_out else []
        if threads:
            goes = "thread goes" if threads == 1 else "threads go"
            found.append(f"{threads:,} {goes} on below the comments read of {post_id}{advice}")
        return tuple(found)


def flat(things: Iterable[object]) -> Iterator[Answer | More]:
    """Yield comments, each without its replies and before them, and placeholders of omitted comments.

    It accepts things of the API and bare comments of archives, and skips all other values.
    """
    waiting: deque[object] = deque(things)
    while waiting:
        found = waiting.popleft()
        if not isinstance(found, dict):
            continue
        kind, data = found.get("kind", "t1"), found.get("data", found)
        if not isinstance(data, dict):
            continue
        if kind == "more":
            yield from _more(data)
        elif kind == "t1":
            yield {name: value for name, value in data.items() if name != "replies"}
            waiting.extendleft(reversed(_children(data.get("replies"))))


def _more(data: Answer) -> Iterator[More]:
    try:
        yield More.model_validate(data)
    except ValidationError:
        return


def _children(replies: JSONValue) -> list[object]:
    """Return the content of ``replies``: "" if empty, a Listing, or a bare list."""
    if isinstance(replies, list):
        return [*replies]
    try:
        return [*Listing.model_validate(replies).data.children]
    except ValidationError:
        return []
