"""Feeds as sites serve them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tests.bench.web.model import Answer, Answers, Case, ExpectedRow

HEAD = '<?xml version="1.0" encoding="utf-8"?>'
RSS = "application/rss+xml"
SITE = "https://garden.example"


def rss(*items: str) -> str:
    """Return a feed of the site."""
    whole = "".join(f"<item>{item}</item>\n" for item in items)
    return (
        f'{HEAD}<rss version="2.0"><channel><title>Garden</title><link>{SITE}/</link>{whole}</channel></rss>'
    )


def item(name: str, more: str = "") -> str:
    """Return an item with a title, an id and a link."""
    place = f"{SITE}/{name.lower()}"
    return f"<title>{name}</title><guid>{place}</guid><link>{place}</link>{more}"


def anonymous(name: str) -> str:
    """Return an item whose id says nothing."""
    return item(name).replace(f"<guid>{SITE}/{name.lower()}</guid>", '<guid isPermaLink="false">0</guid>')


def of_feed(
    name: str, trouble: str, expects: str, *polls: Answer, rows: Sequence[ExpectedRow], named_by: str = "feed"
) -> Case:
    """Return the case of a feed that is polled once for each answer."""
    answers: Answers = polls[0] if len(polls) == 1 else polls
    return Case(
        name=name,
        kind="feeds",
        trouble=trouble,
        expects=expects,
        routes={"/feed": answers},
        feed="/feed",
        rounds=len(polls),
        rows=rows,
        named_by=(named_by, "/feed"),
    )


def entry(title: str, link: str, published: str | None = None) -> ExpectedRow:
    """Return the row of an entry."""
    return {"title": title, "link": link, "published": published}


ROSE, TULIP, FERN = (entry(name, f"{SITE}/{name.lower()}") for name in ("Rose", "Tulip", "Fern"))
WHOLE = rss(item("Rose"), item("Tulip"), item("Fern"))
PAIR = f"<title>Fern</title><link>{SITE}/fern?a=1%sb=2</link>"
FERN_PAIR = entry("Fern", f"{SITE}/fern?a=1&b=2")

CASES = (
    of_feed(
        "feed-guids",
        "every entry has the `guid` `0`",
        "a row for each entry",
        Answer(body=rss(*(anonymous(name) for name in ("Rose", "Tulip", "Fern"))), media_type=RSS),
        rows=[ROSE, TULIP, FERN],
    ),
    of_feed(
        "feed-cut",
        "the first answer ends inside an entry, the second one is whole",
        "a row for each entry, none twice",
        Answer(body=WHOLE[: WHOLE.index("<guid>" + SITE + "/fern")], media_type=RSS),
        Answer(body=WHOLE, media_type=RSS),
        rows=[ROSE, TULIP, FERN],
    ),
    of_feed(
        "feed-ampersand",
        "an `&` in a link is escaped in the first answer only",
        "one row with this link",
        Answer(body=rss(PAIR % "&amp;"), media_type=RSS),
        Answer(body=rss(PAIR % "&"), media_type=RSS),
        rows=[FERN_PAIR],
    ),
    of_feed(
        "feed-relative",
        "links are relative, and the feed is on another host than its site",
        "whole links on the host of the site",
        Answer(body=rss("<title>Fern</title><link>/fern</link>"), media_type=RSS),
        rows=[FERN],
    ),
    of_feed(
        "feed-entity",
        "entities of HTML in a title: `Ros&eacute; &amp; fern`",
        "the whole title",
        Answer(body=rss(f"<title>Ros&eacute; &amp; fern</title><link>{SITE}/fern</link>"), media_type=RSS),
        rows=[entry("Rosé & fern", f"{SITE}/fern")],
    ),
    of_feed(
        "feed-json",
        "a JSON Feed with a byte order mark",
        "its entry",
        Answer(
            body="\ufeff"
            + json.dumps(
                {
                    "version": "https://jsonfeed.org/version/1.1",
                    "title": "Garden",
                    "items": [{"id": "f", "url": f"{SITE}/fern", "title": "Fern"}],
                }
            ),
            media_type="application/feed+json",
        ),
        rows=[FERN],
    ),
    of_feed(
        "feed-dates",
        "`pubDate` in the zones `EST`, `CET` and `+01:00`, and one that is not a date",
        "moments in UTC, and no moment",
        Answer(
            body=rss(
                item("Rose", "<pubDate>Sat, 07 Mar 2026 09:30:00 EST</pubDate>"),
                item("Tulip", "<pubDate>Sat, 07 Mar 2026 09:30:00 CET</pubDate>"),
                item("Sage", "<pubDate>Sat, 07 Mar 2026 09:30:00 +01:00</pubDate>"),
                item("Fern", "<pubDate>soon</pubDate>"),
            ),
            media_type=RSS,
        ),
        rows=[
            entry("Rose", f"{SITE}/rose", "2026-03-07T14:30:00+00:00"),
            entry("Tulip", f"{SITE}/tulip", "2026-03-07T08:30:00+00:00"),
            entry("Sage", f"{SITE}/sage", "2026-03-07T08:30:00+00:00"),
            FERN,
        ],
    ),
)
