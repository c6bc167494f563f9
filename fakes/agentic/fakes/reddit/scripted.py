"""Pages of the fake Reddit: posts as ``shreddit-post`` elements, which only a script puts there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from agentic.core.types import JSONValue
from agentic.fakes.pages import Page, document, html_page, json_script
from agentic.fakes.reddit.things import Item, Post
from agentic.fakes.reddit.views import Views

DATA_ID = "posts"
RENDER = f"""
const feed = document.createElement("shreddit-feed");
for (const post of JSON.parse(document.getElementById("{DATA_ID}").textContent)) {{
  const made = document.createElement("shreddit-post");
  for (const [name, value] of Object.entries(post)) made.setAttribute(name, value);
  feed.append(made);
}}
document.getElementById("app").replaceChildren(feed);
"""


def scripted_page(posts: Sequence[Post], views: Views) -> Page:
    """Return a page without posts and the script that adds them."""
    rows: list[JSONValue] = [_attributes(views.post(post)) for post in posts]
    data = json_script(rows, "application/json", DATA_ID)
    return html_page(document("Reddit", f'<div id="app"></div>{data}<script>{RENDER}</script>'), None)


def _attributes(view: Item) -> Item:
    created = datetime.fromtimestamp(float(str(view["created_utc"])), UTC)
    shown: Item = {
        "id": view["name"],
        "permalink": view["permalink"],
        "content-href": view["url"],
        "post-title": view["title"],
        "post-type": "text" if view["is_self"] else "link",
        "author": view["author"],
        "subreddit-name": view["subreddit"],
        "subreddit-prefixed-name": view["subreddit_name_prefixed"],
        "subreddit-id": view["subreddit_id"],
        "score": str(view["score"]),
        "comment-count": str(view["num_comments"]),
        "created-timestamp": created.strftime("%Y-%m-%dT%H:%M:%S.%f+0000"),
        "domain": view["domain"],
    }
    if "author_fullname" in view:
        shown["author-id"] = view["author_fullname"]
    return {**shown, "nsfw": ""} if view["over_18"] else shown
