"""Trees of comments, cut as Reddit cuts them: so many comments, so deep."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.types import JSONValue
from agentic.fakes.reddit.things import Comment, Item, Post
from agentic.fakes.reddit.views import Views, continued, listing, more, thing

DEPTH = 10
LIMIT = 200
MAX_LIMIT = 500
MORE_LIMIT = 100


class TreeView:
    """Shows comments of a post until ``limit`` are shown.

    Args:
        views: Shows a comment.
        post: Whose comments.
        limit: How many.
        depth: How many levels one answer has.
    """

    def __init__(self, views: Views, post: Post, limit: int, depth: int = DEPTH) -> None:
        self._views = views
        self._post = post
        self._left = limit
        self._depth = depth

    def nested(self, comments: Sequence[Comment], parent: str, level: int = 0) -> list[Item]:
        """Return comments with their replies in them."""
        if comments and level >= self._depth:
            return [continued(parent, level)]
        shown: list[Item] = []
        for place, comment in enumerate(comments):
            if self._left <= 0:
                return [*shown, more(parent, comments[place:], level)]
            self._left -= 1
            data = self._views.comment(self._post, comment)
            if replies := self.nested(comment.replies, f"t1_{comment.id}", level + 1):
                data["replies"] = listing(replies)
            shown.append(thing("t1", data))
        return shown

    def listed(self, comments: Sequence[Comment], parent: str, level: int = 0) -> list[Item]:
        """Return comments one after the other, each before its replies."""
        if comments and level >= self._depth:
            return [continued(parent, level)]
        shown: list[Item] = []
        for place, comment in enumerate(comments):
            if self._left <= 0:
                return [*shown, more(parent, comments[place:], level)]
            self._left -= 1
            shown.append(thing("t1", self._views.comment(self._post, comment)))
            shown += self.listed(comment.replies, f"t1_{comment.id}", level + 1)
        return shown


def more_children(views: Views, post: Post, wanted: Sequence[Comment]) -> JSONValue:
    """Return the answer to ``/api/morechildren``: a hundred comments at most, and what is left of them."""
    tree = TreeView(views, post, MORE_LIMIT)
    things: list[JSONValue] = []
    by_parent: dict[str, list[Comment]] = {}
    for comment in wanted:
        by_parent.setdefault(str(comment.facts["parent_id"]), []).append(comment)
    for parent, comments in by_parent.items():
        things += tree.listed(comments, parent)
    return {"json": {"errors": [], "data": {"things": things}}}
