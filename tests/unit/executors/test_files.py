"""Files of an execution: whole, in their folder, replaced by name."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from agentic.executors.agents.files import FileNameError, FolderFiles, replace_file


@pytest.fixture
def files(tmp_path: Path) -> FolderFiles:
    return FolderFiles(tmp_path / "files", "e1")


async def test_a_file_is_written_below_the_folder_of_its_execution(
    files: FolderFiles, tmp_path: Path
) -> None:
    stored = await files.write("screenshots/front.png", b"png", "image/png")
    assert (tmp_path / "files" / stored.path).read_bytes() == b"png"
    assert (stored.path, stored.media_type, stored.size_bytes) == ("e1/screenshots/front.png", "image/png", 3)
    assert stored.sha256 == hashlib.sha256(b"png").hexdigest()


async def test_the_same_name_again_replaces_the_file_and_leaves_nothing_else(
    files: FolderFiles, tmp_path: Path
) -> None:
    await files.write("a.txt", b"a longer text", "text/plain")
    await files.write("a.txt", b"short", "text/plain")
    assert [path.name for path in (tmp_path / "files" / "e1").iterdir()] == ["a.txt"]
    assert (tmp_path / "files" / "e1" / "a.txt").read_bytes() == b"short"


@pytest.mark.parametrize(
    "name", ["", "/etc/passwd", "../a", "a/../../b", "a//b", ".", "a/", "a\\b", "a\0b", "a\nb"]
)
async def test_a_name_that_leads_elsewhere_is_refused(files: FolderFiles, tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNameError, match="relative name"):
        await files.write(name, b"x", "text/plain")
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - pathlib is not for async functions


async def test_a_link_that_leads_elsewhere_is_refused(files: FolderFiles, tmp_path: Path) -> None:
    (tmp_path / "files" / "e1").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "files" / "e1" / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(FileNameError):
        await files.write("link/deep/a.txt", b"x", "text/plain")
    assert list((tmp_path / "outside").iterdir()) == []


async def test_a_folder_is_not_replaced_by_a_file(files: FolderFiles) -> None:
    await files.write("a/b", b"x", "text/plain")
    with pytest.raises(FileNameError):
        await files.write("a", b"x", "text/plain")


def test_an_execution_cannot_choose_a_folder_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(FileNameError):
        FolderFiles(tmp_path, "..")


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    with pytest.raises(TypeError):
        replace_file(path, "no bytes")  # type: ignore[arg-type]  # what a full disk would do, in the same place
    assert path.read_bytes() == b"old"
    assert [found.name for found in tmp_path.iterdir()] == ["a.txt"]
