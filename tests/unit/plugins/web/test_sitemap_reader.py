"""Sitemaps as they are served: whole, packed, broken and malicious."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.reading.markup import MAX_CHARACTERS, MarkupError, elements
from agentic.plugins.web.reading import sitemaps
from agentic.plugins.web.reading.sitemaps import Listed, SitemapNotes, read_sitemap

SPACES = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
URLS = f"""<?xml version="1.0" encoding="UTF-8"?><urlset {SPACES}>
<url><loc> http://a.example/1 </loc><lastmod>2026-10-31</lastmod>
 <image:image><image:loc>http://a.example/1.png</image:loc></image:image></url>
<url><loc>http://a.example/2?a=1&amp;b=2</loc><news:news><news:title>Two</news:title>
 <news:publication_date>2026-11-01</news:publication_date></news:news></url>
<url><lastmod>2026-10-31</lastmod></url></urlset>"""
LISTED = [
    Listed(address="http://a.example/1", lastmod="2026-10-31"),
    Listed(address="http://a.example/2?a=1&b=2", published="2026-11-01", title="Two"),
]


def pieces(count: int) -> Iterator[bytes]:
    yield b"<urlset>"
    for number in range(count):
        yield b"<url><loc>http://a.example/%d</loc></url>" % number
    yield b"</urlset>"


@pytest.mark.parametrize(
    "body", [URLS.encode(), gzip.compress(URLS.encode()), b"\xef\xbb\xbf" + URLS.encode()]
)
def test_pages_are_read_with_what_is_said_of_them(body: bytes) -> None:
    assert list(read_sitemap(body)) == LISTED


def test_a_sitemap_in_utf_16_is_read() -> None:
    assert list(read_sitemap(URLS.replace("UTF-8", "UTF-16").encode("utf-16"))) == LISTED


def test_an_index_lists_sitemaps() -> None:
    body = b"<sitemapindex><sitemap><loc>http://a.example/s.xml</loc></sitemap></sitemapindex>"
    assert list(read_sitemap(body)) == [Listed(address="http://a.example/s.xml", is_sitemap=True)]


def test_prefixes_of_the_elements_do_not_matter() -> None:
    body = b"<sm:urlset><sm:url><sm:loc>http://a.example/1</sm:loc></sm:url></sm:urlset>"
    assert [one.address for one in read_sitemap(body)] == ["http://a.example/1"]


def test_a_text_has_a_page_on_each_line() -> None:
    body = "\ufeffhttp://a.example/1\r\n\r\n# more\nhttps://a.example/é".encode()
    assert [one.address for one in read_sitemap(body)] == ["http://a.example/1", "https://a.example/é"]


@given(st.binary(max_size=200))
def test_whatever_comes_is_read_or_refused(body: bytes) -> None:
    with suppress(MarkupError):
        list(read_sitemap(body))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<!doctype html><html><body>Not found</body></html>", "neither XML nor a list of URLs"),
        (b"<html><body>Not found</body></html>", "its root is <html>"),
        (b"", "it is empty"),
        (gzip.compress(b"\xef\xbb\xbf \n"), "it is empty"),
        (b"Not found", "neither XML nor a list of URLs: 'Not found'"),
        (gzip.compress(URLS.encode())[:-20], "its gzip data is incomplete"),
        (b"\x1f\x8b\x08\x00 no gzip at all", "its gzip is broken"),
        (
            gzip.compress(b"") * 100_000,
            "its gzip is broken: it consists of thousands of nearly empty gzip members",
        ),
        (
            b'<!DOCTYPE a [<!ENTITY b "c">]><urlset><url><loc>&b;</loc></url></urlset>',
            "declares the entity 'b'",
        ),
        (b"<urlset>" + b"<url>" * 200, "more than 100 levels deep"),
    ],
)
def test_what_is_no_sitemap_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(MarkupError, match=reason):
        list(read_sitemap(body))


def test_what_stands_before_a_fault_is_read() -> None:
    reading = read_sitemap(b"<urlset><url><loc>http://a.example/1</loc></url><url><loc>http://a.example/&")
    assert next(reading).address == "http://a.example/1"
    with pytest.raises(MarkupError):
        next(reading)


HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
THREE = (
    f"<urlset {SPACES}>" + "".join(f"<url><loc>http://a.example/{n}</loc></url>" for n in "123") + "</urlset>"
)
RSS = """<rss version="2.0"><channel><title>T</title><link>http://a.example/</link>
<image><url>http://a.example/i.png</url></image>
<item><title>One</title><link>http://a.example/1</link><pubDate>Sat, 31 Oct 2026 10:00:00 GMT</pubDate></item>
<item><guid>http://a.example/2</guid><enclosure url="http://a.example/2.mp3"/></item>
<item><link><![CDATA[http://a.example/3]]></link><guid isPermaLink="false">17</guid></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://a.example/"/><id>http://a.example/</id>
<entry><link rel="self" href="/e/1"/><link rel="alternate" href="http://a.example/1"/></entry>
<entry><link href="http://a.example/2"/><link rel="replies" href="/c"/><updated>2026-10-31</updated></entry>
<entry><id>http://a.example/3</id><author><uri>http://me.example</uri></author></entry></feed>"""
RDF = (
    """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><channel><link>http://a.example/</link>
</channel>"""
    + "".join(f"<item><link>http://a.example/{n}</link></item>" for n in "123")
    + "</rdf:RDF>"
)
LINES = "http://a.example/1\nhttp://a.example/2\nhttp://a.example/3\n"
SPELLINGS = {
    "blank line": f"\n{HEAD}{THREE}",
    "blanks and a mark": f"\r\n \ufeff{HEAD}{THREE}",
    "two marks": f"\ufeff\ufeff{HEAD}{THREE}",
    "zeros": f"\0\0{HEAD}{THREE}",
    "a warning of PHP": f"<br />\n<b>Warning</b>: x() on line <b>3</b><br />\n{HEAD}{THREE}",
    "a warning in text": f"PHP Notice: http://x in /var/www & more\n{HEAD}{THREE}",
    "a comment": f"<!-- generated -->{HEAD}{THREE}",
    "two declarations": f"{HEAD}{HEAD}{THREE}",
    "a style sheet": f"{HEAD}<?xml-stylesheet href='a.xsl'?>{THREE}",
    "no declaration": THREE,
    "text after the end": f"{HEAD}{THREE}<!-- 0.1 s --><script>x && y</script>",
    "control characters": f"{HEAD}{THREE}".replace("<url>", "<url>\x02<lastmod>\x0b</lastmod>"),
    "unknown prefix": THREE.replace("<loc>", "<image:image><image:loc>/i</image:loc></image:image><loc>"),
    "entities of HTML": f"{HEAD}{THREE}".replace("<url>", "<url><title>&nbsp;&eacute;</title>"),
    "lonely <": f"{HEAD}{THREE}".replace("<url>", "<url><title>a < b</title>"),
    "another prefix": THREE.replace("<", "<ns0:").replace("<ns0:/", "</ns0:"),
    "an old namespace": THREE.replace(
        "www.sitemaps.org/schemas/sitemap/0.9", "www.google.com/schemas/sitemap/0.84"
    ),
    "no namespace": THREE.replace(SPACES, ""),
    "capitals": THREE.replace("urlset", "URLSET").replace("url>", "URL>").replace("loc>", "Loc>"),
    "blanks": THREE.replace("<loc>", "<loc>\n   ").replace("</loc>", "\t\n </loc>"),
    "CDATA": THREE.replace("<loc>", "<loc><![CDATA[ ").replace("</loc>", " ]]></loc>"),
    "an entry without an address": THREE.replace(
        "<url>", "<url><lastmod/></url><url><loc> </loc></url><url>"
    ),
    "RSS": RSS,
    "RSS with a raw &": RSS.replace("<title>T", "<title>a & b"),
    "Atom": ATOM,
    "Atom with a prefix": ATOM.replace("<", "<a:").replace("<a:/", "</a:").replace("xmlns=", "xmlns:a="),
    "RDF": RDF,
    "text": LINES,
    "text with CR": LINES.replace("\n", "\r"),
    "text with a mark and blanks": "\ufeff\n  " + LINES.replace("\n", "  \r\n\r\n"),
    "text with dates": LINES.replace("\n", "\t2026-10-31\n"),
}


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("packed", [False, True])
def test_a_sitemap_is_read_however_it_is_written(text: str, *, packed: bool) -> None:
    body = gzip.compress(text.encode()) if packed else text.encode()
    assert [one.address for one in read_sitemap(body)] == [f"http://a.example/{n}" for n in "123"]


CHARSETS = {
    "gb2312": ("gb18030", "中文"),
    "gbk": ("gb18030", "中文"),
    "x-gbk": ("gb18030", "中文"),
    "gb18030": ("gb18030", "中文"),
    "big5": ("big5", "中文"),
    "shift_jis": ("cp932", "日本"),
    "x-sjis": ("cp932", "日本"),
    "euc-jp": ("euc_jp", "日本"),
    "iso-2022-jp": ("iso2022_jp", "日本"),
    "euc-kr": ("cp949", "한국"),
    "ks_c_5601-1987": ("cp949", "한국"),
    "utf-16": ("utf-16", "日本"),
    "UTF-16LE": ("utf-16-le", "日本"),
    "windows-1251": ("cp1251", "Привет"),
    "koi8-r": ("koi8-r", "Привет"),
    "iso-8859-1": ("cp1252", "café"),
    "iso-8859-8-i": ("iso8859-8", "שלום"),
    "utf8": ("utf-8", "é日本"),
    "no-such-charset": ("utf-8", "é日本"),
}


@pytest.mark.parametrize(("label", "sample"), CHARSETS.items(), ids=CHARSETS)
@pytest.mark.parametrize("is_declared", [True, False])
def test_a_sitemap_is_read_in_its_charset(label: str, sample: tuple[str, str], *, is_declared: bool) -> None:
    codec, word = sample
    head = f'<?xml version="1.0" encoding="{label}"?>' if is_declared else "<?xml version='1.0'?>"
    body = (head + f"<urlset><url><loc>http://a.example/{word}</loc></url></urlset>").encode(codec)
    content_type = "text/xml" if is_declared else f"application/xml; charset={label}"
    assert [one.address for one in read_sitemap(body, content_type)] == [f"http://a.example/{word}"]


def test_a_text_in_utf_16_is_read() -> None:
    assert len(list(read_sitemap(LINES.encode("utf-16")))) == 3
    assert len(list(read_sitemap(LINES.encode("utf-16-le")))) == 3


def test_a_raw_ampersand_costs_nothing_and_is_noted() -> None:
    notes = SitemapNotes()
    body = THREE.replace("/2<", "/2?a=1&b=2&amp;copy=3<").encode()
    assert [one.address for one in read_sitemap(body, notes=notes)][1] == "http://a.example/2?a=1&b=2&copy=3"
    assert notes.repairs == ("a raw & was replaced",)


def test_entries_without_an_address_are_counted() -> None:
    notes = SitemapNotes()
    list(read_sitemap(b"<urlset><url/><url><loc/></url><url><loc>/1</loc></url></urlset>", notes=notes))
    assert notes.unlisted_count == 2


BROKEN = {
    "cut in an address": (THREE[: THREE.index("/3<")], 2),
    "cut in a tag": (THREE[: THREE.index("</urlset")] + "<url><lo", 3),
    "cut in CDATA": (THREE.replace("<loc>http://a.example/3", "<loc><![CDATA[http://a.example/3"), 2),
    "an entry is not closed": (THREE.replace("</url><url>", "<url>", 1), 3),
    "an address is not closed": (THREE.replace("</loc></url><url>", "</url><url>", 1), 3),
    "another end": (THREE.replace("</loc>", "</location>", 1), 3),
    "an attribute without quotes": (THREE.replace("<url>", "<url a=b>", 1), 3),
    "no root": ("<urlset>" + THREE.partition(">")[2].removesuffix("</urlset>") + "</sitemap>", 3),
    "a line of text": (LINES + "and more\n", 3),
}


@pytest.mark.parametrize(("text", "count"), BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_left_of_a_broken_sitemap_is_read_before_the_error(
    text: str, count: int, *, packed: bool
) -> None:
    found, fault = read_until_broken(gzip.compress(text.encode()) if packed else text.encode())
    assert found == [f"http://a.example/{n}" for n in range(1, count + 1)]
    assert fault


def test_what_was_unpacked_of_a_cut_gzip_is_read() -> None:
    pages = "".join(f"<url><loc>http://a.example/{n}</loc></url>" for n in range(20_000))
    packed = gzip.compress(f"<urlset>{pages}</urlset>".encode())
    found, fault = read_until_broken(packed[: len(packed) // 2])
    assert found == [f"http://a.example/{n}" for n in range(len(found))]
    assert len(found) > 5_000
    assert fault == "its gzip data is incomplete"


def read_until_broken(body: bytes) -> tuple[list[str], str]:
    found: list[str] = []
    try:
        found.extend(one.address for one in read_sitemap(body))
    except MarkupError as exc:
        return found, str(exc)
    return found, ""


def test_a_sitemap_that_is_packed_twice_is_read() -> None:
    assert list(read_sitemap(gzip.compress(gzip.compress(URLS.encode())))) == LISTED


@pytest.mark.timeout(60)  # a quadratic step would take hours
@pytest.mark.parametrize(
    "piece", ["<", "<url>", "<url", "<!--", "<![CDATA[", "<loc>", "<link href='", "<a <b>", "http:"]
)
def test_hostile_sitemaps_take_linear_time(piece: str) -> None:
    with suppress(MarkupError):
        list(read_sitemap(b"\n<urlset>" + piece.encode() * 100_000))


def test_a_bomb_is_not_unpacked_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sitemaps, "MAX_UNPACKED_BYTES", 1_000_000)
    bomb = gzip.compress(b"<urlset>" + b" " * 10_000_000)
    assert len(bomb) < 20_000
    with pytest.raises(MarkupError, match="larger than 1000000 bytes unpacked"):
        list(read_sitemap(bomb))


def test_elements_are_not_kept_once_they_have_ended() -> None:
    reading = elements(pieces(1_000_000))
    first = [next(reading) for _ in range(3)]
    assert [element.path[-1] for element in first] == ["loc", "url", "loc"]


def test_a_text_is_cut() -> None:
    ended = next(elements([b"<a>" + b"x" * (2 * MAX_CHARACTERS), b"</a>"]))
    assert len(ended.text) == MAX_CHARACTERS


@pytest.mark.parametrize(
    "written",
    [
        "http://a.example/?a=1&amp;amp;b=2",
        "'http://a.example/?a=1&amp;b=2'",
        '"http://a.example/?a=1&amp;b=2" ',
    ],
)
def test_an_address_that_was_escaped_twice_or_quoted_is_read(written: str) -> None:
    body = f"<urlset><url><loc>{written}</loc></url></urlset>".encode()
    assert [one.address for one in read_sitemap(body)] == ["http://a.example/?a=1&b=2"]


@pytest.mark.parametrize(
    "body",
    [
        "<urlset><urls><url><loc>http://a.example/1</loc></url></urls></urlset>",
        "<sitemapindex><sitemapindex><sitemap><loc>http://a.example/1</loc></sitemap></sitemapindex></sitemapindex>",
        "\n<?xml version='1.0'?><urlset><a><url><loc>http://a.example/1</loc></url></a></urlset>",
    ],
)
def test_entries_in_the_wrong_place_are_read_and_reported(body: str) -> None:
    reading = read_sitemap(body.encode())
    assert next(reading).address == "http://a.example/1"
    with pytest.raises(MarkupError, match="not directly in its root"):
        next(reading)
