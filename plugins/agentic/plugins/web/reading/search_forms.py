"""How a site wants to be searched: a template, its form, or its OpenSearch description. Pure rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlencode, urljoin, urlsplit, urlunsplit

from turbohtml import Document, Element

from agentic.core.linear import LinearPattern
from agentic.plugins.web.reading.html import parse_apart

QUERY_NAMES = frozenset({"q", "query", "s", "search", "keywords", "keyword", "k", "term", "text", "wd"})
TYPED = frozenset({"", "search", "text"})
DESCRIPTION = 'link[rel~="search"][href][type="application/opensearchdescription+xml" i]'
RESULTS = 'url[template][type^="text/html" i]'
UNFILLED = LinearPattern(r"\{[\w:]+\??\}")


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


def find_form(document: Document, base: str) -> SearchForm | None:
    """Return the page's search form: the one that says so before one that only looks like it."""
    marked = document.select('form[role="search"], [role="search"] form, search form')
    found = (form for node in [*marked, *document.select("form")] if (form := _form(node, base)) is not None)
    return next(found, None)


def description_url(document: Document, base: str) -> str | None:
    """Return where the site describes its search, None if it does not."""
    link = document.select_one(DESCRIPTION)
    return urljoin(base, link.attr("href") or "") if link is not None else None


def template_of(description: str, base: str) -> str | None:
    """Return the URL template of an OpenSearch description's results as pages; None if it has none.

    Raises:
        ActorError: Its elements are nested more than 2,000 deep (``too_large``).
    """
    node = parse_apart(description).select_one(RESULTS)
    template = (node.attr("template") or "") if node is not None else ""
    return urljoin(base, template) if "{searchTerms" in template else None


def fill(template: str, words: str) -> str:
    """Return a URL template with ``{query}`` or ``{searchTerms}`` filled in, all else left out."""
    encoded = quote(words, safe="")
    for name in ("{query}", "{searchTerms}", "{searchTerms?}"):
        template = template.replace(name, encoded)
    return UNFILLED.sub("", template)


def _form(form: Element, base: str) -> SearchForm | None:
    names = [node.attr("name") or "" for node in form.select("input[name]") if _takes_words(node)]
    if not names:
        return None
    query = names[0]
    return SearchForm(
        action=urljoin(base, form.attr("action") or ""),
        method="POST" if (form.attr("method") or "").upper() == "POST" else "GET",
        query=query,
        others=tuple((name, value) for name, value in _defaults(form) if name != query),
    )


def _takes_words(node: Element) -> bool:
    kind = (node.attr("type") or "").lower()
    name = (node.attr("name") or "").lower()
    return kind == "search" or (kind in TYPED and name in QUERY_NAMES)


def _defaults(form: Element) -> Iterator[tuple[str, str]]:
    """Yield what the form sends if nobody touches it."""
    for node in form.select("input[name]"):
        kind = (node.attr("type") or "").lower()
        is_chosen = kind in ("checkbox", "radio") and node.attr("checked") is not None
        if kind in TYPED or kind == "hidden" or is_chosen:
            yield node.attr("name") or "", node.attr("value") or ("on" if kind == "checkbox" else "")
    for node in form.select("select[name]"):
        chosen = node.select_one("option[selected]") or node.select_one("option")
        if chosen is not None:
            value = chosen.attr("value")
            yield node.attr("name") or "", chosen.text.strip() if value is None else value
