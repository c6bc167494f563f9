"""The texts that models read: of pages, items or the config, each cut to its limit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from agentic.core.actors import ActorContext, ActorError, Page
from agentic.core.llm.tokens import TokenEstimator
from agentic.core.records import record
from agentic.core.threads import in_spare_thread
from agentic.core.types import JSONValue
from agentic.plugins.web.actors.article import ArticleInput, read_article
from agentic.plugins.web.language.inputs import LanguageInput
from agentic.plugins.web.language.output import Item
from agentic.plugins.web.reading.fields import read_fields, source_of
from agentic.plugins.web.reading.html import UNSEEN, document_of, parse_apart, title_of

AROUND = "nav, header, footer, aside, form, dialog, [role=navigation], [role=banner], [role=contentinfo]"
"""Elements around the main text of a page."""

MAIN = "main, [role=main], article"

_EMPTY: tuple[JSONValue, ...] = (None, "", [], {})


@record(kw_only=True)
class Passage:
    """A text for the model.

    Attributes:
        text: As the model reads it; "" if there is nothing to read.
        item: The item that the answer is added to.
        about: Names it in messages.
    """

    text: str
    item: Item
    about: str


async def passages_of(given: LanguageInput, ctx: ActorContext) -> list[Passage]:
    """Return the texts to read, in order.

    Raises:
        ActorError: There is nothing to read (``reference``), or the page cannot be read (``empty``,
            ``not_html``, ``too_large``, ``selector_missing``, ``schema_invalid``).
    """
    return [_cut(passage, given, ctx) for passage in [*await _passages(given, ctx)]]


async def _passages(given: LanguageInput, ctx: ActorContext) -> list[Passage]:
    if given.text is not None:
        return [Passage(text=given.text.strip(), item={}, about="the text")]
    if given.item is not None:
        return [_of_item(given.item, given, "the item")]
    if given.items is not None:
        return [_of_item(item, given, f"item {number}") for number, item in enumerate(given.items, 1)]
    if given.page is None:
        raise ActorError(
            "there is nothing to read; put a `fetch` step first, or give `text`, `item` or `items`",
            failure_class="reference",
        )
    return [await _of_page(given.page, given, ctx)]


def _of_item(item: Item, given: LanguageInput, about: str) -> Passage:
    names = given.read_names or tuple(item)
    found = {name: item.get(name) for name in names}
    url = item.get("url")
    return Passage(text=written(found), item=item, about=url if isinstance(url, str) else about)


async def _of_page(page: Page, given: LanguageInput, ctx: ActorContext) -> Passage:
    item: Item = {"url": page.final_url}
    if given.selectors is not None:
        found = read_fields(source_of(page, ctx.warn_about), given.selectors)
        names = given.read_names or tuple(found)
        text = written({name: found.get(name) for name in names})
        return Passage(text=text, item={**item, **found}, about=page.final_url)
    text = await _text_of(page, given) if page.is_html else page.text.strip()
    if not text:
        raise ActorError(
            f"{page.final_url} has no text; fetch it with mode: browser if a script writes it",
            failure_class="empty",
            status=page.status,
        )
    return Passage(text=text, item=item, about=page.final_url)


async def _text_of(page: Page, given: LanguageInput) -> str:
    if given.content == "article":
        found = await in_spare_thread(read_article, ArticleInput(page=page))
        return "" if found is None else f"{found['title'] or ''}\n\n{found['text']}".strip()
    return text_of_main(page) if given.content == "main" else text_of_all(page)


def text_of_main(page: Page) -> str:
    """Return the title and the text of a page without menus, headers and footers; all text if none is left.

    Raises:
        ActorError: It is not HTML (``not_html``), or nested too deep (``too_large``).
    """
    title = title_of(document_of(page)) or ""
    document = parse_apart(page.text)
    document.remove(UNSEEN)
    document.remove(AROUND)
    parts = document.select(MAIN)
    scope = parts[0] if len(parts) == 1 else document.select_one("body")
    text = scope.to_text().strip() if scope is not None else ""
    if not text:
        return text_of_all(page)
    return text if not title or text.startswith(title) else f"{title}\n\n{text}"


def text_of_all(page: Page) -> str:
    """Return the text of a page that people see.

    Raises:
        ActorError: It is not HTML (``not_html``), or nested too deep (``too_large``).
    """
    document_of(page)
    document = parse_apart(page.text)
    document.remove(UNSEEN)
    body = document.select_one("body")
    return body.to_text().strip() if body is not None else ""


def written(fields: Mapping[str, JSONValue]) -> str:
    """Return fields as lines, ``name: value``; those without a value are left out."""
    return "\n".join(_lines(fields))


def _lines(fields: Mapping[str, JSONValue]) -> Iterator[str]:
    for name, value in fields.items():
        if value not in _EMPTY:
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield f"{name}: {shown}"


def _cut(passage: Passage, given: LanguageInput, ctx: ActorContext) -> Passage:
    estimator = TokenEstimator()
    tokens = estimator.text_tokens(passage.text)
    if tokens <= given.max_input_tokens:
        return passage
    size = int(given.max_input_tokens * estimator.bytes_per_token(""))
    ctx.warn_about(
        "texts that are too long for max_input_tokens",
        f"the model reads the first {given.max_input_tokens:,} of about {tokens:,} tokens of "
        f"{passage.about}; raise max_input_tokens, or choose fields with `schema` or `read`",
    )
    text = passage.text.encode("utf-8", "surrogatepass")[:size].decode("utf-8", "ignore")
    return Passage(text=text, item=passage.item, about=passage.about)
