from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from agentic.core.http import Headers, HttpResponse
from agentic.core.http.charset_labels import CHARSETS
from agentic.core.http.charsets import MAX_TAGS, decode, decode_robots, decode_xml, find_charset

RUSSIAN = "Погода в Москве на завтра: облачно, без осадков"
LABELS = {
    "utf8": ("utf-8", "日本 é"),
    "unicode-1-1-utf-8": ("utf-8", "日本 é"),
    "UTF-8;": ("utf-8", "日本 é"),
    "'utf-8'": ("utf-8", "日本 é"),
    "utf8mb4": ("utf-8", "日本 é"),
    "cp65001": ("utf-8", "日本 é"),
    "utf-16": ("utf-16-le", "日本"),
    "unicode": ("utf-16-le", "日本"),
    "utf-16be": ("utf-16-be", "日本"),
    "unicodefffe": ("utf-16-be", "日本"),
    "iso-8859-1": ("cp1252", "“café” – 5 €"),
    "us-ascii": ("cp1252", "“café” – 5 €"),
    "l1": ("cp1252", "“café” – 5 €"),
    "x-cp1252": ("cp1252", "“café” – 5 €"),
    "iso_8859-1:1987": ("cp1252", "“café” – 5 €"),
    "latin-1": ("cp1252", "“café” – 5 €"),
    "latin2": ("iso8859-2", "Zażółć gęślą"),
    "x-cp1250": ("cp1250", "Zażółć gęślą"),
    "iso-8859-9": ("cp1254", "Türkçe şöğı €"),
    "iso-8859-15": ("iso8859-15", "Œuvre, 5 €"),
    "iso-8859-8": ("iso8859-8", "שלום עולם"),
    "iso-8859-8-i": ("iso8859-8", "שלום עולם"),
    "iso-8859-8-e": ("iso8859-8", "שלום עולם"),
    "logical": ("iso8859-8", "שלום עולם"),
    "visual": ("iso8859-8", "שלום עולם"),
    "iso-8859-6-e": ("iso8859-6", "مرحبا"),
    "asmo-708": ("iso8859-6", "مرحبا"),
    "windows-1256": ("cp1256", "گفتگو پ"),
    "sun_eu_greek": ("iso8859-7", "Γειά σου"),
    "x-cp1251": ("cp1251", RUSSIAN),
    "win1251": ("cp1251", RUSSIAN),
    "win-1251": ("cp1251", RUSSIAN),
    "x-mac-cyrillic": ("mac_cyrillic", RUSSIAN),
    "x-mac-ukrainian": ("mac_cyrillic", RUSSIAN),
    "koi8-ru": ("koi8-u", "Україна є ґ"),
    "koi": ("koi8-r", RUSSIAN),
    "cyrillic": ("iso8859-5", RUSSIAN),
    "866": ("cp866", RUSSIAN),
    "macintosh": ("mac_roman", "café €"),
    "tis-620": ("cp874", "รถ"),
    "iso-8859-11": ("cp874", "สวัสดีครับ"),
    "dos-874": ("cp874", "สวัสดีครับ"),
    "gb2312": ("gb18030", "中文“页面”、朱镕基"),
    "GB_2312-80": ("gb18030", "中文“页面”、朱镕基"),
    "x-gbk": ("gb18030", "中文网页"),
    "chinese": ("gb18030", "中文网页"),
    "windows-936": ("gb18030", "中文网页"),
    "gb18030": ("gb18030", "中文😀"),
    "cn-big5": ("big5hkscs", "中文網頁 嘅"),
    "x-x-big5": ("big5hkscs", "中文網頁"),
    "big5-hkscs": ("big5hkscs", "中文網頁 嘅"),
    "x-sjis": ("cp932", "日本語①㈱"),
    "shift-jis": ("cp932", "日本語①㈱"),
    "windows-31j": ("cp932", "日本語①㈱"),
    "ms_kanji": ("cp932", "日本語①㈱"),
    "x-euc-jp": ("euc_jp", "日本語のページ"),
    "cseucpkdfmtjapanese": ("euc_jp", "日本語のページ"),
    "iso-2022-jp": ("iso2022_jp", "日本語のページ"),
    "ks_c_5601-1987": ("cp949", "한국어 똠방각하"),
    "ksc5601": ("cp949", "한국어 똠방각하"),
    "windows-949": ("cp949", "한국어 똠방각하"),
    "korean": ("cp949", "한국어 똠방각하"),
    "iso-2022-kr": ("iso2022_kr", "한국어 페이지"),
    "hz-gb-2312": ("hz", "中文网页"),
    "ibm850": ("cp850", "Straße"),
}


@pytest.mark.parametrize(("label", "sample"), LABELS.items(), ids=LABELS)
@pytest.mark.parametrize("spelling", [str, str.upper])
def test_a_label_in_the_header_is_read_as_browsers_read_it(
    label: str, sample: tuple[str, str], spelling: type[str]
) -> None:
    codec, text = sample
    assert decode(text.encode(codec), f"text/html; charset={spelling(label)}").text == text


@pytest.mark.parametrize(
    ("label", "sample"),
    [(label, sample) for label, sample in LABELS.items() if not sample[0].startswith("utf-16")],
)
def test_a_label_in_the_page_is_read_as_browsers_read_it(label: str, sample: tuple[str, str]) -> None:
    codec, text = sample
    page = f'<html><meta charset="{label}"><title>{text}</title>'
    assert decode(page.encode(codec), "text/html").text == page


def test_each_charset_has_a_decoder() -> None:
    assert len(CHARSETS) > 228
    for charset in set(CHARSETS.values()):
        assert decode(b"abcd", f"text/html; charset={charset}").text in ("abcd", "扡摣", "慢捤")


@pytest.mark.parametrize(
    "label",
    ["idna", "base64", "unicode_escape", "rot13", "undefined", "utf-7", "replacement", "", "\0", "é" * 9],
)
def test_what_is_no_charset_of_a_page_is_not_found(label: str) -> None:
    assert find_charset(label) is None


META = '<meta charset="windows-1251">'
XML = '<?xml version="1.0" encoding="windows-1251"?>'
DECLARATIONS = {
    "behind a long script": f"<script>{'x' * 9_000}</script>{META}",
    "behind a long comment": f"<!-- {'x' * 90_000} -->{META}",
    "behind a long style and title": f"<style>{'x' * 9_000}</style><title>x</title>{META}",
    "behind many links": "<link rel=preload href=/a>" * 1_500 + META,
    "behind text of the body": f"<body><p>{'x ' * 4_000}</p>{META}",
    "not the one in a comment": f'<!-- <meta charset="koi8-r"> -->{META}',
    "not the one in an empty comment's end": f"<!--><!-- <meta charset=koi8-r> -->{META}",
    "not the one in a script": f'<script>a = "<meta charset=koi8-r>"</script>{META}',
    "not the one in a title": f"<title><meta charset=koi8-r></title>{META}",
    "not the one in a textarea": f"<textarea><meta charset=koi8-r></textarea >{META}",
    "not the one in an attribute": f'<div title="> <meta charset=koi8-r>">{META}',
    "not an unknown one": f"<meta charset=nonsense>{META}",
    "not the second": f"{META}<meta charset=koi8-r>",
    "not the second attribute": "<meta charset=windows-1251 charset=koi8-r>",
    "in capitals, unquoted": "<META CHARSET=Windows-1251>",
    "with spaces": "<meta  charset = ' windows-1251 ' />",
    "closed at once": "<meta charset=windows-1251/>",
    "http-equiv": '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">',
    "http-equiv turned round": "<meta content='charset = \"windows-1251\"' http-equiv=content-type>",
    "behind a quote too many": f'<a href="x"">{META}',
    "behind a > in quotes": f'<a href=">" title=\'<"\'>{META}',
    "content without http-equiv is none": f'<meta name=d content="text/html; charset=koi8-r">{META}',
    "of XML": XML,
    "of XML in apostrophes": "<?xml version='1.0' encoding='windows-1251'?>",
    "of HTML before XML": '<?xml version="1.0" encoding="koi8-r"?>' + META,
    "behind a lonely <": f"a < b << <- {META}",
}


@pytest.mark.parametrize("declared", DECLARATIONS.values(), ids=DECLARATIONS)
@pytest.mark.parametrize(
    "content_type", ["text/html", None, "text/html; charset=", "text/html; charset=none"]
)
def test_a_declaration_is_found_where_browsers_find_it(declared: str, content_type: str | None) -> None:
    page = f"{declared}<h1>Привет</h1>"
    assert decode(page.encode("cp1251"), content_type).text == page


def test_the_declaration_of_xhtml_counts_before_its_meta() -> None:
    page = f"{XML}<html><head><meta charset='koi8-r'/></head>{RUSSIAN}</html>"
    assert decode(page.encode("cp1251"), "application/xhtml+xml").text == page
    assert decode_xml(page.encode("cp1251"), "text/plain").text == page


def test_the_search_for_a_declaration_ends() -> None:
    page = "<p>" * (MAX_TAGS + 1) + META + "Привет"
    assert "Привет" in decode(page.encode("cp1251"), "text/html", tld="ru").text  # it is guessed
    for part in (
        b"<" * 300_000,
        b'<a "' * 100_000,
        b"<!--" * 100_000,
        b"<script>" * 50_000,
        b"<meta a=" * 50_000,
    ):
        assert decode(part + b"\xe9", "text/html").text


@pytest.mark.parametrize(
    ("mark", "codec"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
@pytest.mark.parametrize("content_type", [None, "text/html; charset=koi8-r", "text/html; charset=utf-8"])
def test_a_byte_order_mark_beats_all_declarations(mark: bytes, codec: str, content_type: str | None) -> None:
    page = f"{META}<h1>Привет</h1>"
    assert decode(mark + page.encode(codec), content_type).text == page


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("charset", ["utf-16", "utf-16le", "utf-16be", "utf-8", "iso-8859-1", ""])
def test_utf_16_without_a_mark_is_read_whatever_is_declared(codec: str, charset: str) -> None:
    page = '<?xml version="1.0" encoding="utf-16"?><h1>Привет</h1>'
    assert decode(page.encode(codec), f"text/html; charset={charset}").text == page


@pytest.mark.parametrize(
    ("text", "codec", "header", "meta"),
    [
        ("Grüße aus Köln", "utf-8", "iso-8859-1", ""),
        ("é", "utf-8", "iso-8859-1", ""),
        ("é", "utf-8", "", "windows-1252"),
        (RUSSIAN, "utf-8", "windows-1251", ""),
        ("日本語のページへようこそ", "utf-8", "shift_jis", ""),
        ("中文网页的内容", "utf-8", "", "gb2312"),
        ("Straße und Größe", "cp1252", "utf-8", ""),
        ("Straße und Größe", "cp1252", "utf-8", "iso-8859-1"),
        ("café", "cp1252", "utf-8", ""),
        (RUSSIAN, "cp1251", "utf-8", ""),
        (RUSSIAN, "cp1251", "utf-8", "windows-1251"),
        (RUSSIAN, "cp1251", "iso-8859-1", "windows-1251"),
        (RUSSIAN, "cp1251", "windows-1251", "utf-8"),
        (RUSSIAN, "cp1251", "windows-1251", "koi8-r"),
        ("日本語のページへようこそ", "shift_jis", "utf-8", ""),
        ("日本語のページへようこそ", "euc_jp", "shift_jis", ""),
        ("中文网页的内容，今天的天气很好", "gb18030", "utf-8", "gbk"),
        ("Привет", "utf-8", "utf-16", ""),
        ("Привет", "utf-8", "", "utf-16"),
        ("Привет", "utf-8", "utf-8", "windows-1251"),
    ],
)
def test_a_declaration_that_the_bytes_contradict_is_not_believed(
    text: str, codec: str, header: str, meta: str
) -> None:
    page = (f'<meta charset="{meta}">' if meta else "") + f"<h1>{text}</h1>"
    assert decode(page.encode(codec), f"text/html; charset={header}").text == page


@pytest.mark.parametrize(
    ("text", "charset", "codec"),
    [
        ("รถ", "tis-620", "cp874"),  # is "ö" in UTF-8
        ("<b>MĚŠ", "windows-1250", "cp1250"),
        ("Ã", "iso-8859-1", "cp1252"),
        ("naïve", "iso-8859-1", "cp1252"),
    ],
)
def test_few_bytes_that_may_be_utf_8_leave_the_declaration_alone(text: str, charset: str, codec: str) -> None:
    assert decode(text.encode(codec), f"text/html; charset={charset}").text == text


def test_one_damaged_place_leaves_a_page_in_utf_8() -> None:
    found = decode("Grüße, Größe ".encode() + b"\xe9 - " + "Straße".encode(), "text/html; charset=utf-8")
    assert found.text == "Grüße, Größe \ufffd - Straße"
    assert (found.charset, found.overruled, found.lost_count) == ("utf-8", "", 1)


def test_a_page_that_ends_in_the_middle_of_a_character_is_utf_8() -> None:
    found = decode("Grüße aus Köln – 日本".encode()[:-1], "text/html")
    assert (found.text, found.lost_count) == ("Grüße aus Köln – 日\ufffd", 1)


def test_a_page_that_shows_the_replacement_character_lost_nothing() -> None:
    assert decode("Grüße \ufffd".encode(), "text/html; charset=utf-8").lost_count == 0


@pytest.mark.parametrize(
    ("text", "codec", "tld"),
    [
        (RUSSIAN, "cp1251", "ru"),
        (RUSSIAN, "koi8-r", ""),
        ("日本語のページへようこそ", "shift_jis", "jp"),
        ("日本語のページへようこそ", "euc_jp", ""),
        ("日本語のページへようこそ", "iso2022_jp", ""),
        ("中文网页的内容，今天的天气很好", "gb18030", "cn"),
        ("中文網頁的內容，今天的天氣很好", "big5", "tw"),
        ("한국어 페이지에 오신 것을 환영합니다", "cp949", "kr"),
        ("שלום עולם, ברוכים הבאים לאתר", "cp1255", "il"),
        ("Žluťoučký kůň úpěl ďábelské ódy", "cp1250", "cz"),
        ("Straße – “Größe”", "cp1252", "de"),
    ],
)
def test_a_page_without_a_declaration_is_guessed(text: str, codec: str, tld: str) -> None:
    page = f"<html><body><h1>{text}</h1></body></html>"
    assert decode(page.encode(codec), "text/html", tld=tld).text == page


@pytest.mark.parametrize("tld", ["1", "", "com", "xn--p1ai", "é", "["])
def test_no_top_level_domain_is_a_fault(tld: str) -> None:
    assert decode(RUSSIAN.encode("cp1251"), None, tld=tld).text == RUSSIAN


@pytest.mark.parametrize("codec", ["utf-8", "cp1251", "gb18030", "shift_jis", "euc_jp", "euc_kr", "koi8-r"])
@given(text=st.text(st.sampled_from("abc <>\n.жщЯ"), max_size=40))
def test_a_text_in_its_declared_charset_is_that_text(codec: str, text: str) -> None:
    if text.encode(codec).isascii() or codec == "utf-8":
        assert decode(text.encode(codec), f"text/html; charset={codec}").text == text
    else:
        assert decode(text.encode(codec), f"text/plain; charset={codec}").lost_count == 0


@given(
    body=st.binary(max_size=300),
    charset=st.sampled_from(["", "utf-8", "latin-1", "utf-16", "gbk", "iso-2022-kr", "x-user-defined"]),
    media=st.sampled_from(["text/html", "text/plain", "application/xml"]),
)
def test_any_bytes_are_some_text(body: bytes, charset: str, media: str) -> None:
    decode(body, f"{media}; charset={charset}").text.encode("utf-8", "surrogatepass")
    decode_robots(body)


def test_json_in_another_charset_is_read() -> None:
    headers = Headers([("Content-Type", "application/json; charset=iso-8859-1")])
    body = '{"name": "Köln"}'.encode("latin-1")
    assert HttpResponse(url="http://h/", status=200, headers=headers, body=body).json() == {"name": "Köln"}


def test_what_cannot_be_decoded_is_a_warning() -> None:
    headers = Headers([("Content-Type", "text/html; charset=utf-8")])
    page = HttpResponse(
        url="http://me:pw@h/a?key=b", status=200, headers=headers, body="éé".encode() + b"\xff"
    )
    with capture_logs() as logs:
        assert page.text == "éé\ufffd"
    assert [(entry["event"], entry["log_level"], entry["lost_count"]) for entry in logs] == [
        ("text.damaged", "warning", 1)
    ]
    assert logs[0]["url"] == "http://h/a"


def test_a_text_in_utf_16_without_letters_of_ascii_is_that_text() -> None:
    text = "Привет, мир! " * 5
    decoded = decode(text.encode("utf-16-le"), "text/plain; charset=utf-16le")
    assert (decoded.text, decoded.charset) == (text, "utf-16le")


def test_emoji_whose_halves_are_encoded_each_leave_a_page_in_utf_8() -> None:
    halves = "\ud83d\ude00".encode("utf-8", "surrogatepass")
    decoded = decode("<meta charset=utf-8><p>café ".encode() + halves, "text/html")
    assert (decoded.text[-6:], decoded.charset, decoded.lost_count) == ("café \N{GRINNING FACE}", "utf-8", 0)
