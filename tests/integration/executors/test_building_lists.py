"""``agentic pipelines build`` on list pages: rows, tables, paging, details, files of examples, questions.

The pipelines that it writes are run, and the stored rows compared with the site.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.integration.executors.shells import Shell
from typer.testing import CliRunner, Result

from agentic.core.cli.main import build_app
from agentic.executors.testing.sites import Site

pytestmark = pytest.mark.integration

NAMES = [f"{one} {two}" for one in ("Amber", "Birch", "Coral", "Dune") for two in ("Lamp", "Chair", "Shelf")]
HTML = {"Content-Type": "text/html"}
PER_PAGE = 4
PAGES = range(len(NAMES) // PER_PAGE)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site() as site:
        for page in PAGES:
            numbers = range(page * PER_PAGE, (page + 1) * PER_PAGE)
            _serve_cards(site, page, numbers)
            _serve_table(site, page, numbers)
            _serve_buttons(site, page, numbers)
        for number, name in enumerate(NAMES):
            site.serve(f"/shop/item/{number}.html", _detail(number, name), headers=HTML)
        yield site


def _serve_cards(site: Site, page: int, numbers: range) -> None:
    """Serve cards with hashed classes, advertisements between them, a base and numbered pages by query."""
    cards = "".join(_card(number) for number in numbers)
    pager = "".join(f'<a href="?page={one + 1}">{one + 1}</a>' for one in PAGES)
    menu = "".join(f"<li><a href=/{one}>{one}</a></li>" for one in ("Home", "About", "Help"))
    head = f'<base href="/shop/"><nav><ul>{menu}</ul></nav>'
    site.serve(
        "/shop/" if not page else f"/shop/?page={page + 1}",
        f'{head}<div class="grid">{cards}</div><div class="pager">{pager}</div>',
        headers=HTML,
    )


def _card(number: int) -> str:
    link = f'<a href="item/{number}.html">'
    price = "" if number % 5 == 2 else f'<span class="q7z8w">{_price(number)}</span>'
    advertisement = '<div class="promo"><a href="https://ads.example/"><img src=x.png></a><i>Buy!</i></div>'
    card = (
        f'<div class="css-1x2y3z"><div class="sc-a1b2c3">{link}<img src="/{number}.png"></a>'
        f'<h3 class="x9k2">{link}{NAMES[number]}</a></h3>{price}</div></div>'
    )
    return card + advertisement * (number % 3 == 1)


def _serve_table(site: Site, page: int, numbers: range) -> None:
    """Serve a table whose rows have no links, with a link to the next page by path."""
    rows = "".join(
        f"<tr><td>{NAMES[one]}</td><td>{one * 7 + 1}</td><td>{one + 1}.03.2026</td><td>{one}.50 CHF</td></tr>"
        for one in numbers
    )
    more = f'<p><a href="/table/page/{page + 2}">Next page</a></p>' if page + 1 in PAGES else ""
    site.serve(
        "/table" if not page else f"/table/page/{page + 1}",
        f"<table><tr><th>Name</th><th>Count</th><th>Since</th><th>Value</th></tr>{rows}</table>{more}",
        headers=HTML,
    )


def _serve_buttons(site: Site, page: int, numbers: range) -> None:
    """Serve rows without classes, and a button that loads more by an offset."""
    rows = "".join(
        f'<li><b>{NAMES[one]}</b> by <i>Maker {one}</i> <time datetime="2026-03-{one + 1:02}">now</time></li>'
        for one in numbers
    )
    offset = (page + 1) * PER_PAGE
    more = f'<button data-next-url="/more?offset={offset}">Load more</button>' if page + 1 in PAGES else ""
    site.serve(
        "/more" if not page else f"/more?offset={page * PER_PAGE}", f"<ul>{rows}</ul>{more}", headers=HTML
    )


def _detail(number: int, name: str) -> str:
    colour = "" if number % 3 == 0 else f"<dt>Colour</dt><dd>{_colour(number)}</dd>"
    return (
        f'<title>{name} - Shop</title><div class="css-zz1"><h1>{name}</h1>'
        f'<div class="k7j6h5">{_price(number)}</div>'
        f"<dl>{colour}<dt>Weight</dt><dd>{number * 100 + 250} g</dd></dl></div>"
    )


def _price(number: int) -> str:
    return f"€{number * 10 + 9},50"


def _colour(number: int) -> str:
    return f"Red {number}"


def build(site: Site, path: str, *words: str, answers: str | None = None) -> Result:
    given = ["pipelines", "build", f"{site.url}{path}", "--allow-private-host", site.host, *words]
    return CliRunner().invoke(build_app(), given, input=answers)


def rows_of(shell: Shell, built: Result, folder: Path) -> list[dict[str, Any]]:
    """Return the rows that a run of a built pipeline stores."""
    assert built.exit_code == 0, built.exception
    file, out = folder / "built.yaml", folder / "rows.jsonl"
    file.write_text(built.output)
    schema = str(yaml.safe_load(built.output))
    assert schema.count("alternatives") >= 2
    ran = shell.json("run", str(file))
    shell("executions", "export", ran["execution_id"], "--out", str(out))
    return [json.loads(line) for line in out.read_text().splitlines()]


def column(rows: list[dict[str, Any]], name: str, key: str = "title") -> dict[str, Any]:
    return {row[key]: row[name] for row in rows}


def test_rows_of_cards_are_stored_from_all_pages_of_the_list(
    shell: Shell, site: Site, tmp_path: Path
) -> None:
    built = build(site, "/shop/", "--example", "title=Amber Chair", "--example", "price=19.50")
    prices = column(rows_of(shell, built, tmp_path), "price")
    expected = {name: None if n % 5 == 2 else n * 10 + 9.5 for n, name in enumerate(NAMES)}
    assert prices == expected


def test_rows_of_a_table_are_stored_with_numbers_and_dates(shell: Shell, site: Site, tmp_path: Path) -> None:
    words = ["name=Amber Chair", "value=1.50", "since=2026-03-02"]
    built = build(site, "/table", *(part for one in words for part in ("--example", one)))
    rows = rows_of(shell, built, tmp_path)
    assert column(rows, "value", "name") == {name: n + 0.5 for n, name in enumerate(NAMES)}
    assert column(rows, "since", "name") == {name: f"2026-03-{n + 1:02}" for n, name in enumerate(NAMES)}


def test_button_that_loads_more_is_followed(shell: Shell, site: Site, tmp_path: Path) -> None:
    words = ["title=Amber Chair", "maker=Maker 1", "day=2026-03-02"]
    built = build(site, "/more", *(part for one in words for part in ("--example", one)))
    rows = rows_of(shell, built, tmp_path)
    assert column(rows, "maker") == {name: f"Maker {n}" for n, name in enumerate(NAMES)}
    assert column(rows, "day")["Coral Lamp"] == "2026-03-07"


def _csv(site: Site, path: Path) -> str:
    lines = ["url,title,price,weight,colour"]
    for number in (0, 5, 10):
        colour = "" if number % 3 == 0 else _colour(number)
        price = f"{number * 10 + 9}.50"
        lines.append(
            f"{site.url}/shop/item/{number}.html,{NAMES[number]},{price},{number * 100 + 250} g,{colour}"
        )
    path.write_text("\n".join(lines))
    return str(path)


def test_three_rows_of_a_file_build_a_crawl_of_the_pages_that_a_list_leads_to(
    shell: Shell, site: Site, tmp_path: Path
) -> None:
    built = build(site, "/shop/", "--examples", _csv(site, tmp_path / "rows.csv"))
    assert built.output == build(site, "/shop/", "--examples", str(tmp_path / "rows.csv")).output
    spec = yaml.safe_load(built.output)
    assert spec["steps"][0]["detail"]["match"] == ["/shop/item/*.html"]
    assert all(rule["alternatives"] for rule in spec["steps"][0]["detail"]["config"]["schema"].values())
    rows = rows_of(shell, built, tmp_path)
    assert column(rows, "weight") == {name: f"{n * 100 + 250} g" for n, name in enumerate(NAMES)}
    expected = {name: None if n % 3 == 0 else _colour(n) for n, name in enumerate(NAMES)}
    assert column(rows, "colour") == expected


def test_value_that_rows_lack_is_looked_for_on_the_page_of_the_row(
    shell: Shell, site: Site, tmp_path: Path
) -> None:
    built = build(site, "/shop/", "--example", "title=Amber Chair", "--example", "weight=350 g")
    rows = rows_of(shell, built, tmp_path)
    assert column(rows, "weight") == {name: f"{n * 100 + 250} g" for n, name in enumerate(NAMES)}


def test_table_of_fields_fits_80_columns(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    file = _csv(site, tmp_path / "rows.csv")
    said = build(site, "/shop/", "--examples", file, "--out", str(tmp_path / "x.yaml")).output
    assert max(map(len, said.splitlines()[:-1])) <= 80
    assert "not shown" not in said
    for part in ("3 of 3", "2 of 3", "Birch Shelf", "first place", "second place", "'Weight', then dd"):
        assert part in said


def test_page_without_examples_lists_what_it_offers(site: Site) -> None:
    built = build(site, "/table")
    assert "table" in built.output
    assert "build one with --pick NUMBER" in built.output
    assert max(map(len, built.output.splitlines())) <= 80
    offers = json.loads(build(site, "/table", "--json").output)
    assert [field["name"] for field in offers[0]["fields"]] == ["name", "count", "since", "value"]
    assert [field["type"] for field in offers[0]["fields"]] == ["string", "integer", "date", "price"]


def test_offer_is_picked_by_its_number(shell: Shell, site: Site, tmp_path: Path) -> None:
    rows = rows_of(shell, build(site, "/table", "--pick", "1"), tmp_path)
    assert column(rows, "value", "name")["Amber Chair"] == {"amount": 1.5, "currency": "CHF"}
    assert "offers 1 to" in str(build(site, "/table", "--pick", "99").exception)


def test_fields_are_confirmed_left_out_and_corrected_in_the_terminal(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    words = ["--interactive", "--replace", "--out", str(file)]
    told = build(site, "/table", *words, answers="1\n\nn\ny\n2.50 CHF\n\n")
    assert told.exit_code == 0, told.exception
    fields = _fields(file)
    assert list(fields) == ["name", "since", "value"]
    given = ["--example", "title=Amber Chair", "--example", "weight=350 g", "--example", "colour=Red 1"]
    told = build(site, "/shop/", *words, *given, answers="\nno such text\n€19,50\ny\nn\n")
    assert told.exit_code == 0, told.exception
    assert "no element of" in told.output
    assert _fields(file)["weight"]["selector"] == "div.k7j6h5"
    assert list(_fields(file)) == ["title", "weight"]


def _fields(file: Path) -> dict[str, Any]:
    step = yaml.safe_load(file.read_text())["steps"][0]
    config = step["detail"]["config"]
    found: dict[str, Any] = config.get("fields") or config["schema"]
    return found


def test_input_that_ends_is_a_clear_error(site: Site) -> None:
    told = build(site, "/table", "--interactive", answers="")
    assert "--interactive needs an answer, but the input has ended" in str(told.exception)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title\nAmber\n", "line 2 of"),
        ("url,title\n", "has no example"),
        ("url,title\nhttps://x.example/,a,b\n", "more cells than the head"),
    ],
)
def test_file_of_examples_that_cannot_be_used_is_named(
    site: Site, tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(text)
    assert said in str(build(site, "/shop/", "--examples", str(file)).exception)


def test_list_that_does_not_lead_to_the_examples_is_refused(site: Site, tmp_path: Path) -> None:
    file = _csv(site, tmp_path / "rows.csv")
    assert "no list on" in str(build(site, "/table", "--examples", file).exception)
