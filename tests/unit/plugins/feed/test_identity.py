"""Over all polls of a feed, each entry has one row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.core.reading.dates import as_utc, parse_moment
from agentic.core.reading.feeds import read_feed
from agentic.core.types import JSONValue
from agentic.plugins.feed.identity import Question, StoredEntry, entry_key, identify, question_of, usual_key

SITE = "https://blog.test/"
FIRST = datetime(2026, 10, 1, 8, tzinfo=UTC)
HASH_OF_TITLE_AND_TIME = "sha256:9fc058d7f4c60fdeaef62f6ec599339a8f519805a5c18fe44d3cc7dd0a6cf5fb"
RSS = """<rss version='2.0'><channel>
<item><title>T</title><pubDate>Thu, 01 Oct 2026 10:00:00 +0200</pubDate></item>
<item><guid>7</guid></item>
<item><link>/rel</link></item>
<item><link>http://A.test/x?b=1&amp;a=2</link><guid> </guid></item></channel></rss>"""
ATOM = """<feed xmlns='http://www.w3.org/2005/Atom' xml:base='http://b.test/'>
<entry><link href='one'/></entry>
<entry><id>tag:2</id><link href='two'/></entry>
<entry><title>T</title><updated>2026-10-01T08:00:00Z</updated></entry></feed>"""
JSON = """{"version": "https://jsonfeed.org/version/1.1", "items": [{"url": "http://b.test/1"}, {"id": "x"},
{"title": "T", "date_published": "2026-10-01T10:00:00+02:00"}]}"""
Item = dict[str, JSONValue]


@dataclass
class Rows:
    """The rows of one feed, as a database keeps them: a missing value keeps the stored one."""

    rows: dict[str, Item] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)

    def poll(self, *items: Mapping[str, JSONValue]) -> list[str | None]:
        """Store an answer, and return the keys of its entries."""
        stored = self._where(lambda row: row.key in {usual_key(item) for item in items})
        if (question := question_of(items, stored)) is not None:
            stored |= self._where(lambda row: _is_like(row, question))
        found = identify(items, stored)
        self.doubts = list(found.doubts)
        for key, item in zip(found.keys, items, strict=True):
            if key is not None:
                kept = self.rows.get(key, {})
                self.rows[key] = {
                    **kept,
                    **{name: value for name, value in item.items() if value is not None},
                }
        return list(found.keys)

    def titles(self) -> list[JSONValue]:
        return sorted((row.get("title") or row.get("summary") for row in self.rows.values()), key=str)

    def _where(self, is_wanted: Callable[[StoredEntry], bool]) -> dict[str, StoredEntry]:
        rows = (stored_of(key, row) for key, row in self.rows.items())
        return {row.key: row for row in rows if is_wanted(row)}


def _is_like(row: StoredEntry, question: Question) -> bool:
    return (
        row.key in question.keys
        or row.id in question.ids
        or row.link in question.links
        or row.title in question.titles
        or row.published_at in question.times
    )


def stored_of(key: str, row: Mapping[str, JSONValue]) -> StoredEntry:
    moment = parse_moment(str(row.get("published") or ""))
    values = {name: str(row[name]) if row.get(name) else None for name in ("id", "url", "title")}
    published_at = as_utc(moment) if moment else None
    return StoredEntry(key, values["id"], values["url"], values["title"], published_at)


def item(number: int, **changes: JSONValue) -> Item:
    """Return an entry of a well-made feed."""
    made: Item = {
        "id": f"g{number}",
        "url": f"{SITE}{number}",
        "title": f"T{number}",
        "published": (FIRST + timedelta(hours=number)).isoformat(),
        "summary": f"s{number}",
    }
    return {**made, **changes}


def polled(*polls: Iterable[Item]) -> Rows:
    rows = Rows()
    for poll in polls:
        rows.poll(*poll)
    return rows


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        (item(1), "g1"),
        (item(1, id=None), f"{SITE}1"),
        (item(1, id=f"{SITE}1"), f"{SITE}1"),
        (item(1, id=7), "7"),
        ({"title": "T", "published": "2026-10-01T08:00:00+00:00"}, HASH_OF_TITLE_AND_TIME),
        ({"title": "T", "updated": "2026-10-01T08:00:00+00:00"}, HASH_OF_TITLE_AND_TIME),
    ],
)
def test_the_key_of_an_entry_is_the_key_of_earlier_versions(entry: Item, key: str) -> None:
    assert entry_key(entry) == key
    assert Rows().poll(entry) == [key]


@pytest.mark.parametrize(
    ("body", "keys"),
    [
        (RSS, [HASH_OF_TITLE_AND_TIME, "7", "/rel", "http://A.test/x?b=1&a=2"]),
        (ATOM, ["one", "tag:2", HASH_OF_TITLE_AND_TIME]),
        (JSON, ["http://b.test/1", "x", HASH_OF_TITLE_AND_TIME]),
    ],
)
def test_feeds_have_the_keys_of_earlier_versions(body: str, keys: list[str]) -> None:
    assert Rows().poll(*read_feed(body.encode(), f"{SITE}feed").items) == keys


EDITS: dict[str, Mapping[str, JSONValue]] = {
    "title": {"title": "edited"},
    "link": {"url": f"{SITE}moved"},
    "title and link": {"title": "edited", "url": f"{SITE}moved"},
    "text": {"summary": "edited"},
    "time": {"published": "2026-11-01T08:00:00+00:00"},
    "nothing": {},
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("together", [True, False])
def test_an_edited_entry_keeps_its_row(edit: str, together: bool) -> None:
    others = [item(2), item(3)] if together else []
    rows = polled([item(1), *others])
    assert rows.poll(*others, item(1, **EDITS[edit]))[-1] == "g1"
    assert len(rows.rows) == 1 + len(others)
    assert rows.doubts == []


@pytest.mark.parametrize(
    "made",
    [
        lambda n: item(n, id="N/A"),
        lambda n: item(n, id="N/A", published=None),
        lambda n: item(n, id="N/A", published=None, title="Update"),
        lambda n: item(n, id="N/A", published=None, title=None),
        lambda n: item(n, id="N/A", url=None),
        lambda n: item(n, id="N/A", url=None, published=None),
        lambda n: item(n, id="N/A", url=SITE),
        lambda n: item(n, id="N/A", url=SITE, published=None),
        lambda n: item(n, id=SITE, url=SITE),
        lambda n: item(n, id=SITE, url=SITE, published=None),
        lambda n: item(n, id="N/A", url=None, title=None, published=None),
        lambda n: item(n, id=None, url=None, title=None, published=None),
        lambda n: item(n, id=None, url=None),
        lambda n: item(n, id=None, url=None, published=None),
        lambda n: item(n, id=None, url=None, title="Update"),
        lambda n: item(n, id=None, url=None, title=None),
        lambda n: item(n, url=SITE),
        lambda n: item(n, url=SITE, title="Update", published=None),
    ],
)
def test_entries_that_share_their_id_or_link_are_told_apart_in_any_poll(made: Callable[[int], Item]) -> None:
    rows = polled([made(1), made(2), made(3)])
    assert len(rows.rows) == 3
    keys = list(rows.rows)
    for poll in ([1, 2, 3], [3, 2, 1], [2, 3], [3], [1], [1, 2, 3, 4], [4, 3], [2], [5, 4, 1]):
        rows.poll(*(made(number) for number in poll))
    assert list(rows.rows)[:3] == keys
    assert len(rows.rows) == 5


def test_the_first_entries_with_one_id_are_reported() -> None:
    rows = polled([item(n, id="N/A") for n in range(5)])
    assert rows.doubts == [
        "the id 'N/A' is not unique: 4 more entries have it, and are identified by link, title or text"
    ]
    rows.poll(*(item(n, id="N/A") for n in range(5)))
    assert (rows.doubts, len(rows.rows)) == ([], 5)


def test_one_row_of_an_earlier_version_for_many_entries_stays_one_of_them() -> None:
    rows = Rows({"N/A": item(4, id="N/A")})
    rows.poll(*(item(n, id="N/A") for n in range(5)))
    assert (rows.titles(), rows.rows["N/A"]["title"]) == ([f"T{n}" for n in range(5)], "T4")


@pytest.mark.parametrize("without", ["published", "nothing"])
def test_ids_that_count_places_are_told_apart(without: str) -> None:
    def answer(*numbers: int) -> list[Item]:
        return [item(number, id=str(place), **{without: None}) for place, number in enumerate(numbers, 1)]

    rows = polled(answer(3, 2, 1), answer(4, 3, 2), answer(6, 5, 4), answer(9, 8, 7), answer(10, 9, 8))
    assert rows.titles() == sorted(f"T{number}" for number in range(1, 11))


@pytest.mark.parametrize("without", ["published", "nothing"])
def test_ids_that_are_new_in_each_answer_make_no_new_entries(without: str) -> None:
    def answer(poll: int, *numbers: int) -> list[Item]:
        return [item(number, id=f"{poll}-{number}", **{without: None}) for number in numbers]

    rows = polled(answer(1, 3, 2, 1), answer(2, 4, 3, 2), answer(3, 5, 4, 3), answer(4, 5, 4, 3))
    assert rows.titles() == [f"T{number}" for number in range(1, 6)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"id": "ABC-1"}, {"id": "abc-1"}),
        ({"id": "http://blog.test/1", "url": "http://blog.test/1"}, {"id": f"{SITE}1"}),
        ({"id": f"{SITE}1"}, {"id": "http://blog.test/1", "url": "http://blog.test/1"}),
        ({"id": None}, {"id": "late"}),
        ({"id": "early"}, {"id": None}),
        ({"id": None, "url": None}, {"id": None}),
        ({"id": None, "url": None}, {"id": None, "url": None, "title": "edited"}),
        ({"id": None}, {"id": None, "title": "edited"}),
        ({"id": None, "url": "http://blog.test/1"}, {"id": None}),
    ],
)
def test_an_entry_keeps_its_row_when_its_feed_changes_its_ids(
    before: Mapping[str, JSONValue], after: Mapping[str, JSONValue]
) -> None:
    rows = polled([item(1, **before), item(2, **_of_second(before))])
    keys = list(rows.rows)
    rows.poll(item(2, **_of_second(after)), item(1, **after), item(3))
    assert (len(rows.rows), list(rows.rows)[:2]) == (3, keys)


def _of_second(changes: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    return {name: str(value).replace("1", "2") if value else value for name, value in changes.items()}


def test_a_new_entry_with_an_old_link_is_a_new_entry() -> None:
    rows = polled(
        [item(1, url=SITE), item(2, url=SITE)], [item(3, url=SITE)], [item(4, url=SITE), item(3, url=SITE)]
    )
    assert rows.titles() == ["T1", "T2", "T3", "T4"]


def test_an_entry_that_is_listed_twice_is_one() -> None:
    assert (len(polled([item(1), item(2), item(1)]).rows), polled([item(1), item(1)]).doubts) == (2, [])
    rows = polled([item(1), item(1, summary="other")])
    assert len(rows.rows) == 1
    assert rows.doubts == [
        "2 entries with equal ids, links and titles have different texts; the last is kept"
    ]


def test_episodes_that_have_nothing_but_a_file_are_known_by_it() -> None:
    episodes: list[Item] = [{"enclosures": [{"url": f"https://x.example/{n}.mp3"}]} for n in range(2)]
    first = identify(episodes, {}).keys
    assert None not in first
    assert len(set(first)) == 2
    assert identify(episodes[1:], {}).keys == first[1:]


def test_an_entry_without_identity_has_no_key() -> None:
    assert Rows().poll({"author": "A"}, item(1)) == [None, "g1"]


def test_most_polls_need_no_further_rows() -> None:
    stored = {f"g{n}": stored_of(f"g{n}", item(n)) for n in range(3)}
    assert question_of([item(n, summary="edited") for n in range(3)], stored) is None


@dataclass(frozen=True)
class Post:
    """An entry of a site."""

    number: int
    edits: int = 0


STYLES: dict[str, Callable[[Post], str]] = {
    "own": lambda post: f'<guid isPermaLink="false">p-{post.number}</guid>',
    "number": lambda post: f"<guid>{post.number}</guid>",
    "permalink": lambda post: f"<guid>{SITE}{post.number}</guid>",
    "none": lambda _: "",
    "empty": lambda _: "<guid></guid>",
    "same": lambda _: "<guid>N/A</guid>",
    "home": lambda _: f"<guid>{SITE}</guid>",
}


def served(posts: Sequence[Post], style: str, *, dated: bool, trouble: str) -> bytes:
    """Return a feed, in trouble or not."""
    items = []
    for post in posts:
        edited = f" ({post.edits})" if post.edits else ""
        amp = "&" if trouble == "ampersand" else "&amp;"
        moment = (FIRST + timedelta(hours=post.number)).strftime("%a, %d %b %Y %H:%M:%S GMT")
        items.append(
            f"<item><title>P{post.number} {amp} co{edited}</title>"
            f"<link>{SITE}{post.number}?a=1{amp}copy=2</link>{STYLES[style](post)}"
            f"<description>d{post.edits}</description>"
            f"{f'<pubDate>{moment}</pubDate>' if dated else ''}</item>"
        )
    junk = "\n<b>Notice</b>\n" if trouble == "junk" else ""
    return f"{junk}<rss version='2.0'><channel><title>C</title>{''.join(items)}</channel></rss>".encode()


@settings(max_examples=200, deadline=None)
@given(data=st.data(), style=st.sampled_from(sorted(STYLES)), dated=st.booleans())
def test_each_entry_that_was_once_served_whole_is_stored_once(
    data: st.DataObject, style: str, dated: bool
) -> None:
    posts: list[Post] = [Post(0)]
    rows, count = Rows(), 1
    wanted: set[int] = set()
    for _ in range(data.draw(st.integers(1, 8), "polls")):
        for _ in range(data.draw(st.integers(0, 3), "new")):
            posts, count = [Post(count), *posts], count + 1
        if data.draw(st.booleans(), "removes") and posts:
            staying = data.draw(st.sets(st.sampled_from(range(count))), "staying")
            posts = [post for post in posts if post.number in staying]
        if data.draw(st.booleans(), "edits") and posts:
            place = data.draw(st.integers(0, len(posts) - 1), "edited")
            posts[place] = replace(posts[place], edits=posts[place].edits + 1)
        trouble = data.draw(st.sampled_from(["", "ampersand", "junk", "cut"]), "trouble")
        body = served(posts, style, dated=dated, trouble=trouble)
        if trouble == "cut":
            body = body[: data.draw(st.integers(60, len(body)), "cut at")]
        feed = read_feed(body, f"{SITE}feed")
        whole = body.count(b"</item>")
        assert len(feed.items) == whole
        wanted |= {post.number for post in posts[:whole]}
        rows.poll(*feed.items)
        assert sorted(str(row["url"]) for row in rows.rows.values()) == sorted(
            f"{SITE}{number}?a=1&copy=2" for number in wanted
        )
