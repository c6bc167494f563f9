"""A fetched page as the documents of Firecrawl: the formats that were asked for, and metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from urllib.parse import urldefrag, urljoin

from turbohtml import Document, Element, parse

from agentic.core.types import JSONValue
from agentic.fakes.firecrawl.fetching import Fetched
from agentic.fakes.firecrawl.markdown import markdown_of
from agentic.fakes.firecrawl.requests import Format, ScrapeOptions

AROUND = "header, footer, nav, aside, form, script, style, noscript, .ad, .comments"
OPEN_GRAPH = {"og:title", "og:description", "og:url", "og:image", "og:site_name", "og:locale"}
ARTICLE = {"article:published_time": "publishedTime", "article:modified_time": "modifiedTime"}


def document_of(
    fetched: Fetched, asked_url: str, options: ScrapeOptions, scrape_id: str
) -> dict[str, JSONValue]:
    """Return the document for a page; a refusal of the site is a document too, its status in the metadata."""
    is_html = "html" in fetched.content_type
    page = parse(bytes(fetched.body) if is_html else b"")
    metadata = {**(_described(page) if is_html else {}), **_response(fetched, asked_url, options, scrape_id)}
    document: dict[str, JSONValue] = {}
    for wanted in options.formats:
        document[wanted.type] = _formatted(wanted, fetched, options, is_html=is_html)
    return {**document, "metadata": metadata}


def links_of(body: bytes, url: str) -> list[str]:
    """Return where a page links to: absolute, without fragments, each once, in their order."""
    found = (urldefrag(link).url for link in _hrefs(parse(body), url))
    return [*dict.fromkeys(link for link in found if link.startswith(("http://", "https://")))]


def title_of(page: Document) -> str:
    """Return the title, empty if there is none."""
    node = page.select_one("title")
    return node.text.strip() if node else ""


def _formatted(wanted: Format, fetched: Fetched, options: ScrapeOptions, *, is_html: bool) -> JSONValue:
    raw = bytes(fetched.body)
    if not is_html:
        is_text = fetched.content_type.startswith("text/") and wanted.type != "links"
        return raw.decode("utf-8", "replace") if is_text else [] if wanted.type == "links" else ""
    match wanted.type:
        case "links":
            return [*links_of(raw, fetched.url)]
        case "rawHtml":
            return raw.decode("utf-8", "replace")
        case "json":
            return _picked(parse(raw), wanted.wanted.get("properties"))
        case "html":
            return _main(raw, options)
        case _:
            return markdown_of(_main(raw, options), fetched.url)


def _main(raw: bytes, options: ScrapeOptions) -> str:
    page = parse(raw)
    if options.only_main_content:
        page.remove(AROUND)
    return page.html


def _picked(page: Document, properties: object) -> JSONValue:
    """Stand in for the model: a property is the text of the first element of that class or ``itemprop``."""
    if not isinstance(properties, Mapping):
        return {"title": title_of(page)}
    picked: dict[str, JSONValue] = {}
    for name, schema in properties.items():
        node = page.select_one(f'.{name}, [itemprop="{name}"]')
        kind = schema.get("type") if isinstance(schema, Mapping) else None
        picked[str(name)] = _typed(node, str(kind)) if node else None
    return picked


def _typed(node: Element, kind: str) -> JSONValue:
    text = node.text.strip()
    if kind not in {"number", "integer"}:
        return text
    try:
        return int(text) if kind == "integer" else float(text)
    except ValueError:
        return None


def _hrefs(page: Document, url: str) -> Iterator[str]:
    for node in page.select("a[href]"):
        try:
            yield urljoin(url, (node.attr("href") or "").strip())
        except ValueError:  # no URL at all
            continue


def _described(page: Document) -> dict[str, JSONValue]:
    described: dict[str, JSONValue] = {"title": title_of(page)}
    if root := page.select_one("html"):
        described["language"] = root.attr("lang")
    for node in page.select("meta[content]"):
        content, name = node.attr("content"), node.attr("name")
        key = node.attr("property") or ""
        if name in {"description", "keywords", "robots"}:
            described[name] = content
        elif key in ARTICLE:
            described[ARTICLE[key]] = content
        elif key in OPEN_GRAPH:
            described[_camel(key)] = content
    return described


def _camel(name: str) -> str:
    first, *others = name.replace(":", "_").split("_")
    return first + "".join(other.title() for other in others)


def _response(
    fetched: Fetched, asked_url: str, options: ScrapeOptions, scrape_id: str
) -> dict[str, JSONValue]:
    answered: dict[str, JSONValue] = {
        "sourceURL": asked_url,
        "url": fetched.url,
        "statusCode": fetched.status,
        "contentType": fetched.content_type,
        "scrapeId": scrape_id,
        "proxyUsed": "basic",
        "cacheState": "miss",
        "creditsUsed": options.credits_count,
    }
    if fetched.status >= 400:
        known = fetched.status in set(HTTPStatus)
        answered["error"] = HTTPStatus(fetched.status).phrase if known else str(fetched.status)
    return answered
