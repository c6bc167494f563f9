from __future__ import annotations

import gzip
import os
from pathlib import Path
from threading import Thread

import pytest

from agentic.executors.exports.errors import ExportError
from agentic.executors.exports.formats import ExportFormat
from agentic.executors.exports.targets import ExportTarget, written


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("items.jsonl", (ExportFormat.JSONL, False)),
        ("items.ndjson", (ExportFormat.JSONL, False)),
        ("items.json", (ExportFormat.JSON, False)),
        ("items.csv", (ExportFormat.CSV, False)),
        ("items.parquet", (ExportFormat.PARQUET, False)),
        ("items.xlsx", (ExportFormat.XLSX, False)),
        ("s3://bucket/items.csv.gz", (ExportFormat.CSV, True)),
        ("items.csv.gz", (ExportFormat.CSV, True)),
        ("-", (ExportFormat.JSONL, False)),
    ],
)
def test_the_name_says_how_to_write(name: str, expected: tuple[ExportFormat, bool]) -> None:
    target = ExportTarget.parse(name)
    assert (target.format, target.is_packed) == expected


@pytest.mark.parametrize("name", ["items", "items.xls", "items.gz"])
def test_a_name_that_does_not_say_how_is_refused(name: str) -> None:
    with pytest.raises(ExportError, match=r"\.jsonl, \.ndjson, \.json, \.csv"):
        ExportTarget.parse(name)


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text("as before")

    def write_half() -> None:
        with ExportTarget.parse(str(path)).opened() as file:
            file.write("half of it")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert path.read_text() == "as before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_replaces_the_one_before_only_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text("as before")
    with ExportTarget.parse(str(path)).opened() as file:
        file.write("ä")
        assert path.read_text() == "as before"
    assert path.read_bytes() == "ä".encode()


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.touch()
    link.symlink_to(real)
    with ExportTarget.parse(str(link)).opened() as file:
        file.write("x")
    assert link.is_symlink()
    assert real.read_text() == "x"


def test_the_same_text_packs_to_the_same_bytes(tmp_path: Path) -> None:
    paths = [tmp_path / "one.csv.gz", tmp_path / "two.csv.gz"]
    for path in paths:
        with ExportTarget.parse(str(path)).opened() as file:
            file.write("some text")
    assert gzip.decompress(paths[0].read_bytes()) == b"some text"
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_named_pipe_is_written_as_it_comes(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    found: list[str] = []
    reader = Thread(target=lambda: found.append(path.read_text()))
    reader.start()
    with ExportTarget.parse(str(path)).opened() as file:
        file.write("{}\n")
    reader.join()
    assert found == ["{}\n"]
    assert path.is_fifo()


@pytest.mark.parametrize("name", ["missing/items.csv", "file/items.csv"])
def test_a_place_that_cannot_be_written_is_told_beforehand(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ExportError, match=r"items\.csv cannot be written"):
        ExportTarget.parse(str(tmp_path / name)).check()


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "items.csv"
    folder.mkdir()
    with pytest.raises(ExportError, match="is a folder"):
        ExportTarget.parse(str(folder)).check()
    with pytest.raises(ExportError, match="is a folder"), written(folder):
        pass


def test_looking_beforehand_leaves_nothing_behind(tmp_path: Path) -> None:
    ExportTarget.parse(str(tmp_path / "items.csv")).check()
    assert list(tmp_path.iterdir()) == []
