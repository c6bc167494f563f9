"""Sitemaps that XML parsers refuse."""

from __future__ import annotations

import gzip

from tests.bench.web.model import Answer, Case, rows_of, titled

KIND = "sitemaps"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
ROOT = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
XML = "text/xml"


def urlset(*targets: str) -> str:
    """Return a sitemap; targets are written as given."""
    urls = "".join(f"<url><loc>{{here}}{target}</loc></url>\n" for target in targets)
    return f"{HEAD}{ROOT}\n{urls}</urlset>\n"


def of_sitemap(name: str, trouble: str, sitemap: Answer, *, path: str = "/sitemap.xml") -> Case:
    """Return the case of a sitemap with two pages that no page links to."""
    return Case(
        name=name,
        kind=KIND,
        trouble=trouble,
        expects="both pages of the sitemap become rows",
        routes={
            path: sitemap,
            "/": Answer(body=titled("Recipes")),
            "/soup": Answer(body=titled("Soup")),
            "/stew?for=2&hot=1": Answer(body=titled("Stew")),
        },
        sitemap=path,
        rows=rows_of("Recipes", "Soup", "Stew"),
        named_by=("sitemap",),
    )


STEW = "/stew?for=2&amp;hot=1"
RSS = (
    '<rss version="2.0"><channel><title>Recipes</title>'
    "<item><title>Soup</title><link>{here}/soup</link></item>"
    f"<item><title>Stew</title><link>{{here}}{STEW}</link></item></channel></rss>"
)

CASES = (
    of_sitemap(
        "sitemap-blank",
        "blank lines before the XML declaration",
        Answer(body="\n \n" + urlset("/soup", STEW), media_type=XML),
    ),
    of_sitemap(
        "sitemap-ampersand",
        "an `&` that is not escaped",
        Answer(body=urlset("/soup", "/stew?for=2&hot=1"), media_type=XML),
    ),
    of_sitemap(
        "sitemap-rss", "the sitemap is an RSS feed, as sitemaps.org allows", Answer(body=RSS, media_type=XML)
    ),
    of_sitemap(
        "sitemap-text",
        "a list of addresses as text, as sitemaps.org allows, with a byte order mark",
        Answer(body="\ufeff{here}/soup\r\n{here}/stew?for=2&hot=1\r\n", media_type="text/plain"),
        path="/sitemap.txt",
    ),
    of_sitemap(
        "sitemap-packed",
        "compressed, but neither its name nor its header says so",
        Answer(body=urlset("/soup", STEW), media_type=XML, pack=gzip.compress),
    ),
)
