"""Feeds as sites serve them: nothing is lost, doubled or invented, and the rest is reported."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence

import pytest

from agentic.core.reading.feeds import Feed, read_feed
from agentic.core.reading.markup import MarkupError
from agentic.core.types import JSONValue

PLACE = "http://feeds.example/of/blog"
SITE = "https://blog.example/"


def rss(
    *items: str, head: str = '<?xml version="1.0" encoding="utf-8"?>', site: str = SITE, more: str = ""
) -> str:
    whole = "".join(f"<item>{item}</item>" for item in items)
    return (
        f'{head}<rss version="2.0" {more}><channel><title>C</title><link>{site}</link>{whole}</channel></rss>'
    )


def atom(*entries: str, more: str = "", before: str = "") -> str:
    whole = "".join(entry if entry.startswith("<entry") else f"<entry>{entry}</entry>" for entry in entries)
    return (
        f'<feed xmlns="http://www.w3.org/2005/Atom" {more}><title>F</title><id>f</id>{before}{whole}</feed>'
    )


def in_json(*items: JSONValue, **fields: JSONValue) -> str:
    return json.dumps(
        {"version": "https://jsonfeed.org/version/1.1", "title": "J", **fields, "items": list(items)}
    )


def read(body: str | bytes, content_type: str | None = None) -> Feed:
    return read_feed(body.encode() if isinstance(body, str) else body, PLACE, content_type)


def values(feed: Feed, name: str) -> Sequence[JSONValue]:
    return [item[name] for item in feed.items]


@pytest.mark.parametrize(
    ("item", "identity", "url"),
    [
        ("<guid>a</guid><link>https://x.example/1</link>", "a", "https://x.example/1"),
        ("<guid></guid><link>https://x.example/1</link>", "https://x.example/1", "https://x.example/1"),
        ("<guid> </guid><link>/1</link>", "/1", f"{SITE}1"),
        ("<guid>7</guid>", "7", None),
        ("<guid>https://x.example/1</guid>", "https://x.example/1", "https://x.example/1"),
        ("<guid isPermaLink='true'>https://x.example/1</guid>", "https://x.example/1", "https://x.example/1"),
        ("<guid isPermaLink='false'>https://x.example/1</guid>", "https://x.example/1", None),
        ("<guid isPermaLink='false'>a</guid><link/>", "a", None),
        ("<link>https://x.example/1</link><link>https://x.example/2</link>",) + ("https://x.example/1",) * 2,
        ("<a:link rel='self' href='https://x.example/s'/><link>https://x.example/1</link>",)
        + ("https://x.example/1",) * 2,
        ("<link><![CDATA[ https://x.example/?a=1&b=2 ]]></link>",) + ("https://x.example/?a=1&b=2",) * 2,
        ("<title>only a title</title>", None, None),
    ],
)
def test_an_item_of_rss_has_the_identity_and_address_that_it_wrote(
    item: str, identity: str | None, url: str | None
) -> None:
    feed = read(rss(item, more='xmlns:a="http://www.w3.org/2005/Atom"'))
    assert (feed.items[0]["id"], feed.items[0]["url"]) == (identity, url)


@pytest.mark.parametrize(
    ("links", "url"),
    [
        ('<link rel="self" href="/self"/><link rel="alternate" href="/page"/>', "page"),
        ('<link rel="edit" href="/edit"/><link href="/page"/>', "page"),
        ('<link rel="enclosure" href="/a.mp3"/><link rel="ALTERNATE" href="/page"/>', "page"),
        ('<link rel="replies" href="/r"/><link rel="via" href="/page"/>', "page"),
        ('<link type="application/json" href="/json"/><link type="text/html" href="/page"/>', "page"),
        ('<link rel="http://www.iana.org/assignments/relation/alternate" href="/page"/>', "page"),
        ('<link href="/page"/><link href="/other"/>', "page"),
        ('<link href=""/><link href="/page"/>', "page"),
        ('<link rel="enclosure" href="/a.mp3"/><link rel="self" href="/self"/>', "self"),
        ("", None),
    ],
)
def test_the_page_of_an_entry_is_chosen_among_its_links(links: str, url: str | None) -> None:
    feed = read(atom(f"<id>tag:1</id><title>t</title>{links}", before=f'<link href="{SITE}"/>'))
    assert feed.items[0]["url"] == (f"{SITE}{url}" if url else None)


@pytest.mark.parametrize(
    ("body", "url"),
    [
        (rss("<link>/post/1</link>"), "https://blog.example/post/1"),
        (rss("<link>post/1</link>", site="https://blog.example/sub/"), "https://blog.example/sub/post/1"),
        (rss("<link>//cdn.example/1</link>"), "https://cdn.example/1"),
        (rss("<link>/post/1</link>", site="/news"), "http://feeds.example/post/1"),
        (rss("<link>/post/1</link>", site=""), "http://feeds.example/post/1"),
        (rss("<link>1</link>", more='xml:base="https://base.example/a/"'), "https://base.example/a/1"),
        (rss("<link xml:base='https://base.example/'>1</link>"), "https://base.example/1"),
        (atom('<id>1</id><link href="1"/>', more='xml:base="/blog/"'), "http://feeds.example/blog/1"),
        (
            atom('<entry xml:base="https://on.example/2026/"><id>1</id><link href="one"/></entry>'),
            "https://on.example/2026/one",
        ),
        (
            atom(
                '<entry xml:base="2026/"><id>1</id><link href="one"/></entry>',
                more='xml:base="https://on.example/a/"',
            ),
            "https://on.example/a/2026/one",
        ),
        (atom('<id>1</id><link href="/1"/>', before=f'<link href="{SITE}"/>'), f"{SITE}1"),
        (atom('<id>1</id><link href="/1"/>', before=f'<link rel="self" href="{SITE}feed"/>'), f"{SITE}1"),
        (in_json({"id": "1", "url": "/1"}, home_page_url=SITE), f"{SITE}1"),
        (in_json({"id": "1", "url": "/1"}), "http://feeds.example/1"),
    ],
)
def test_relative_links_count_from_the_base_or_the_site_that_the_feed_names(body: str, url: str) -> None:
    assert read(body).items[0]["url"] == url


def test_relative_enclosures_count_from_the_base_of_their_entry() -> None:
    entry = '<entry xml:base="https://on.example/a/"><id>1</id><link rel="enclosure" href="1.mp3"/></entry>'
    assert read(atom(entry)).items[0]["enclosures"] == [
        {"url": "https://on.example/a/1.mp3", "type": None, "length": None}
    ]


@pytest.mark.parametrize(
    "written",
    [
        *("", "7", "2024", "2024-05", "soon", "Monday", "12:30", "03/04/2026", "0000-00-00 00:00:00", "May"),
        *("Sat, 31 Oct 2026 14:04:00 IST", "31 Oct 26 14:04 CET", "31 Oct 26 14:04 +01:00"),
    ],
)
def test_no_time_is_made_of_other_words(written: str) -> None:
    feed = read(rss(f"<guid>2024</guid><title>t</title><pubDate>{written}</pubDate>"))
    assert (feed.items[0]["published"], feed.items[0]["updated"]) == (written or None, None)


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("Sat, 31 Oct 2026 14:04:00 GMT", "2026-10-31T14:04:00+00:00"),
        ("Sat, 31 Oct 2026 14:04:00 EST", "2026-10-31T19:04:00+00:00"),
        ("Sat, 31 Oct 2026 14:04:00 +0530", "2026-10-31T08:34:00+00:00"),
        ("Sat, 31 Oct 2026 14:04:00 +01:00", "2026-10-31T13:04:00+00:00"),
        ("Sat, 31 Oct 2026 14:04:00 CET", "2026-10-31T13:04:00+00:00"),
        ("Sat, 31 Oct 2026 2:04 PM EST", "2026-10-31T19:04:00+00:00"),
        ("Sat, 31 Oct 2026 14:04:00 GMT+2", "2026-10-31T12:04:00+00:00"),
        ("Sat, 31 Oct 2026 14:04:00 +1", "2026-10-31T13:04:00+00:00"),
        ("Sat, 31 Oct 2026 14:04:00 -0000", "2026-10-31T14:04:00+00:00"),
        ("Sat, 31 Oct 2026 14:04:00", "2026-10-31T14:04:00+00:00"),
        ("31 Oct 26 14:04 Z", "2026-10-31T14:04:00+00:00"),
        ("31 Oct 26 14:04", "2026-10-31T14:04:00+00:00"),
        ("2026-10-31T14:04:00+01:00", "2026-10-31T13:04:00+00:00"),
        ("2026-10-31", "2026-10-31T00:00:00+00:00"),
        ("Sat, 31 Oct 2099 14:04:00 GMT", "2099-10-31T14:04:00+00:00"),
    ],
)
def test_a_time_is_given_in_utc_as_it_was_written(written: str, moment: str) -> None:
    assert read(rss(f"<guid>1</guid><pubDate>{written}</pubDate>")).items[0]["published"] == moment


def test_a_time_of_change_is_no_time_of_publication() -> None:
    item = read(atom("<id>1</id><title>t</title><updated>2026-10-31T14:04:00Z</updated>")).items[0]
    assert (item["published"], item["updated"]) == (None, "2026-10-31T14:04:00+00:00")


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("Q & A", "Q & A"),
        ("Caf&eacute; &amp; Bar", "Café & Bar"),
        ("a&nbsp;b & c", "a\xa0b & c"),
        ("AT&amp;amp;T", "AT&amp;T"),
        ("<![CDATA[Q & A &nbsp;]]>", "Q & A &nbsp;"),
        ("a\x0bb\x00c", "abc"),
        ("a &#x1; b", "a  b"),
        ("1 < 2", "1 < 2"),
        ("&#55357;&#56832;", "\N{GRINNING FACE}"),
    ],
)
@pytest.mark.parametrize(
    "head", ["", "<?xml version='1.0'?><!DOCTYPE rss PUBLIC '-//N//DTD RSS 0.91//EN' 'http://n/a.dtd'>"]
)
def test_a_title_is_whole(written: str, title: str, head: str) -> None:
    feed = read(
        rss(f"<guid>1</guid><title>{written}</title><link>/?a=1&copy=2</link>", "<guid>2</guid>", head=head)
    )
    assert values(feed, "id") == ["1", "2"]
    assert values(feed, "title") == [title, None]
    assert feed.items[0]["url"] == f"{SITE}?a=1&copy=2"
    assert feed.notes == ()


def test_one_raw_ampersand_changes_no_other_value() -> None:
    items = (
        "<title>T&amp;1</title><link>https://x.example/?a=1&amp;copy=2</link>",
        "<title>{}</title><guid>2</guid>",
    )
    whole, broken = (read(rss(items[0], items[1].format(title))) for title in ("a &amp; b", "a & b"))
    assert whole.items == broken.items


@pytest.mark.parametrize(
    "before", ["\n \t", "\ufeff", "\ufeff\n", "<br />\n<b>Warning</b>: x<br />\n", "junk", "\0"]
)
@pytest.mark.parametrize("after", ["", "\n\n", "<!-- 2 s -->", "<script>x</script>", "\0"])
def test_the_feed_may_stand_among_junk(before: str, after: str) -> None:
    feed = read(f"{before}{rss('<guid>1</guid><title>é</title>')}{after}")
    assert (values(feed, "title"), feed.is_cut) == (["é"], False)


@pytest.mark.parametrize(
    ("codec", "declared", "header"),
    [
        ("cp1251", None, "text/xml; charset=windows-1251"),
        ("cp1251", "windows-1251", None),
        ("cp1251", "utf-8", "text/xml; charset=windows-1251"),
        ("utf-8", "windows-1251", None),
        ("utf-8", "utf-8", "text/xml; charset=iso-8859-1"),
        ("koi8_r", "koi8-r", "text/xml"),
        ("gb18030", "gb2312", None),
        ("shift_jis", "shift_jis", "text/xml"),
        ("euc_jp", None, "text/xml; charset=EUC-JP"),
        ("iso2022_jp", "iso-2022-jp", None),
        ("utf-16", "utf-16", None),
        ("utf-16-le", "utf-16", None),
        ("utf-16-be", None, None),
        ("utf-8-sig", None, "text/xml; charset=iso-8859-1"),
    ],
)
def test_a_feed_is_read_in_the_charset_that_it_is_in(
    codec: str, declared: str | None, header: str | None
) -> None:
    head = f"<?xml version='1.0' encoding='{declared}'?>" if declared else "<?xml version='1.0'?>"
    feed = read(rss("<guid>1</guid><title>Привет, мир</title>", head=head).encode(codec), header)
    assert (values(feed, "title"), feed.notes) == (["Привет, мир"], ())


def test_bytes_that_no_charset_explains_are_reported() -> None:
    feed = read(
        "Größe ähnlich".join(rss("<title>||</title><guid>1</guid>").split("||")).encode()[:-20]
        + b"\xff</item></channel></rss>"
    )
    assert [note for note in feed.notes if "utf-8 were replaced" in note]


ITEM = (
    "<title>T{0}</title><description>d{0}</description><link>https://blog.example/{0}</link><guid>g{0}</guid>"
)
CUTTABLE = {
    "rss": rss(*(ITEM.format(number) for number in range(3))),
    "with raw ampersands": rss(*(ITEM.format(number) + "<author>a & b</author>" for number in range(3))),
    "atom": atom(*(f"<id>g{n}</id><title>T</title><link href='/{n}'/>" for n in range(3))),
    "atom with xhtml": atom(
        *(
            f"<id>g{n}</id><content type='xhtml'><div><p>a</p></div></content><title>T</title>"
            for n in range(3)
        )
    ),
    "with tags that are not closed": rss(
        *(ITEM.format(number) + "<category>a<br></category>" for number in range(3))
    ),
    "json": in_json(*(json.loads(f'{{"id": "g{n}", "tags": ["a", "}}"]}}') for n in range(3))),
}


@pytest.mark.parametrize("kind", CUTTABLE)
def test_an_answer_that_ends_early_gives_the_entries_that_are_whole(kind: str) -> None:
    whole = CUTTABLE[kind]
    ends = [place for place in range(len(whole)) if whole.startswith(("</item>", "</entry>"), place)]
    if kind == "json":
        ends = [place for place in range(len(whole)) if whole.startswith("]}", place)]
    step = 17 if "closed" in kind or "xhtml" in kind else 1
    for cut in range(whole.index("g0") - 20, len(whole) - len("</channel></rss>"), step):
        feed = read(whole[:cut])
        count = sum(
            cut >= end + (2 if kind == "json" else whole.index(">", end) - end + 1) for end in ends[:3]
        )
        assert values(feed, "id") == [f"g{number}" for number in range(count)], whole[:cut][-40:]
        if count < 3:
            assert (feed.is_cut, len([note for note in feed.notes if "to its end" in note])) == (True, 1)


def test_a_whole_answer_is_not_reported_as_cut() -> None:
    assert [(read(body).is_cut, len(read(body).items)) for body in CUTTABLE.values()] == [(False, 3)] * len(
        CUTTABLE
    )


@pytest.mark.parametrize("ending", ["</channel></rss", "</channel></r", "</channel>", "</chan"])
def test_a_feed_whose_list_has_ended_is_whole(ending: str) -> None:
    feed = read(CUTTABLE["rss"].removesuffix("</channel></rss>") + ending)
    assert (len(feed.items), feed.is_cut) == (3, False)


def test_tags_that_are_not_closed_are_reported() -> None:
    feed = read(CUTTABLE["with tags that are not closed"])
    assert values(feed, "url") == [f"https://blog.example/{number}" for number in range(3)]
    assert "parts of it may be missing" in feed.notes[0]


@pytest.mark.parametrize("before", ["", "\ufeff", "\n\ufeff", " \n"])
def test_a_json_feed_may_have_a_mark_and_numbers_for_ids(before: str) -> None:
    items: list[JSONValue] = [
        {"id": 1, "url": "https://x.example/1"},
        {"id": 2.5},
        {"id": 3.0},
        {"id": 0, "title": "zero"},
        {"id": None, "url": "https://x.example/5"},
        {"id": "", "external_url": "https://x.example/6"},
        "no object",
        {
            "id": "7",
            "title": 7,
            "authors": "A",
            "tags": "t",
            "attachments": [{"url": 7}, None, {"url": "/a.mp3"}],
        },
    ]
    feed = read(f"{before}{in_json(*items)}")
    assert values(feed, "id") == ["1", "2.5", "3", "0", "https://x.example/5", "https://x.example/6", "7"]
    assert feed.notes == ("1 items are not objects, and were skipped",)
    assert (feed.items[6]["title"], feed.items[6]["author"], feed.items[6]["tags"]) == (None, "A", ["t"])


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_a_json_feed_is_read_in_any_unicode(codec: str) -> None:
    body = json.dumps(json.loads(in_json({"id": "1", "title": "Привет"})), ensure_ascii=False)
    assert read(body.encode(codec)).items[0]["title"] == "Привет"


def test_control_characters_in_json_lose_nothing() -> None:
    assert read('{"items": [{"id": "1", "title": "a\nb\tc"}]}').items[0]["title"] == "a\nb\tc"


def test_a_page_in_place_of_a_feed_is_called_so_with_the_feed_that_it_names() -> None:
    link = '<link rel="alternate" type="application/rss+xml" title="x" href="/feed.xml">'
    with pytest.raises(
        MarkupError, match=r"but an HTML page, which names the feed http://feeds.example/feed.xml"
    ):
        read(f"<!DOCTYPE html><html><head><title>t</title>{link}</head><body><p>hi<br></body></html>")
    with pytest.raises(MarkupError, match="but an HTML page that names no feed"):
        read("\n<html><body>Not here</body></html>")


def test_podcasts_keep_their_fields() -> None:
    more = 'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:media="http://search.yahoo.com/mrss/"'
    item = (
        "<title>1 & 2</title><itunes:title>no</itunes:title><guid>1</guid><media:title>no</media:title>"
        '<enclosure url="https://x.example/1.mp3?a=1&amp;b=2" length="12" type="audio/mpeg"/>'
        '<itunes:image href="https://x.example/i.jpg"/><category>c</category>'
    )
    found = read(rss(item, more=more)).items[0]
    assert (found["title"], found["url"], found["tags"]) == ("1 & 2", None, ["c"])
    assert found["enclosures"] == [
        {"url": "https://x.example/1.mp3?a=1&b=2", "type": "audio/mpeg", "length": 12}
    ]


def test_prefixes_that_nobody_declared_lose_nothing() -> None:
    item = "<guid>1</guid><content:encoded>whole</content:encoded><dc:creator>A</dc:creator>"
    found = read(rss(item)).items[0]
    assert (found["content"], found["author"]) == ("whole", "A")


EXTENSIONS = (
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/" '
    'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:g="http://base.google.com/ns/1.0"'
)


@pytest.mark.parametrize("prefix", ["dc", "media", "itunes", "g"])
def test_the_title_and_text_of_an_extension_are_not_those_of_the_entry(prefix: str) -> None:
    foreign = f"<{prefix}:title>Other</{prefix}:title><{prefix}:description>Other</{prefix}:description>"
    own = "<title>Q &amp; A</title><description>Text</description><guid>1</guid>"
    for item in (foreign + own, own + foreign):
        feed = read(rss(item, more=EXTENSIONS))
        assert (feed.items[0]["title"], feed.items[0]["summary"]) == ("Q & A", "Text")


def test_an_entry_of_extensions_alone_has_their_title_and_address() -> None:
    item = "<g:id>7</g:id><g:title>Lamp</g:title><g:link>https://shop.example/7</g:link>"
    feed = read(rss(item, more=EXTENSIONS))
    assert (feed.items[0]["title"], feed.items[0]["url"]) == ("Lamp", "https://shop.example/7")


def test_the_content_of_rss_1_0_is_kept() -> None:
    feed = read(
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" '
        'xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel rdf:about="c"><title>C</title>'
        "<link>https://b.example/</link></channel><item rdf:about='https://b.example/1'><title>A</title>"
        "<content:encoded>&lt;p&gt;All of it</content:encoded></item></rdf:RDF>"
    )
    assert values(feed, "content") == ["<p>All of it"]


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ("https://x.example/log#v1.2", "https://x.example/log#v1.2"),
        ("/log#a b", f"{SITE}log#a%20b"),
        ("/log#", f"{SITE}log"),
        ("https://x.example/?a=1&amp;amp;b=2", "https://x.example/?a=1&b=2"),
    ],
)
def test_the_address_of_an_entry_leads_to_its_place_on_the_page(link: str, url: str) -> None:
    page = "<link>https://x.example/log</link>", f"<link>{SITE}log</link>"
    assert read(rss(f"<link>{link}</link>", *page)).items[0]["url"] == url


@pytest.mark.parametrize("mark", ["#ref=rss", "#xtor=RSS-1"])
def test_a_fragment_that_distinguishes_no_entries_is_no_part_of_their_address(mark: str) -> None:
    items = (f"<link>{SITE}1{mark}</link>", f"<link>{SITE}2{mark}</link>", f"<link>{SITE}2{mark}</link>")
    assert values(read(rss(*items)), "url") == [f"{SITE}1", f"{SITE}2", f"{SITE}2"]
    listed = ", ".join(f'{{"url": "{SITE}{number}{mark}"}}' for number in (1, 2))
    version = "https://jsonfeed.org/version/1.1"
    found = read(f'{{"version": "{version}", "title": "T", "items": [{listed}]}}')
    assert values(found, "url") == [f"{SITE}1", f"{SITE}2"]


@pytest.mark.parametrize(
    "written",
    ["Mon, 01 Jan 0001 00:00:00 +0000", "0001-01-01T00:00:00Z", "0001-01-01 00:00:00"],
)
def test_the_first_day_of_all_is_no_time(written: str) -> None:
    assert read(rss(f"<guid>1</guid><pubDate>{written}</pubDate>")).items[0]["published"] is None


def test_a_control_character_is_what_windows_has_in_its_place() -> None:
    feed = read(rss("<guid>1</guid><title>It&#146;s &#147;here&#148; &#129;</title>"))
    assert feed.items[0]["title"] == "It\u2019s \u201chere\u201d"


@pytest.mark.parametrize(
    "subset",
    [
        '<!ENTITY nbsp "&#160;"><!ENTITY eacute "&#233;">',
        '<!ENTITY % HTMLlat1 PUBLIC "-//W3C//ENTITIES Latin 1//EN" "http://w3.example/a.ent"> %HTMLlat1;',
    ],
)
def test_a_document_type_may_declare_the_entities_of_html(subset: str) -> None:
    head = f"<?xml version='1.0'?><!DOCTYPE rss [{subset}]>"
    assert read(rss("<guid>1</guid><title>Caf&eacute;</title>", head=head)).items[0]["title"] == "Café"


def test_a_feed_may_be_a_gzip_file() -> None:
    assert values(read(gzip.compress(rss("<guid>1</guid>").encode())), "id") == ["1"]
    with pytest.raises(MarkupError, match="its gzip is broken"):
        read(gzip.compress(rss("<guid>1</guid>").encode())[:20] + b"broken" * 9)


@pytest.mark.parametrize(
    ("before", "after"),
    [("<br />\n<b>Warning</b>: x\n", ""), (")]}',\n", ""), ("show(", ");"), ("// feed\n", "\n")],
)
def test_a_json_feed_may_stand_among_junk(before: str, after: str) -> None:
    assert values(read(f"{before}{in_json({'id': '1'})}{after}"), "id") == ["1"]


def test_a_feed_about_json_feeds_is_not_one_itself() -> None:
    example = in_json({"id": "9"})
    feed = read(rss(f"<guid>1</guid><description><![CDATA[{example}]]></description>", head=""))
    assert values(feed, "id") == ["1"]
    with pytest.raises(MarkupError, match="HTML page"):
        read(f"<!doctype html><html><pre>{example}</pre></html>")


@pytest.mark.parametrize(
    "items",
    [
        '[{"id": "1"}, {"id": "2",},]',
        '{"0": {"id": "1"}, "3": {"id": "2"}}',
        "[{'id': '1'}, {id: '2'}]",
        '[{"id": "1"} /* first */, {"id": "2"}]',
    ],
)
def test_a_json_feed_with_a_small_fault_loses_nothing(items: str) -> None:
    feed = read(f'{{"version": "https://jsonfeed.org/version/1.1", "items": {items}}}')
    assert values(feed, "id") == ["1", "2"]
    assert not feed.is_cut


def test_a_time_in_json_that_is_a_number_is_kept_for_the_report() -> None:
    assert read(in_json({"id": "1", "date_published": 1762336800})).items[0]["published"] == "1762336800"
