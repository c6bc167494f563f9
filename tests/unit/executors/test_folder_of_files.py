"""Where the files of a run are, as its end says."""

from __future__ import annotations

import pytest

from agentic.executors.commands.executions.stored import StoredRows, folder_of_files, samples_for_people

SHA = "6d4b"


def table(*paths: str, **others: object) -> StoredRows:
    rows: list[dict[str, object]] = [{"path": path, "sha256": SHA, **others} for path in paths]
    return StoredRows("web_files", ["path", "sha256"], rows, len(rows))


@pytest.mark.parametrize(
    ("paths", "folder"),
    [
        (["p/pictures/6d/6d4b.png"], "p/pictures/6d"),
        (["p/pictures/6d/6d4b.png", "p/pictures/f2/f2aa.png"], "p/pictures"),
        (["p/pictures/6d/6d4b.png", "p/papers/f2/f2aa.pdf"], "p"),
        (["s3://bucket/6d/6d4b.png"], None),
        ([], None),
    ],
)
def test_the_folder_holds_all_files_of_this_machine(paths: list[str], folder: str | None) -> None:
    assert folder_of_files([table(*paths)]) == folder


def test_files_of_items_count_and_other_paths_do_not() -> None:
    item = StoredRows("items", ["data"], [{"data": {"path": "p/a/6d/6d4b.png", "sha256": SHA}}], 1)
    assert folder_of_files([item]) == "p/a/6d"
    assert folder_of_files([StoredRows("pages", ["path"], [{"path": "/etc"}], 1)]) is None


def test_hashes_come_after_the_columns_that_tell_a_person_something() -> None:
    rows: list[dict[str, object]] = [
        {"feed_id": f"{n}" * 64, "title": "t" * 40 + " x", "score": n} for n in (1, 2)
    ]
    (shown,) = samples_for_people([StoredRows("entries", ["feed_id", "title", "score"], rows, 2)])
    assert shown.columns == ["title", "score", "feed_id"]
