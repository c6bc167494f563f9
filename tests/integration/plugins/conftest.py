"""Databases with the tables of all plugins, on SQLite and PostgreSQL."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agentic.core.hooks import get_registry
from agentic.migrations.runner import upgrade


@pytest.fixture(scope="session")
def whole_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with all tables, those of plugins included, to be copied."""
    path = tmp_path_factory.mktemp("whole") / "data.db"
    upgrade(f"sqlite:///{path}", get_registry())
    return path


@pytest.fixture
def whole_url(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A database with all tables and no row."""
    if backend == "sqlite":
        return f"sqlite:///{shutil.copy(request.getfixturevalue('whole_file'), tmp_path / 'data.db')}"
    migrated: str = request.getfixturevalue("migrated_url")
    upgrade(migrated, get_registry())
    return migrated
