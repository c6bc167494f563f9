"""Pages that ``agentic pipelines build`` takes though they look like walls, and examples that it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from agentic.core.cli.main import build_app
from agentic.executors.testing.sites import Site

pytestmark = pytest.mark.integration

LOGIN = "<form method=post><input name=user><input type=password name=word></form>"
CONSENT = "<div>We use cookies <button>Accept cookies</button></div>"
IN_ROWS = "read as one record; the values are also in a list of 6: --rows reads its rows"


@pytest.fixture(scope="module")
def shop() -> Iterator[Site]:
    with Site() as site:
        pages = {
            "/car": _record("Peugeot 404"),
            "/lamp": _record("Amber Lamp", LOGIN),
            "/chair": _record("Birch Chair", CONSENT),
            "/rug": _record("Wool Rug", "<a href=/gone>Old rugs</a> <a href=/car>Cars</a>"),
            "/login": f"<h1>Sign in</h1>{LOGIN}",
            "/gone": "<h1>404</h1>",
            "/list": _list(range(6)),
            "/list?page=2": _list(range(6, 12)),
            "/half": _list(range(6), linked=range(3, 6)),
            "/item/3": _record("Shelf 3x", "<i>Colour: dark</i>"),
        }
        for path, html in pages.items():
            site.serve(path, html, headers={"Content-Type": "text/html"})
        yield site


def _record(title: str, more: str = "") -> str:
    price = "<p class=price>12.50 EUR</p><p>Made of oak</p>"
    return f"<title>{title}</title><main><h1>{title}</h1>{price}{more}</main>"


def _list(numbers: range, linked: range = range(0)) -> str:
    links = {n: f"<a class=more href=/item/{n}>More</a>" for n in linked}
    rows = (f"<li><h3>Shelf {n}x</h3>{links.get(n, '')}<b>{n}1.50 EUR</b></li>" for n in numbers)
    return f"<h1>Shelves</h1><ul>{''.join(rows)}</ul>"


def build(site: Site, path: str, *words: str) -> Result:
    given = ["pipelines", "build", f"{site.url}{path}", "--allow-private-host", site.host, *words]
    return CliRunner().invoke(build_app(), given)


def told(site: Site, path: str, *words: str) -> str:
    """Return the error of a build, without the address of the site."""
    return str(build(site, path, *words).exception).replace(site.url, "")


def two_rows(site: Site, folder: Path, *others: str) -> str:
    """Write a file with two rows of the list, and rows of other pages."""
    file = folder / "rows.csv"
    lines = ["url,title,price", f"{site.url}/list,Shelf 1x,11.50 EUR", f"{site.url}/list,Shelf 2x,21.50 EUR"]
    file.write_text("\n".join([*lines, *(f"{site.url}{one}" for one in others)]))
    return str(file)


@pytest.mark.parametrize("path", ["/car", "/chair"])
def test_record_is_built_from_a_page_with_a_word_or_form_of_a_wall(shop: Site, path: str) -> None:
    built = build(shop, path, "--pick", "1")
    assert (built.exception, "extract_detail" in built.output) == (None, True)


@pytest.mark.parametrize(
    ("path", "words", "said"),
    [
        ("/car", ["--pick", "9"], "--pick 9: the page offers 1 to 1"),
        ("/lamp", ["--example", "title=Elm"], "--example title: no element of /lamp has the text 'Elm'"),
        ("/chair", ["--example", "title=Elm"], "--example title: no element of /chair has the text 'Elm'"),
        ("/rug", ["--example", "title=Elm"], "--example title: no element of /rug has the text 'Elm'"),
        ("/login", ["--pick", "1"], "/login shows a login, and a build cannot pass one; give the address"),
        (
            "/gone",
            ["--example", "title=Elm"],
            "/gone shows that it is not found; --example title: no element",
        ),
    ],
)
def test_only_a_page_without_a_record_is_called_a_wall(
    shop: Site, path: str, words: list[str], said: str
) -> None:
    assert told(shop, path, *words).startswith(said)


def test_field_of_a_row_without_a_link_is_refused_with_the_reason(shop: Site) -> None:
    words = ["--example", "title=Shelf 1x", "--example", "price=11.50 EUR", "--example", "colour=dark"]
    assert told(shop, "/half", *words).startswith(
        "--example colour: 'dark' is not in its row, and this row has no link to a page of its own; give"
    )


def test_two_rows_are_a_list_that_another_page_checks(shop: Site, tmp_path: Path) -> None:
    built = build(shop, "/list", "--examples", two_rows(shop, tmp_path), "--page", f"{shop.url}/list?page=2")
    assert (built.exception, "extract_list" in built.output) == (None, True)


def test_rows_that_are_not_one_record_or_not_of_one_list_are_refused(shop: Site, tmp_path: Path) -> None:
    alone = two_rows(shop, tmp_path)
    assert told(shop, "/list", "--examples", alone, "--no-rows").startswith(
        "--no-rows reads one record, but 2 rows of examples are of /list; give one row for each page, or"
    )
    mixed = two_rows(shop, tmp_path, "/item/3,Shelf 3x,12.50 EUR")
    assert told(shop, "/list", "--examples", mixed).startswith(
        "the examples are rows of /list and of other pages; give only rows of this list, or"
    )


def test_address_that_cannot_be_read_is_named_without_a_name_for_the_pipeline() -> None:
    said = str(CliRunner().invoke(build_app(), ["pipelines", "build", "http://[x"]).exception)
    assert said.startswith("http://[x was not fetched (invalid_url): its host or port is malformed")


def test_value_of_one_row_is_a_hint_at_the_rows(shop: Site) -> None:
    assert IN_ROWS in build(shop, "/list", "--example", "title=Shelf 2x").stderr
    assert IN_ROWS not in build(shop, "/list", "--example", "heading=Shelves").stderr
