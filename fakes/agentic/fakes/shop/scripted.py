"""Shop pages whose articles only a script puts there.

    /scripted/category/{name}               20 articles a page, built from JSON inside the page
    /scripted/category/{name}?source=fetch  the same, built from JSON that the script fetches
    /scripted/data/{name}.json              that JSON: ``{"products": [...], "next": "?page=2" or null}``

Both take ``page=N``. What a client without scripts gets is an empty ``div#app``.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.types import JSONValue
from agentic.fakes.pages import Page, document, html_page, json_script
from agentic.fakes.shop.catalogue import Product

DATA_ID = "catalogue"
RENDER = """
function element(name, className, text) {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}
function show(catalogue) {
  const list = element("ul", "products", "");
  for (const product of catalogue.products) {
    const link = element("a", "product", product.title);
    link.href = product.url;
    const row = document.createElement("li");
    row.append(link, " ", element("span", "price", product.price), " ",
               element("span", "currency", product.currency));
    list.append(row);
  }
  const app = document.getElementById("app");
  app.replaceChildren(list);
  if (catalogue.next) {
    const next = element("a", "next", "Next page");
    next.href = catalogue.next;
    app.append(next);
  }
}
"""
FROM_PAGE = f'show(JSON.parse(document.getElementById("{DATA_ID}").textContent));'
FROM_SERVER = "fetch({url}).then(response => response.json()).then(show);"


def scripted_list(category: str, catalogue: JSONValue, page: int, *, is_fetched: bool) -> Page:
    """Return a list page without articles and the script that adds them."""
    if is_fetched:
        url = f'"../data/{category}.json?page={page}"'
        script = f"<script>{RENDER}{FROM_SERVER.format(url=url)}</script>"
    else:
        data = json_script(catalogue, "application/json", DATA_ID)
        script = f"{data}<script>{RENDER}{FROM_PAGE}</script>"
    return html_page(document(category.title(), f'<div id="app"></div>{script}'))


def catalogue_of(products: Sequence[Product], following: str | None) -> JSONValue:
    """Return what scripts show; links count from ``/scripted/category/``."""
    rows: list[JSONValue] = [
        {
            "title": product.title,
            "url": f"../../product/{product.number}",
            "price": product.price,
            "currency": product.currency,
        }
        for product in products
    ]
    return {"products": rows, "next": following}
