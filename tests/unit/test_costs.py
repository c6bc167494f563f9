"""The list of what test files cost: read, written, and compared with what a session has spent."""

from __future__ import annotations

from pathlib import Path

from tests.costs import LEAST_S, SLACK_S, excess, read_entries, written

ENTRIES = {"tests/slow.py": 10.0}


def test_entries_that_are_written_are_read(tmp_path: Path) -> None:
    path = tmp_path / "costs.txt"
    path.write_text(written({"tests/slow.py": 12.3, "docs/a page.md": 4.0, "tests/fast.py": LEAST_S / 2}))
    assert list(read_entries(path).items()) == [("tests/slow.py", 12.3), ("docs/a page.md", 4.0)]


def test_a_file_that_takes_more_than_twice_its_entry_is_listed() -> None:
    assert list(excess({"tests/slow.py": 20.1 + SLACK_S}, ENTRIES)) == [
        "tests/slow.py took 25.1 s of CPU; its entry is 10.0 s"
    ]


def test_beside_a_busy_process_none_is_listed() -> None:
    assert list(excess({"tests/slow.py": 20.0, "tests/fast.py": SLACK_S}, ENTRIES)) == []


def test_a_file_without_an_entry_is_listed_when_it_is_slow_and_the_worst_first() -> None:
    lines = list(excess({"tests/new.py": 30.0, "tests/slow.py": 90.0}, ENTRIES))
    assert [line.split()[0] for line in lines] == ["tests/slow.py", "tests/new.py"]
