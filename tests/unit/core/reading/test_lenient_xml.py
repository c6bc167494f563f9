"""XML as sites send it, made valid."""

from __future__ import annotations

import codecs
from xml.etree import ElementTree as ET

import pytest

from agentic.core.reading.lenient_xml import repair_xml, xml_in_utf_8, xml_text
from agentic.core.reading.markup import elements

ROOT = "<urlset><url><loc>{}</loc></url></urlset>"


def text_of(body: bytes, content_type: str | None = None) -> str:
    return next(iter(elements([repair_xml(body, content_type).body]))).text


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a & b", "a & b"),
        ("?a=1&copy=2", "?a=1&copy=2"),
        ("?a=1&amp;copy=2", "?a=1&copy=2"),
        ("?q=AT&T", "?q=AT&T"),
        ("&&amp;&", "&&&"),
        ("Caf&eacute; &amp; Bar", "Café & Bar"),
        ("a&nbsp;b", "a\N{NO-BREAK SPACE}b"),
        ("&AMP;&LT;", "&<"),
        ("&hellip;&notAnEntity;", "…&notAnEntity;"),
        ("&lt;b&gt; &quot;&apos;", "<b> \"'"),
        ("&amp;eacute;", "&eacute;"),
        ("&#233;&#xe9;&#Xe9;", "ééé"),
        ("&#233 &#xe9x", "é éx"),
        ("&#0;&#x1b;&#11;a", "a"),
        ("&#xD83D;&#xDE00;", "\N{GRINNING FACE}"),
        ("&#55357;&#56832;", "\N{GRINNING FACE}"),
        ("&#xD83D;!", "?!"),
        ("&#9999999;a", "a"),
        ("&#99999999999;", "&#99999999999;"),
        ("1 < 2 <3", "1 < 2 <3"),
        ("a\x00b\x08c\x0b\x1f\ufffe", "abc"),
        ("<![CDATA[a &nbsp; & < b]]>", "a &nbsp; & < b"),
        ("<!-- a & b -->c", "c"),
        ("<?php a && b ?>c", "c"),
        ("<![CDATA[&]]>&<![CDATA[&]]>", "&&&"),
    ],
)
def test_references_and_characters_that_xml_has_not_are_replaced(written: str, read: str) -> None:
    assert text_of(ROOT.format(written).encode()) == read


@pytest.mark.parametrize(
    "before",
    [
        "",
        "\n\n  \t",
        "\ufeff",
        "\ufeff\ufeff\n",
        "\0\0",
        "junk ",
        "<br />\n<b>Warning</b>: Cannot modify header information in <b>/x.php</b><br />\n",
        "<!-- generated -->",
        "HTTP/1.1 200 OK\nX: y\n\n",
    ],
)
@pytest.mark.parametrize(
    "declaration",
    [
        "",
        "<?xml version='1.0'?>",
        "<?xml version='1.0' encoding='utf-8'?>\n<?xml-stylesheet href='a.xsl'?>",
        "<?xml version='1.0' encoding='utf-16'?>",
        "<?xml version='1.0'?><?xml version='1.0'?>",
        "<?xml version='1.0'?><!DOCTYPE urlset PUBLIC '-//N' 'http://dtd.example/a.dtd'>",
        "<!doctype urlset [ <!ELEMENT url ANY> ]>",
    ],
)
def test_the_document_begins_with_its_first_element(before: str, declaration: str) -> None:
    assert text_of(f"{before}{declaration}{ROOT}".format("é").encode()) == "é"


def test_declared_entities_stay_for_the_parser_to_refuse() -> None:
    body = b"<!DOCTYPE a [<!ENTITY nbsp '&#160;'><!ENTITY b 'c'>]><a>&b;</a>"
    assert b"<!ENTITY" in repair_xml(body).body


@pytest.mark.parametrize("after", ["\n", "<!-- 0.2 s -->", "\0", "<script>x</script>", " more", "</html>"])
def test_text_after_the_end_is_dropped(after: str) -> None:
    assert text_of(ROOT.format("a").encode() + after.encode()) == "a"


@pytest.mark.parametrize(
    ("text", "codec", "declared", "header"),
    [
        ("Привет", "cp1251", None, "text/xml; charset=windows-1251"),
        ("Привет", "cp1251", "windows-1251", "text/xml"),
        ("Привет", "cp1251", "utf-8", 'text/xml; charset="windows-1251"'),
        ("Привет", "koi8-r", "KOI8-R", None),
        ("Привет мир", "utf-8", "windows-1251", "text/xml"),
        ("Привет мир", "utf-8", "iso-8859-1", "text/xml; charset=iso-8859-1"),
        ("Привет мир", "utf-8", "utf-16", None),
        ("Café", "latin-1", "iso-8859-1", None),
        ("Café", "latin-1", "utf-8", None),
        ("Café", "latin-1", None, None),
        ("Café – €", "cp1252", "iso-8859-1", None),
        ("中文网站", "gbk", "gb2312", "text/xml"),
        ("中文网站", "gbk", None, "text/xml; charset=GB2312"),
        ("中文网站的新闻", "utf-8", "gb2312", None),
        ("中文网站", "gbk", "gb2312", "text/xml; charset=iso-8859-1"),
        ("中文", "big5", "big5", None),
        ("日本語", "shift_jis", "Shift_JIS", None),
        ("日本語", "euc_jp", "euc-jp", None),
        ("日本語", "iso2022_jp", "iso-2022-jp", None),
        ("한국어", "euc_kr", "euc-kr", None),
        ("日本語", "utf-8-sig", "shift_jis", "text/xml; charset=iso-8859-1"),
        ("日本語", "utf-16", "utf-16", None),
        ("日本語", "utf-16", "utf-8", "text/xml; charset=utf-8"),
        ("日本語", "utf-16-le", "utf-16", None),
        ("日本語", "utf-16-be", None, None),
        ("日本語", "utf-32", None, None),
        ("日本語", "utf-8", "no-such-charset", "text/xml; charset=none"),
        ("ascii", "ascii", "gb2312", None),
    ],
)
def test_bytes_are_read_in_the_charset_that_they_are_in(
    text: str, codec: str, declared: str | None, header: str | None
) -> None:
    declaration = f"<?xml version='1.0' encoding='{declared}'?>" if declared else "<?xml version='1.0'?>"
    body = (declaration + ROOT.format(text)).encode(codec)
    assert text_of(body, header) == text
    assert next(iter(elements([xml_in_utf_8(body, header)]))).text == text


@pytest.mark.parametrize("codec", ["utf-8", "gbk", "shift_jis", "utf-16-le"])
def test_a_character_that_was_cut_off_is_dropped(codec: str) -> None:
    body = f"<?xml version='1.0' encoding='{codec.removesuffix('-le')}'?><a>{'日本語' * 20}本".encode(codec)
    text, wrong = xml_text(body[:-1])
    assert (text.endswith("日本語"), wrong) == (True, ())


def test_a_few_wrong_bytes_do_not_change_the_charset() -> None:
    text, wrong = xml_text("<a>Größe für Ähnliches</a>".encode() + b"\xe9")
    assert (text, wrong) == ("<a>Größe für Ähnliches</a>", ())
    text, wrong = xml_text("<a>Größe für Ähnliches \udce9!</a>".encode(errors="surrogateescape"))
    assert text == "<a>Größe für Ähnliches \ufffd!</a>"
    assert wrong == ("bytes that are not utf-8 were replaced (1 times)",)


def test_well_known_prefixes_are_declared() -> None:
    body = b"<rss><item><content:encoded>a</content:encoded><x:y/></item></rss>"
    repaired = repair_xml(body)
    assert b'xmlns:content="http://purl.org/rss/1.0/modules/content/"' in repaired.body
    assert repaired.repairs == ("the prefix content: was declared",)


def test_valid_xml_is_not_changed() -> None:
    body = ROOT.format("a &amp; b <!-- & --> <![CDATA[<&>]]> é &#233;").encode()
    assert repair_xml(body).repairs == ()
    assert repair_xml(body).body == body
    assert xml_in_utf_8(body) is body
    assert xml_in_utf_8(codecs.BOM_UTF8 + body) == body


def test_repairs_are_named_once() -> None:
    repaired = repair_xml(b"x<rss>a & b & c &eacute; < \x01</rss> y")
    ET.fromstring(repaired.body)
    assert repaired.repairs == (
        "text before the first element was dropped",
        "control characters were dropped",
        "a raw & was replaced",
        "an entity of HTML was replaced",
        "a raw < was replaced",
        "text after the end was dropped",
    )


@pytest.mark.timeout(60)  # a quadratic step would take hours
@pytest.mark.parametrize(
    "piece", ["<", "&", "<!--", "<![CDATA[", "<?", "<?xml ", "&#", "&#1", "&a", "<a", "\0", "<!DOCTYPE a ["]
)
def test_hostile_bytes_take_linear_time(piece: str) -> None:
    repair_xml(piece.encode() * 300_000)
