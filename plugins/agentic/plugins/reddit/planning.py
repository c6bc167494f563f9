"""From a query to single targets, and back to one result: pure rules."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.plugins.reddit.reading.items import Found, RedditQuery, Target

BATCH = 100
"""Ids per request for scores."""


def targets_of(query: RedditQuery) -> list[Target]:
    """Return the targets in the order of the query, each once."""
    if query.read == "subreddits":
        return [Target(what="about", name=name) for name in _once(query.subreddits)]
    if query.read == "scores":
        names = list(dict.fromkeys(map(fullname, query.ids)))
        batches = (names[start : start + BATCH] for start in range(0, len(names), BATCH))
        return [Target(what="scores", ids=tuple(batch)) for batch in batches]
    if query.ids:
        return [Target(what="tree", name=name) for name in dict.fromkeys(map(fullname, query.ids))]
    return _listings(query)


def trees_of(found: Found) -> list[Target]:
    """Return the trees of the found posts."""
    known = (post.get("name") or post.get("id") for post in found.posts)
    names = dict.fromkeys(fullname(name) for name in known if isinstance(name, str))
    return [Target(what="tree", name=name) for name in names]


def fullname(name: str) -> str:
    """Return an id with its kind; an id without one is a post's."""
    return name if name.startswith(("t1_", "t3_")) else f"t3_{name}"


def joined(parts: Sequence[Found]) -> Found:
    """Return all results as one, with the time of the oldest part."""
    times = [part.read_at for part in parts if part.read_at is not None]
    return Found(
        posts=tuple(post for part in parts for post in part.posts),
        comments=tuple(comment for part in parts for comment in part.comments),
        subreddits=tuple(one for part in parts for one in part.subreddits),
        warnings=tuple(sentence for part in parts for sentence in part.warnings),
        source_mode=next((part.source_mode for part in parts if part.source_mode), None),
        read_at=min(times, default=None),
    )


def _listings(query: RedditQuery) -> list[Target]:
    how = {"sort": query.sort, "t": query.t, "limit": query.limit}
    if query.query is not None:
        places = _once(query.subreddits) or [""]
        return [
            Target.model_validate({**how, "what": "search", "name": n, "query": query.query}) for n in places
        ]
    named = [("listing", name) for name in _once(query.subreddits)]
    named += [("user", name) for name in _once(query.users)]
    return [Target.model_validate({**how, "what": what, "name": name}) for what, name in named]


def _once(names: Sequence[str]) -> list[str]:
    """Return names without duplicates that differ only in case."""
    return list({name.lower(): name for name in names}.values())
