"""Folders with what an older version left."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from agentic.migrations.runner import upgrade

DATA = Path(__file__).parent / "data"
VERSIONS = sorted(path.name for path in DATA.iterdir())

TakeOver = Callable[[str], Path]


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """The commit that wrote the data."""
    return str(request.param)


@pytest.fixture
def take_over(tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch) -> TakeOver:
    """Return a function that unpacks a database, brings its tables up to date and makes it this process's."""

    def unpack(name: str) -> Path:
        path = tmp_path / "agentic.db"
        path.write_bytes(gzip.decompress((DATA / version / f"{name}.db.gz").read_bytes()))
        upgrade(f"sqlite:///{path}")
        for variable in ("AGENTIC_BROKER_URL", "AGENTIC_NATS_URL", "AGENTIC_PROJECT", "AGENTIC_DATABASE_URL"):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setenv("AGENTIC_HOME", str(tmp_path))
        monkeypatch.setenv("AGENTIC_WORKFLOW_MODULES", '["tests"]')
        monkeypatch.chdir(tmp_path)
        return path

    return unpack
