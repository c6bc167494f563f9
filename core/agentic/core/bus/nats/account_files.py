"""The accounts of projects as files: two seeds for each project, and a file for the server to include."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from agentic.core.bus.nats.access import OBSERVER, PROJECT, seed_file
from agentic.core.bus.nats.accounts import ProjectAccount, accounts_config
from agentic.core.bus.nats.seeds import make_seed, public_key, read_seed
from agentic.core.private import make_private_folder
from agentic.core.settings import ACCOUNTS_FILE

_WORKER = ".nk"
_OBSERVER = f"{OBSERVER}{_WORKER}"


@dataclass(frozen=True, slots=True)
class AccountFolder:
    """Holds ``accounts.conf``, and for each project ``NAME.nk`` and ``NAME.observer.nk``.

    Existing seeds stay, and only missing ones are created, so it is safe to call it again at any time.

    Attributes:
        path: The folder.
        is_shared: Whether a server of another user reads ``accounts.conf``. Seeds stay private.
    """

    path: Path
    is_shared: bool = False

    @property
    def pattern(self) -> str:
        """The value of ``AGENTIC_NATS_SEED_FILE`` for workers."""
        return str(self.path / f"{PROJECT}{_WORKER}")

    @property
    def config(self) -> Path:
        """The file that the server must include."""
        return self.path / ACCOUNTS_FILE

    def seeds(self, project: str) -> tuple[Path, Path]:
        """Return the files of a project's worker and of its observer."""
        return seed_file(self.pattern, project), seed_file(str(self.path / f"{PROJECT}{_OBSERVER}"), project)

    def projects(self) -> Sequence[str]:
        """Return the projects that have an account, by name."""
        files = (file.name for file in self.path.glob(f"*{_WORKER}") if not file.name.endswith(_OBSERVER))
        return sorted(unquote(name.removesuffix(_WORKER), errors="surrogatepass") for name in files)

    def make(self, projects: Iterable[str]) -> None:
        """Create the missing seeds of projects, and write the configuration of all projects with seeds.

        Raises:
            BusAccessError: A seed cannot be created or read.
            OSError: The folder cannot be written to.
        """
        if self.is_shared:
            self.path.mkdir(parents=True, exist_ok=True)
        else:
            make_private_folder(self.path, below=self.path)
        for project in {*projects, *self.projects()}:  # an existing project may have lost a file
            for file in self.seeds(project):
                if not file.exists():
                    _write(file, make_seed() + "\n", 0o600)
        text = accounts_config(map(self._account, self.projects()))
        draft = self.config.with_suffix(".draft")
        draft.unlink(missing_ok=True)
        _write(draft, text, 0o644)  # public keys; the server may be another user
        draft.replace(self.config)

    def _account(self, project: str) -> ProjectAccount:
        worker, observer = (public_key(read_seed(file)) for file in self.seeds(project))
        return ProjectAccount(project=project, worker=worker, observer=observer)


def _write(file: Path, text: str, mode: int) -> None:
    """Write a new file."""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as opened:
        opened.write(text)
