"""``agentic pipelines build`` and ``repair`` on a shop that is redesigned."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.commands import invoke
from tests.integration.executors.shells import Shell
from tests.unit.core.wrappers.pages import LAMPS, html_of
from typer.testing import Result

from agentic.core.cli.main import build_app
from agentic.core.wrappers import Wrapper, decode, encode
from agentic.executors.testing.sites import Site

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("bare_shell")]

LAMP = LAMPS[0]
EXAMPLES = [
    f"title={LAMP.title}",
    f"price={LAMP.price}",
    f"about={LAMP.about}",
    *(f"parts={p}" for p in LAMP.parts),
]


@pytest.fixture
def shop() -> Iterator[Site]:
    with Site() as site:
        _design(site, is_new=False)
        yield site


def _design(site: Site, *, is_new: bool) -> None:
    for lamp in LAMPS:
        site.serve(f"/{lamp.key}", html_of(lamp, is_new=is_new), headers={"Content-Type": "text/html"})


def run(*words: str) -> Result:
    return invoke(build_app(), ["pipelines", *words])


def build(site: Site, *words: str, examples: list[str] = EXAMPLES) -> Result:
    given = [word for example in examples for word in ("--example", example)]
    pages = [word for key in "23" for word in ("--page", f"{site.url}/{key}")]
    return run("build", f"{site.url}/1", *given, *pages, "--allow-private-host", site.host, *words)


def rows(site: Site, path: Path) -> Path:
    path.write_text(
        "".join(json.dumps({"url": f"{site.url}/{lamp.key}", **lamp.row}) + "\n" for lamp in LAMPS)
    )
    return path


def test_examples_become_a_pipeline_with_two_places_for_each_field(shop: Site, tmp_path: Path) -> None:
    built = build(shop, "--name", "lamps")
    assert built.exit_code == 0, built.exception
    spec = yaml.safe_load(built.output)
    schema = spec["steps"][1]["config"]["schema"]
    assert spec["name"] == "lamps"
    assert {name: rule["selector"] for name, rule in schema.items()} == {
        "title": "h1.product-title",
        "price": "span.price",
        "about": "p.about",
        "parts": "ul.parts li",
    }
    assert all(rule["alternatives"] for rule in schema.values())
    assert build(shop, "--name", "lamps").output == built.output
    file = tmp_path / "lamps.yaml"
    file.write_text(built.output)
    assert run("validate", str(file)).exit_code == 0


def test_table_shows_the_fields_on_the_first_and_the_last_page(shop: Site, tmp_path: Path) -> None:
    said = build(shop, "--out", str(tmp_path / "lamps.yaml")).output
    assert LAMP.title in said
    assert LAMPS[2].title in said
    assert "3 of 3" in said
    assert f"wrote {tmp_path / 'lamps.yaml'}" in "".join(said.splitlines())


def test_file_of_a_person_is_replaced_only_when_asked_for_and_names_the_pipeline(
    shop: Site, tmp_path: Path
) -> None:
    file = tmp_path / "my lamps.yaml"
    file.write_text("mine")
    refused = build(shop, "--out", str(file))
    assert (
        str(refused.exception) == f"--out: {file} exists; choose another file, or replace it with --replace"
    )
    assert file.read_text() == "mine"
    assert build(shop, "--out", str(file), "--replace").exit_code == 0
    assert yaml.safe_load(file.read_text())["name"] == "my-lamps"


@pytest.mark.parametrize(
    ("examples", "said"),
    [
        (["title=Nowhere to be found"], "--example title: no element of"),
        (["title"], "--example takes NAME=VALUE, such as price=12.50; 'title' is not"),
    ],
)
def test_example_that_cannot_be_used_is_named(shop: Site, examples: list[str], said: str) -> None:
    assert said in str(build(shop, examples=examples).exception)


def test_options_of_a_page_are_refused_for_a_file() -> None:
    assert "--example, --words, --page and --wrappers need the URL" in str(
        run("build", "x.yaml", "--example", "a=b").exception
    )


def test_file_that_cannot_be_written_is_named(shop: Site, tmp_path: Path) -> None:
    said = str(build(shop, "--out", str(tmp_path / "none" / "x.yaml")).exception)
    assert said.startswith("--out: ")
    assert "cannot be written (No such file or directory)" in said


def test_redesigned_shop_is_read_again_with_the_repaired_pipeline(shop: Site, tmp_path: Path) -> None:
    file, repaired, known = tmp_path / "lamps.yaml", tmp_path / "new.yaml", tmp_path / "lamps.wrappers"
    assert build(shop, "--out", str(file), "--wrappers", str(known)).exit_code == 0
    assert [decode(line).pages for line in known.read_bytes().splitlines()] == [3, 3, 3, 3]
    stored = ["--rows", str(rows(shop, tmp_path / "rows.jsonl")), "--allow-private-host", shop.host]
    assert {row["state"] for row in _repaired(file, *stored)} == {"works"}
    _design(shop, is_new=True)
    found = _repaired(file, *stored, "--wrappers", str(known), "--out", str(repaired))
    assert {row["field"]: row["state"] for row in found} == {
        "title": "works",  # its alternative `h1` still gives it
        "price": "found",
        "about": "found",
        "parts": "found",
    }
    for row in found[1:]:
        assert [one["old"] for one in row["evidence"]] == [lamp.row[row["field"]] for lamp in LAMPS]
    assert {row["state"] for row in _repaired(repaired, *stored)} == {"works"}


def test_rows_alone_are_enough_for_a_repair(shop: Site, tmp_path: Path) -> None:
    file = tmp_path / "lamps.yaml"
    assert build(shop, "--out", str(file)).exit_code == 0
    _design(shop, is_new=True)
    stored = rows(shop, tmp_path / "rows.jsonl")
    found = _repaired(file, "--rows", str(stored), "--allow-private-host", shop.host)
    assert {row["field"] for row in found if row["state"] == "found"} >= {"price", "about"}


def test_rows_without_addresses_are_refused(shop: Site, tmp_path: Path) -> None:
    file, bad = tmp_path / "lamps.yaml", tmp_path / "rows.csv"
    assert build(shop, "--out", str(file)).exit_code == 0
    bad.write_text("title\nAmber\n")
    assert "no row of" in str(run("repair", str(file), "--rows", str(bad)).exception)
    missing = str(tmp_path / "none.json")
    assert "cannot be read (No such file" in str(run("repair", str(file), "--rows", missing).exception)


def test_place_that_is_not_sure_can_be_chosen(shop: Site, tmp_path: Path) -> None:
    file, stored = tmp_path / "lamps.yaml", tmp_path / "rows.json"
    assert build(shop, "--out", str(file)).exit_code == 0
    _design(shop, is_new=True)
    stored.write_text(json.dumps({"url": f"{shop.url}/1", "price": "47.00", "title": LAMP.title}))
    words = ["--rows", str(stored), "--allow-private-host", shop.host]
    price = next(row for row in _repaired(file, *words) if row["field"] == "price")
    assert price["state"] == "unsure"
    number = 1 + [choice["texts"] for choice in price["choices"]].index([LAMP.price])
    chosen = _repaired(file, *words, "--choose", f"price={number}")
    assert next(row["new"] for row in chosen if row["field"] == "price") == LAMP.price
    script = tmp_path / "model.yaml"
    script.write_text(f"- answer: {{price: {number}}}\n")
    asked = _repaired(file, *words, "--model", f"scripted:{script}")
    assert next(row["new"] for row in asked if row["field"] == "price") == LAMP.price
    for wrong, said in (("price=99", "price has places 1 to"), ("title=1", "'title' is not a broken field")):
        assert said in str(run("repair", str(file), *words, "--choose", wrong).exception)


def test_stored_looks_find_fields_whose_values_are_not_known(
    shop: Site, tmp_path: Path, shell: Shell
) -> None:
    file, known, stored = tmp_path / "lamps.yaml", tmp_path / "lamps.wrappers", tmp_path / "rows.json"
    assert build(shop, "--name", "lamps", "--out", str(file), "--wrappers", str(known)).exit_code == 0
    _design(shop, is_new=True)
    stored.write_text(json.dumps([{"url": f"{shop.url}/{lamp.key}"} for lamp in LAMPS]))
    words = ["--rows", str(stored), "--allow-private-host", shop.host]

    def states() -> dict[str, str]:
        return {row["field"]: row["state"] for row in _repaired(file, *words)}

    assert set(states().values()) == {"works"}  # nothing says that there should be more
    nothing = "nothing is known of the fields of lamps yet; run its crawl once\n"
    assert run("wrappers", str(file)).output == nothing
    said = run("add", str(file), "--wrappers", str(known)).output
    assert said == "pipeline lamps@1 is stored, with the looks of 4 fields\n"
    assert states() == {"title": "works", "price": "unsure", "about": "found", "parts": "found"}
    shown = json.loads(run("wrappers", "lamps", "--json").output)
    assert [(row["field"], row["pages"]) for row in shown] == [
        ("title", 3), ("price", 3), ("about", 3), ("parts", 3)
    ]  # fmt: skip
    again = tmp_path / "again.wrappers"
    assert run("wrappers", "lamps@1", "--out", str(again)).exit_code == 0
    assert again.read_bytes() == known.read_bytes()


def test_looks_that_no_field_of_the_pipeline_has_are_refused(
    shop: Site, tmp_path: Path, shell: Shell
) -> None:
    file, known = tmp_path / "lamps.yaml", tmp_path / "lamps.wrappers"
    assert build(shop, "--name", "lamps", "--out", str(file)).exit_code == 0
    known.write_bytes(encode(Wrapper("colour")) + b"\n")
    refused = run("add", str(file), "--wrappers", str(known))
    assert "no field of lamps is in" in str(refused.exception)
    assert "(fields there: colour)" in str(refused.exception)
    assert json.loads(run("list", "--json").output) == []  # nothing was stored
    known.write_text("colour")
    assert "does not hold wrappers" in str(run("add", str(file), "--wrappers", str(known)).exception)


def _repaired(file: Path, *words: str) -> list[dict[str, Any]]:
    result = run("repair", str(file), *words, "--json")
    assert result.exit_code == 0, result.exception
    found: list[dict[str, Any]] = json.loads(result.output)
    return found
