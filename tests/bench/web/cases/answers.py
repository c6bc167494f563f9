"""Texts in old or wrong encodings, and answers that break the rules of HTTP."""

from __future__ import annotations

import gzip

from tests.bench.web.model import HTML, Answer, Case, page, rows_of, titled

BARE = "text/html"
SCRIPT = f"<script>{'let a = 1; ' * 700}</script>"
LONG = f"<h1>Größe</h1><a href='/end'>x</a>{'<p>äöü äöü</p>' * 30}"


def of_pages(name: str, trouble: str, *pages: tuple[str, Answer], kind: str = "encodings") -> Case:
    """Return the case of a start page that links to pages with these titles."""
    targets = {f"/{number}": answer for number, (_, answer) in enumerate(pages)}
    titles = [title for title, _ in pages]
    return Case(
        name=name,
        kind=kind,
        trouble=trouble,
        expects="the page becomes a row" if len(pages) == 1 else "the pages become rows",
        routes={"/": Answer(body=titled("Index", *targets)), **targets},
        rows=rows_of("Index", *titles),
        named_by=(*targets, "pages failed"),
    )


def written(title: str, charset: str, media_type: str = BARE, head: str = "") -> tuple[str, Answer]:
    """Return a title and its page in an encoding."""
    return title, Answer(body=page(f"<h1>{title}</h1>", head), charset=charset, media_type=media_type)


ENCODINGS = (
    of_pages(
        "meta-late",
        "`<meta charset>` comes after 8 KB of script",
        written("Книги", "cp1251", head=f"{SCRIPT}<meta charset=windows-1251>"),
    ),
    of_pages(
        "labels",
        "labels that browsers know: `x-sjis`, `windows-949`, `x-cp1251`, `iso-8859-8-i`",
        written("辞書", "cp932", "text/html; charset=x-sjis"),
        written("사전", "cp949", "text/html; charset=windows-949"),
        written("Словарь", "cp1251", "text/html; charset=x-cp1251"),
        written("מילון", "iso8859-8", "text/html; charset=iso-8859-8-i"),
    ),
    of_pages(
        "header-wrong",
        "the header says UTF-8, the bytes and `<meta>` are Windows-1251",
        written("Русские книги", "cp1251", HTML, "<meta charset=windows-1251>"),
    ),
    of_pages(
        "undeclared",
        "ISO-8859-1 that no header and no element names",
        written("Größe und Gewicht", "latin-1"),
    ),
    of_pages(
        "utf16",
        "UTF-16 with a byte order mark, and no other sign",
        ("Wörterbuch", Answer(body="\ufeff" + titled("Wörterbuch"), charset="utf-16-le", media_type=BARE)),
    ),
)


def odd(name: str, trouble: str, answer: Answer) -> Case:
    """Return the case of an answer that is odd."""
    return of_pages(name, trouble, ("Lamp", answer), kind="odd answers")


LAMP = titled("Lamp")
CHUNKS = f"{len(LAMP):x}\r\n{LAMP}\r\n"

ODD = (
    odd("coding-none", "`Content-Encoding: none`", Answer(body=LAMP, fields=("Content-Encoding: none",))),
    odd(
        "coding-untrue",
        "`Content-Encoding: gzip`, but the body is not compressed",
        Answer(body=LAMP, fields=("Content-Encoding: gzip",)),
    ),
    odd(
        "coding-cut",
        "a compressed body that lacks its last bytes",
        Answer(
            body=LAMP + "<p>of brass</p>" * 999,
            fields=("Content-Encoding: gzip",),
            pack=lambda body: gzip.compress(body)[:-9],
        ),
    ),
    Case(
        name="length-short",
        kind="odd answers",
        trouble="`Content-Length` counts characters instead of bytes",
        expects="the page is read as far as it goes",
        routes={
            "/": Answer(body=page(LONG), length=len(page(LONG))),
            "/end": Answer(body=titled("End")),
        },
        rows=rows_of("Größe", "End"),
        named_by=("length", "127.0.0.1"),
    ),
    odd(
        "chunks-open",
        "a chunked answer without its last chunk",
        Answer(body=CHUNKS, fields=("Transfer-Encoding: chunked",), length=-1),
    ),
    odd(
        "field-broken",
        "a header line without a colon",
        Answer(body=LAMP, fields=("X-Powered-By PHP 5",)),
    ),
    odd(
        "field-long",
        "a header line of 20 KB",
        Answer(body=LAMP, fields=(f"Content-Security-Policy: {'x' * 20_000}",)),
    ),
    odd(
        "redirect-open", "status 302 without a `Location`, with a page", Answer(body=LAMP, status="302 Found")
    ),
    odd(
        "type-twice",
        "`Content-Type: text/html, text/html; charset=utf-8`",
        Answer(body=LAMP, media_type=f"{BARE}, {HTML}"),
    ),
    odd("type-plain", "`Content-Type: text/plain` for a page", Answer(body=LAMP, media_type="text/plain")),
)

CASES = (*ENCODINGS, *ODD)
