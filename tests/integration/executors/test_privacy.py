"""Other users of the machine read nothing, whoever makes the files first."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.commands import run_command

from agentic.core.private import is_wide
from agentic.core.settings import load_settings
from agentic.executors.checks.privacy import privacy_findings

pytestmark = pytest.mark.integration

PIPELINE = """
name: canary
steps:
  - actor: webhook
    config: {url: "http://127.0.0.1:9/", payload: {a: 1}, headers: {X-Api-Key: CANARY-OF-A-HEADER}}
"""
LOOK = """
import os, sys
os.setgid(65534); os.setgroups([]); os.setuid(65534)
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        try:
            print(open(os.path.join(folder, name), "rb").read())
        except OSError:
            pass
try:
    print(os.listdir(os.path.join(sys.argv[1], "home")))
except OSError as exc:
    print(type(exc).__name__)
"""


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that every user of the machine may enter."""
    folder = Path(tempfile.mkdtemp(prefix="agentic-shared-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def agentic(home: Path, *arguments: str, umask: int, **variables: str) -> subprocess.CompletedProcess[str]:
    given = {name: value for name, value in os.environ.items() if not name.startswith("AGENTIC_")}
    before = os.umask(umask)
    try:
        return run_command(arguments, {**given, "AGENTIC_HOME": str(home), **variables}, home.parent)
    finally:
        os.umask(before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_reads_nothing_of_a_home_that_a_command_made(shared: Path) -> None:
    pipeline = shared / "canary.yaml"
    pipeline.write_text(PIPELINE, encoding="utf-8")
    pipeline.chmod(0o600)
    made = agentic(shared / "home", "run", str(pipeline), umask=0)
    assert (shared / "home" / "agentic.db").exists(), made.stderr
    stored = b"".join(file.read_bytes() for file in (shared / "home").glob("agentic.db*"))
    assert b"canary" in stored

    said = subprocess.run(
        [sys.executable, "-S", "-c", LOOK, str(shared)], capture_output=True, text=True, check=True
    )
    assert said.stdout == "PermissionError\n"


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_a_database_outside_the_home_is_private_though_its_folder_is_not(shared: Path, umask: int) -> None:
    url = f"sqlite:///{shared / 'other.db'}"
    done = agentic(shared / "home", "db", "upgrade", umask=umask, AGENTIC_DATABASE_URL=url)
    assert done.returncode == 0, done.stderr
    assert [file.name for file in shared.glob("other.db*") if is_wide(file)] == []
    assert not is_wide(shared / "other.db")


def test_the_doctor_reports_what_other_users_may_reach(shared: Path) -> None:
    home, key = shared / "home", shared / "keys" / "shop.nk"
    key.parent.mkdir()
    key.touch()
    (home / "mine").mkdir(parents=True)
    (home / "agentic.db").touch()
    for path, mode in ((home, 0o755), (home / "agentic.db", 0o644), (key.parent, 0o755), (key, 0o644)):
        path.chmod(mode)
    settings = load_settings(home=home, nats_seed_file=str(key.parent / "{project}.nk"))

    told = [finding.text for finding in privacy_findings(settings)]

    assert len(told) == 3
    assert f"the folder {str(home)!r} (mode 0755)" in told[0]
    assert f"`chmod 700 {home}`" in told[0]
    assert f"`chmod 600 {home / 'agentic.db'}`" in told[1]
    assert f"`chmod 600 {key}`" in told[2]

    home.chmod(0o700)
    key.chmod(0o600)
    assert list(privacy_findings(settings)) == []
