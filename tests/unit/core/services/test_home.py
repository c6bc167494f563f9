from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from agentic.core.private import open_private
from agentic.core.services import HomeInUseError
from agentic.core.services.home import SupervisorHome
from agentic.core.services.processes import process_identity
from agentic.core.settings import load_settings


def test_a_home_has_one_owner_who_is_named_to_others(tmp_path: Path) -> None:
    first = SupervisorHome(tmp_path)
    first.acquire()
    with pytest.raises(HomeInUseError, match=str(os.getpid())) as caught:
        SupervisorHome(tmp_path).acquire()
    assert str(tmp_path) in str(caught.value)
    first.release()
    second = SupervisorHome(tmp_path)
    second.acquire()
    second.release()


def test_the_note_is_private_and_tells_other_processes_where_servers_listen(tmp_path: Path) -> None:
    home = SupervisorHome(tmp_path)
    home.acquire()
    home.write_note({"nats": "nats://127.0.0.1:1", "broker": "redis://127.0.0.1:2/0"}, {"nats": os.getpid()})
    note = tmp_path / "runtime.json"
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    assert json.loads(note.read_text(encoding="utf-8"))["pid"] == os.getpid()
    settings = load_settings(home=tmp_path, nats_url="", broker_url="")
    assert (settings.nats, settings.broker) == ("nats://127.0.0.1:1", "redis://127.0.0.1:2/0")
    home.release()
    assert not note.exists()


def test_a_note_is_replaced_as_a_whole(tmp_path: Path) -> None:
    home = SupervisorHome(tmp_path)
    home.acquire()
    (tmp_path / "runtime.json.draft").write_text("left by a crash", encoding="utf-8")
    home.write_note({"a": "1"}, {})
    home.write_note({"b": "2"}, {})
    assert json.loads((tmp_path / "runtime.json").read_text(encoding="utf-8"))["urls"] == {"b": "2"}
    home.release()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are told apart by /proc")
def test_the_successor_learns_of_the_processes_in_the_note(tmp_path: Path) -> None:
    home = SupervisorHome(tmp_path)
    home.acquire()
    home.write_note({}, {"self": os.getpid()})
    assert home.leftovers() == {os.getpid(): process_identity(os.getpid())}
    home.release()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"identities": 1}', '{"identities": {"x": "y"}}', '{"identities": {"1": null}}'],
)
def test_a_note_that_cannot_be_read_names_no_leftovers(tmp_path: Path, text: str) -> None:
    (tmp_path / "runtime.json").write_text(text, encoding="utf-8")
    assert SupervisorHome(tmp_path).leftovers() == {}


def test_a_large_log_is_set_aside(tmp_path: Path) -> None:
    home = SupervisorHome(tmp_path)
    log_path = home.log_path("nats")
    log_path.write_bytes(b"x" * (10 * 1024 * 1024 + 1))
    assert home.log_path("nats") == log_path
    assert not log_path.exists()
    assert (tmp_path / "logs" / "nats.log.1").stat().st_size > 10 * 1024 * 1024


def test_a_log_that_grows_is_set_aside_while_its_writer_goes_on(tmp_path: Path) -> None:
    home = SupervisorHome(tmp_path)
    path = home.log_path("worker")
    with open(path, "ab", buffering=0, opener=open_private) as writer:
        for text in (b"first" * 10, b"second" * 10, b"third"):
            writer.write(text)
            home.trim_logs(max_bytes=20)
    assert path.read_bytes() == b"third"
    assert path.with_suffix(".log.1").read_bytes() == b"second" * 10
    assert sorted(file.name for file in path.parent.iterdir()) == ["worker.log", "worker.log.1"]
    assert stat.S_IMODE(path.with_suffix(".log.1").stat().st_mode) == 0o600


def test_a_process_that_is_gone_has_no_identity() -> None:
    assert process_identity(2**22 + 1) is None
