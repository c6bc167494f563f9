"""Tables for people, JSON for scripts."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from rich.cells import cell_len
from rich.console import Console

from agentic.core.cli import output
from agentic.core.cli.output import print_facts, print_json, print_rows, print_sample

ROWS: list[dict[str, object]] = [
    {"url": "http://127.0.0.1/shop/product/" + "9" * 30, "title": "[bold]brackets[/] stay", "score": None},
    {"url": "http://127.0.0.1/a", "title": "日本" * 40, "score": 7, "more": "x"},
]


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "console", Console(width=80))


def test_rows_for_scripts_are_json_with_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows("Pages", ["url"], ROWS, as_json=True)
    assert json.loads(capsys.readouterr().out) == ROWS


def test_scraped_text_is_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows("Pages", ["title"], ROWS[:1])
    assert "[bold]brackets[/] stay" in capsys.readouterr().out


def test_table_folds_what_does_not_fit_and_loses_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows("Pages", ["url", "title", "score"], ROWS)
    printed = capsys.readouterr().out
    assert printed.count("日本") + printed.count("本日") >= 40 - printed.count("\n")
    assert printed.count("9") == 30


def test_rows_that_would_be_torn_by_the_width_are_blocks_with_a_line_for_each_cell(
    capsys: pytest.CaptureFixture[str],
) -> None:
    columns = ["id", "pipeline", "step", "item", "failure_class", "try", "message"]
    item = "http://127.0.0.1/shop/product/9999"
    row = dict(
        zip(
            columns, ["b1-2", "shop", "loop/fetch", item, "http_404", None, f"{item} [was] gone"], strict=True
        )
    )
    print_rows("Dead letters", columns, [row])
    assert capsys.readouterr().out.splitlines() == [
        "Dead letters",
        "",
        "  b1-2",
        "    pipeline       shop",
        "    step           loop/fetch",
        f"    item           {item}",
        "    failure class  http_404",
        f"    message        {item} [was] gone",
        "",
    ]


def test_sample_keeps_each_row_on_one_line_and_within_the_width(capsys: pytest.CaptureFixture[str]) -> None:
    print_sample("Pages", ["url", "title", "score", "more", "and", "yet another column"], ROWS)
    *lines, rest = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert len(lines) == 2 + 1 + len(ROWS)
    assert max(map(cell_len, lines)) <= 80
    assert "…" in lines[-1]
    assert lines[-2].strip().startswith("…999")  # the end of a URL tells it from others
    assert rest.strip() == "not shown: yet another column"


def test_sample_cuts_the_beginning_of_a_path(capsys: pytest.CaptureFixture[str]) -> None:
    print_sample("Files", ["path", "by"], [{"path": f"{'a' * 32}/{'b' * 64}.png", "by": "x" * 30}])
    row = capsys.readouterr().out.splitlines()[-2]
    assert row.strip().startswith("…bb")
    assert "b.png" in row


def test_a_title_that_is_longer_than_its_table_stays_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    title = "http://127.0.0.1:28480/search?query=kernel (first 10 of 20)"
    print_rows(title, ["id"], [{"id": 1}])
    assert capsys.readouterr().out.splitlines()[0] == title


def test_sample_gives_free_room_to_the_columns_that_need_it(capsys: pytest.CaptureFixture[str]) -> None:
    title = "Anchor Compass Queue of the Second Harbor"
    print_sample("Items", ["title", "price", "by"], [{"title": title, "price": 1.5, "by": "Ada"}])
    assert title in capsys.readouterr().out


def test_sample_with_much_text_shares_the_room(capsys: pytest.CaptureFixture[str]) -> None:
    print_sample("Items", ["a", "b", "c"], [{"a": "a" * 90, "b": "b" * 90, "c": "c" * 90}])
    row = capsys.readouterr().out.splitlines()[-2]
    assert cell_len(row) <= 80
    assert [row.count(letter) for letter in "abc"] == [24, 21, 21]


def test_facts_are_a_line_each_with_their_names_before_them(capsys: pytest.CaptureFixture[str]) -> None:
    print_facts("http://a/" + "9" * 90, {"status": 200, "fetched_by": "[bold]http[/]", "title": None})
    assert capsys.readouterr().out.splitlines() == [
        "http://a/" + "9" * 90,
        "  status      200",
        "  fetched by  [bold]http[/]",
    ]


def test_json_shows_times_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"at": datetime(2026, 1, 1, tzinfo=UTC)})
    assert json.loads(capsys.readouterr().out) == {"at": "2026-01-01 00:00:00+00:00"}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"amount": "0.5", "currency": "EUR"}, "0.50 EUR"),
        ({"amount": 0.5, "currency": "EUR"}, "0.50 EUR"),
        ({"amount": "51.77", "currency": "GBP"}, "51.77 GBP"),
        ({"amount": 1299, "currency": "JPY"}, "1299 JPY"),
        ({"amount": "-3.5", "currency": None}, "-3.50"),
        ({"amount": "0.125", "currency": "KWD"}, "0.125 KWD"),
        ({"amount": "2.5", "unit": "kg"}, "amount: 2.5, unit: kg"),
        ({"name": "Ada", "url": None, "tags": []}, "Ada"),
        ({"rating": {"value": 4, "count": 12}}, "value: 4, count: 12"),
        ({}, ""),
        (["a", "b"], "a, b"),
        ([{"amount": "1.5", "currency": "EUR"}, {"amount": "2", "currency": "EUR"}], "1.50 EUR (+1)"),
        ([{"name": "Ada"}], "Ada"),
        ([True, None, 3], "yes, , 3"),
        (False, "no"),
        ({"text": "two\nlines"}, "two lines"),
    ],
)
def test_a_sample_shortens_nested_values(
    value: object, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_sample("Rows", ["id", "found"], [{"id": "x", "found": value}])
    assert capsys.readouterr().out.splitlines()[-2].split("x", 1)[1].strip() == shown
