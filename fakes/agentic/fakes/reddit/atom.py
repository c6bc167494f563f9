"""Atom as Reddit writes it: no score, no number of comments."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape

from agentic.fakes.pages import Page
from agentic.fakes.reddit.marking import html_of
from agentic.fakes.reddit.things import Item, Post
from agentic.fakes.reddit.views import SITE, Views

ATOM = "application/atom+xml; charset=UTF-8"


def atom_page(posts: Sequence[Post], views: Views, path: str) -> Page:
    """Return posts as a feed."""
    entries = "".join(_entry(views.post(post)) for post in posts)
    updated = _moment(max((post.created for post in posts), default=0.0))
    markup = (
        '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom" '
        f'xmlns:media="http://search.yahoo.com/mrss/"><id>/{escape(path)}</id><title>{escape(path)}</title>'
        f'<link rel="self" href="{SITE}/{escape(path)}" type="application/atom+xml"/>'
        f"<updated>{updated}</updated>{entries}</feed>"
    )
    return Page(markup.encode(), ATOM)


def _entry(view: Item) -> str:
    link = f"{SITE}{view['permalink']}"
    author = str(view["author"])
    text = str(view["selftext"])
    body = f"<!-- SC_OFF -->{html_of(text)}<!-- SC_ON -->" if text else ""
    content = (
        f'{body} &#32; submitted by &#32; <a href="{SITE}/user/{author}"> /u/{author} </a> <br/> '
        f'<span><a href="{escape(str(view["url"]))}">[link]</a></span> &#32; '
        f'<span><a href="{escape(link)}">[comments]</a></span>'
    )
    sub = str(view["subreddit"])
    moment = _moment(float(str(view["created_utc"])))
    return (
        f"<entry><author><name>/u/{author}</name><uri>{SITE}/user/{author}</uri></author>"
        f'<category term="{sub}" label="r/{sub}"/><content type="html">{escape(content)}</content>'
        f'<id>{view["name"]}</id><link href="{escape(link)}"/><updated>{moment}</updated>'
        f"<published>{moment}</published><title>{escape(str(view['title']))}</title></entry>"
    )


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
