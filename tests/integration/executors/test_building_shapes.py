"""Pipelines that are built from three records of sites of many shapes, and read the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bench.build_examples import built, measured
from tests.integration.executors.example_lists import SITES
from tests.integration.executors.example_sites import COUNT, TITLES, serve
from typer.testing import CliRunner, Result

from agentic.core.cli.main import build_app
from agentic.executors.testing.sites import Site

pytestmark = pytest.mark.integration

LONE = {
    "data_of_a_script_only": {"title", "price", "maker"},
    "values_in_meta_only": {"author"},
    "classes_that_change_on_each_page": {"title"},
    "months_as_rows_of_their_own": {"day"},
    "pages_without_any_names": {"title"},
}
"""Fields that are in one place of the page only."""

STATE = '<script id=state type=\'application/json\'>{"things": [{"name": "Birch Chair"}]}</script>'
LOGIN = "<h1>Sign in</h1><form method=post><input name=user><input type=password name=word></form>"


@pytest.fixture(scope="module")
def server() -> Iterator[Site]:
    with Site() as server:
        for name in SITES:
            serve(server, name)
        yield server


@pytest.mark.parametrize("name", SITES)
async def test_three_records_of_a_site_are_enough_for_the_others(server: Site, name: str) -> None:
    found = await measured(server, name, 3)
    assert found.fault == ""
    assert found.wrong == []
    assert found.plan is not None
    lone = {field for field, places in found.plan.locators.items() if len(places) < 2}
    assert lone == LONE.get(name, set())


@pytest.mark.parametrize(
    "name",
    [
        "badges_before_equal_parts",
        "cents_in_a_superscript",
        "heads_of_groups_and_a_total",
        "labelled_items_that_pages_lack",
        "promoted_items_twice",
        "values_within_sentences",
    ],
)
async def test_one_record_is_enough_for_most_sites(server: Site, name: str) -> None:
    found = await measured(server, name, 1)
    assert (found.fault, found.wrong) == ("", [])


@pytest.mark.parametrize("name", ["cells_that_span_rows", "labelled_items_that_pages_lack"])
async def test_same_records_give_the_same_plan(server: Site, name: str) -> None:
    assert await built(server, name, 3) == await built(server, name, 3)


async def test_rows_of_a_menu_are_not_rows_of_the_list(server: Site) -> None:
    assert (await measured(server, "japanese_in_shift_jis", 3)).row_count == COUNT


def build(server: Site, path: str, *examples: str) -> Result:
    words = [part for one in examples for part in ("--example", one)]
    given = ["pipelines", "build", f"{server.url}{path}", "--allow-private-host", server.host, *words]
    return CliRunner().invoke(build_app(), given)


@pytest.mark.parametrize(
    ("path", "examples", "said"),
    [
        (
            "/cards_without_classes/",
            ["title=Birch Chair", "title=Elm Chair", "weight=9 kg", "weight=9 t"],
            "--example title: no element of {url} has the text 'Elm Chair'; copy the value",
        ),
        (
            "/cards_without_classes/",
            ["title=Birch Chair", "weight=3 kg"],
            "--example weight: '3 kg' is not in its row, and the page that the row links to cannot be read",
        ),
        (
            "/cells_that_span_rows/",
            ["title=Birch Chair", "title=Dune Rug", "town=Oslo", "town=Graz"],
            "--example town: 'Oslo' is not in its row of the list on {url} (12 rows), and the rows have no",
        ),
        (
            "/lists_of_terms/",
            ["title=Birch Chair", "title=Dune Rug", "maker=Tom Abara"],
            "for rows of a list give each name equally often, or give more rows in a CSV file",
        ),
        (
            "/state",
            ["title=Birch Chair"],
            "the data of the script 'state' have it: read them with a rule",
        ),
        (
            "/login",
            ["title=Birch Chair"],
            "{url} shows a login, and a build cannot pass one; --example title",
        ),
        ("/login", [], "{url} shows a login, and a build cannot pass one; give the address of another page"),
        ("/feed", ["title=Birch Chair"], "not HTML; give a page that people read, or write a pipeline with"),
    ],
)
def test_example_that_cannot_be_found_is_named_with_the_next_step(
    server: Site, path: str, examples: list[str], said: str
) -> None:
    server.serve("/state", f"<p>Wait</p>{STATE}", headers={"Content-Type": "text/html"})
    server.serve("/login", LOGIN, headers={"Content-Type": "text/html"})
    server.serve("/feed", "<rss/>", headers={"Content-Type": "application/rss+xml"})
    told = str(build(server, path, *examples).exception)
    assert said.replace("{url}", f"{server.url}{path}") in told


@pytest.mark.parametrize(
    ("typed", "shown"),
    [("1.299,00 EUR", "1 299,00 €"), ("Ann O'Neil", "By Ann O’Neil"), ("Elm, 3 doors", "")],
)
def test_value_that_is_typed_otherwise_gets_the_text_that_is_most_like_it(
    server: Site, typed: str, shown: str
) -> None:
    page = "<h1>The “Amber” Desk</h1><p class=price>1 299,00 €</p><p>By Ann O’Neil</p>"
    server.serve("/typed", page, headers={"Content-Type": "text/html; charset=utf-8"})
    told = str(build(server, "/typed", f"value={typed}").exception)
    assert told.endswith(f"; {shown!r} is most like it" if shown else "as it is without scripts")


def test_values_of_several_rows_are_a_warning(server: Site) -> None:
    found = build(server, "/days_before_other_texts/", f"title={TITLES[1]}", "day=3/15")
    assert "its values are in several rows of a list of 12: give values that stand in one row" in found.stderr


def test_fields_with_equal_examples_are_a_warning(server: Site) -> None:
    found = build(server, "/two_fields_with_one_value/item-1.html", "stars=4", "reviews=4")
    assert "stars and reviews are alike in all examples and may get one place" in found.stderr
    assert "stars and" not in found.stdout


def test_place_by_the_value_of_another_field_is_not_written(server: Site) -> None:
    found = build(server, "/cells_that_span_rows/", "title=Birch Chair", "town=Oslo")
    assert "Birch Chair" not in found.stdout


def test_page_with_another_value_than_its_example_is_a_warning(server: Site, tmp_path: Path) -> None:
    root = f"{server.url}/value_that_is_there_many_times"
    names = {1: TITLES[1], 2: "$45.99", 4: TITLES[4]}
    lines = [f"{root}/item-{n}.html,{TITLES[n]},{name}" for n, name in names.items()]
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(["url,title,name", *lines]))
    given = ["pipelines", "build", f"{root}/", "--examples", str(file), "--allow-private-host", server.host]
    found = CliRunner().invoke(build_app(), given)
    assert found.exit_code == 0, found.exception
    assert (
        f"name: {root}/item-2.html gives 'Coral Shelf with 3 Boards', but its example says '$45.99'"
        in found.stderr
    )
