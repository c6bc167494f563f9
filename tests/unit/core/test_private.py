"""What only its owner reads, whatever the umask says."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentic.core.bus.nats.account_files import AccountFolder
from agentic.core.private import (
    make_private_folder,
    narrow,
    open_private,
    secure_sqlite,
    wide_paths,
    write_private,
)
from agentic.core.services import nats_service, valkey_service
from agentic.core.services.home import SupervisorHome


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=lambda mask: f"umask {mask:03o}")
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    try:
        yield request.param
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def wide_below(folder: Path) -> list[str]:
    """Return what others than the owner may reach, the folder included."""
    found = [folder, *folder.rglob("*")]
    return [f"{path.name} {mode(path):04o}" for path in found if mode(path) & 0o077]


def start_supervisor(home: Path) -> None:
    owned = SupervisorHome(home)
    owned.acquire()
    owned.write_note({"nats": "nats://secret@127.0.0.1:1"}, {})
    with open(owned.log_path("worker"), "ab", opener=open_private) as log:
        log.write(b"line")
    os.close(owned._lock or -1)


def make_database(home: Path) -> None:
    make_private_folder(home)
    secure_sqlite(home / "agentic.db")


def make_accounts(home: Path) -> None:
    AccountFolder(home / "nats-accounts").make(["shop"])


MAKERS: dict[str, Callable[[Path], object]] = {
    "supervisor": start_supervisor,
    "nats": nats_service,
    "valkey": valkey_service,
    "database": make_database,
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.usefixtures("umask")
def test_a_home_is_private_whoever_makes_it(tmp_path: Path, maker: str) -> None:
    home = tmp_path / "new" / "home"
    MAKERS[maker](home)
    assert wide_below(home) == []


@pytest.mark.usefixtures("umask")
def test_seeds_are_private_and_their_folder_is_too(tmp_path: Path) -> None:
    make_accounts(tmp_path / "home")
    folder = tmp_path / "home" / "nats-accounts"
    assert mode(folder) == 0o700
    assert {mode(file) for file in folder.glob("*.nk")} == {0o600}


@pytest.mark.usefixtures("umask")
def test_folders_below_one_of_ours_are_private_those_that_were_there_too(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir(mode=0o755)
    make_private_folder(files / "e1" / "screenshots", below=files)
    assert wide_below(files) == []


def test_a_home_that_an_older_version_made_is_narrowed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for name in ("agentic.db", "agentic.db-wal", "agentic.db-shm"):
        (home / name).touch()
        (home / name).chmod(0o644)
    home.chmod(0o755)
    secure_sqlite(home / "agentic.db")
    assert wide_below(home) == []


def test_a_folder_that_holds_other_things_keeps_its_mode(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "index.html").touch()
    shared.chmod(0o755)
    secure_sqlite(shared / "agentic.db")
    make_private_folder(shared)
    assert (mode(shared), mode(shared / "agentic.db")) == (0o755, 0o600)


def test_a_folder_for_everybodys_files_keeps_its_mode(tmp_path: Path) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    folder.chmod(0o1777)
    secure_sqlite(folder / "agentic.db")
    assert mode(folder) == 0o1777


def test_a_link_to_a_file_that_is_missing_makes_a_private_one(tmp_path: Path) -> None:
    (tmp_path / "agentic.db").symlink_to(tmp_path / "elsewhere.db")
    secure_sqlite(tmp_path / "agentic.db")
    assert mode(tmp_path / "elsewhere.db") == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="files of others can be made by root alone")
def test_what_belongs_to_another_user_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "agentic.db"
    file.touch()
    file.chmod(0o644)
    os.chown(file, 65534, 65534)
    secure_sqlite(file)
    assert mode(file) == 0o644


def test_narrowing_never_adds_a_right(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.touch()
    file.chmod(0o440)
    narrow(file, 0o600)
    assert mode(file) == 0o400


@pytest.mark.usefixtures("umask")
def test_a_private_text_replaces_a_wide_one(tmp_path: Path) -> None:
    file = tmp_path / "note"
    file.touch()
    file.chmod(0o666)
    write_private(file, "secret")
    assert (mode(file), file.read_text(encoding="utf-8")) == (0o600, "secret")


def test_a_closed_home_has_no_wide_paths_whatever_is_in_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "logs").mkdir(parents=True)
    (home / "agentic.db").touch()
    home.chmod(0o755)
    (home / "agentic.db").chmod(0o644)
    (home / "logs").chmod(0o700)
    assert [path.name for path in wide_paths(home)] == ["home", "agentic.db"]
    home.chmod(0o700)
    assert list(wide_paths(home)) == []
