"""How a site wants to be searched: a template, its form, or its OpenSearch description. Pure rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlencode, urljoin, urlsplit, urlunsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

QUERY_NAMES = frozenset({"q", "query", "s", "search", "keywords", "keyword", "k", "term", "text", "wd"})
TYPED = frozenset({"", "search", "text"})
DESCRIPTION = 'link[rel~="search"][href][type="application/opensearchdescription+xml" i]'
RESULTS = 'url[template][type^="text/html" i]'
UNFILLED = re.compile(r"\{[\w:]+\??\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchForm:
    """A form that searches.

    Attributes:
        action: Where it is sent.
        method: ``GET`` or ``POST``.
        query: Name of the field for the words.
        others: What is sent besides.
    """

    action: str
    method: str
    query: str
    others: tuple[tuple[str, str], ...] = ()

    def filled(self, words: str) -> tuple[str, bytes | None]:
        """Return URL and body of the request for ``words``; no body for a GET."""
        fields = urlencode([*self.others, (self.query, words)])
        if self.method == "POST":
            return self.action, fields.encode()
        # As browsers do: the query of the action gives way.
        return urlunsplit(urlsplit(self.action)._replace(query=fields, fragment="")), None


def find_form(document: LexborHTMLParser, base: str) -> SearchForm | None:
    """Return the page's search form: the one that says so before one that only looks like it."""
    marked = document.css('form[role="search"], [role="search"] form, search form')
    found = (form for node in [*marked, *document.css("form")] if (form := _form(node, base)) is not None)
    return next(found, None)


def description_url(document: LexborHTMLParser, base: str) -> str | None:
    """Return where the site describes its search, None if it does not."""
    link = document.css_first(DESCRIPTION)
    return urljoin(base, link.attributes.get("href") or "") if link is not None else None


def template_of(description: str, base: str) -> str | None:
    """Return the URL template of an OpenSearch description's results as pages; None if it has none."""
    node = LexborHTMLParser(description).css_first(RESULTS)
    template = (node.attributes.get("template") or "") if node is not None else ""
    return urljoin(base, template) if "{searchTerms" in template else None


def fill(template: str, words: str) -> str:
    """Return a URL template with ``{query}`` or ``{searchTerms}`` filled in, all else left out."""
    encoded = quote(words, safe="")
    for name in ("{query}", "{searchTerms}", "{searchTerms?}"):
        template = template.replace(name, encoded)
    return UNFILLED.sub("", template)


def _form(form: LexborNode, base: str) -> SearchForm | None:
    names = [node.attributes["name"] or "" for node in form.css("input[name]") if _takes_words(node)]
    if not names:
        return None
    query = names[0]
    return SearchForm(
        action=urljoin(base, form.attributes.get("action") or ""),
        method="POST" if (form.attributes.get("method") or "").upper() == "POST" else "GET",
        query=query,
        others=tuple((name, value) for name, value in _defaults(form) if name != query),
    )


def _takes_words(node: LexborNode) -> bool:
    kind = (node.attributes.get("type") or "").lower()
    name = (node.attributes.get("name") or "").lower()
    return kind == "search" or (kind in TYPED and name in QUERY_NAMES)


def _defaults(form: LexborNode) -> Iterator[tuple[str, str]]:
    """Yield what the form sends if nobody touches it."""
    for node in form.css("input[name]"):
        attributes = node.attributes
        kind = (attributes.get("type") or "").lower()
        is_sent = (
            kind in TYPED or kind == "hidden" or (kind in ("checkbox", "radio") and "checked" in attributes)
        )
        if is_sent:
            yield attributes["name"] or "", attributes.get("value") or ("on" if kind == "checkbox" else "")
    for node in form.css("select[name]"):
        chosen = node.css_first("option[selected]") or node.css_first("option")
        if chosen is not None:
            value = chosen.attributes.get("value")
            yield node.attributes["name"] or "", chosen.text().strip() if value is None else value
