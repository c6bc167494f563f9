"""What the API says of a thing, as it is after all orders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from agentic.core.types import JSONValue
from agentic.fakes.reddit.marking import html_of
from agentic.fakes.reddit.things import DELETED, REMOVED, Comment, Item, Post, Subreddit

if TYPE_CHECKING:
    from agentic.fakes.reddit.account import RedditAccount

SITE = "https://www.reddit.com"
TEXTS = ("title", "selftext", "body", "public_description", "description")


class Views:
    """Shows things; ``is_raw``: ``&``, ``<`` and ``>`` as they are, which has to be asked for."""

    def __init__(self, account: RedditAccount, *, is_raw: bool = True) -> None:
        self._account = account
        self._is_raw = is_raw

    def post(self, post: Post) -> Item:
        """Return the data of a post."""
        facts = post.facts
        permalink = permalink_of(post)
        url = f"{SITE}{permalink}" if facts["is_self"] else f"https://example.org/{post.id}"
        view: Item = {**facts, "permalink": permalink, "url": url, "selftext_html": None}
        if not facts["is_self"]:
            view["url_overridden_by_dest"] = url
        if facts["name"] in self._account.deleted:
            view |= {"author": DELETED, "removed_by_category": "deleted"}
            view["selftext"] = DELETED if facts["is_self"] else ""
        elif facts["name"] in self._account.removed:
            view |= {"selftext": REMOVED, "removed_by_category": "moderator"}
        if text := str(view["selftext"]):
            view["selftext_html"] = f"<!-- SC_OFF -->{html_of(text)}<!-- SC_ON -->"
        return self._told(view)

    def comment(self, post: Post, comment: Comment) -> Item:
        """Return the data of a comment without replies."""
        view: Item = {**comment.facts, "permalink": f"{permalink_of(post)}{comment.id}/", "replies": ""}
        if comment.facts["name"] in self._account.deleted:
            view |= {"author": DELETED, "body": DELETED}
        elif comment.facts["name"] in self._account.removed:
            view["body"] = REMOVED
        return self._told(view)

    def subreddit(self, subreddit: Subreddit) -> Item:
        """Return the data of a subreddit."""
        return self._told({**subreddit.facts})

    def _told(self, view: Item) -> Item:
        if isinstance(score := view.get("score"), int):
            view["score"] = view["ups"] = score + self._account.votes
        if view.get("author") == DELETED:
            view.pop("author_fullname", None)
        if not self._is_raw:
            view |= {
                name: escape(text, quote=False) for name in TEXTS if isinstance(text := view.get(name), str)
            }
        for name in ("body", "public_description"):
            if isinstance(text := view.get(name), str):
                view[f"{name}_html"] = f'<div class="md"><p>{escape(text)}</p></div>'
        return view


def listing(
    children: Iterable[Mapping[str, JSONValue]], *, after: str | None = None, dist: int | None = None
) -> Item:
    """Return a ``Listing``."""
    shown: list[JSONValue] = [dict(child) for child in children]
    return {
        "kind": "Listing",
        "data": {"after": after, "before": None, "dist": dist, "modhash": None, "children": shown},
    }


def thing(kind: str, data: Item) -> Item:
    """Return a thing of a kind: ``t1``, ``t3``, ``t5``, ``more``."""
    return {"kind": kind, "data": data}


def permalink_of(post: Post) -> str:
    """Return the path of a post's page."""
    words = "".join(c if c.isascii() and c.isalnum() else "_" for c in str(post.facts["title"]).lower())
    return f"/r/{post.facts['subreddit']}/comments/{post.id}/{words}/"


def more(parent: str, hidden: Sequence[Comment], depth: int) -> Item:
    """Return what stands for comments that an answer leaves out."""
    children: list[JSONValue] = [comment.id for comment in hidden]
    data: Item = {
        "id": hidden[0].id,
        "name": f"t1_{hidden[0].id}",
        "parent_id": parent,
        "count": sum(comment.size for comment in hidden),
        "depth": depth,
        "children": children,
    }
    return thing("more", data)


def continued(parent: str, depth: int) -> Item:
    """Return what stands for a thread that goes on deeper than an answer does."""
    data: Item = {"id": "_", "name": "t1__", "parent_id": parent, "count": 0, "depth": depth, "children": []}
    return thing("more", data)
