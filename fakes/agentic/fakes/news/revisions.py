"""How often articles were revised since they were published."""

from __future__ import annotations

from fnmatch import fnmatchcase
from threading import Lock

from pydantic import BaseModel, ConfigDict, Field, PositiveInt


class Revision(BaseModel):
    """A change to the articles whose path fits ``path``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str = Field(pattern=r"^[/*]", description="Pattern of paths without query; * also crosses slashes.")
    times: PositiveInt = 1


class Revisions:
    """The changes so far; may be used from another thread than the server's."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._made: list[Revision] = []

    def add(self, revision: Revision) -> None:
        """Change the articles at ``revision.path``."""
        with self._lock:
            self._made.append(revision)

    def of(self, path: str) -> int:
        """Return how often what is at ``path`` was changed."""
        with self._lock:
            return sum(made.times for made in self._made if fnmatchcase(path, made.path))

    def reset(self) -> None:
        """Undo all changes."""
        with self._lock:
            self._made.clear()
