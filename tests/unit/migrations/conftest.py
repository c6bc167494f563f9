from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from textwrap import dedent, indent

import pytest

from agentic.core.hooks import Platform, PluginRegistry
from agentic.mappers import Database

AddPlatform = Callable[..., PluginRegistry]


@pytest.fixture
def url(empty_url: str) -> str:
    return empty_url


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    database = Database(url)
    yield database
    database.dispose()


@pytest.fixture
def registry() -> PluginRegistry:
    """No plugin at all: the core's tables alone."""
    return PluginRegistry([])


@pytest.fixture
def migrate_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AddPlatform]:
    """Return a function: the platform "notes" as an installed plugin, with one migration for each body."""
    package = tmp_path / "notes_migrations"
    monkeypatch.syspath_prepend(tmp_path)

    def with_migrations(*bodies: str, models: Sequence[type[object]] = ()) -> PluginRegistry:
        (package / "versions").mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
        for number, body in enumerate(bodies, start=1):
            _write_migration(package / "versions", number, body)
        importlib.invalidate_caches()
        registry = PluginRegistry([])
        registry.add_platform(
            Platform(
                name="notes",
                executor=object,  # type: ignore[arg-type] # nothing is run here
                mapper=object,  # type: ignore[arg-type]
                migrations=package.name,
                models=models,
            )
        )
        return registry

    yield with_migrations
    sys.modules.pop(package.name, None)


def _write_migration(folder: Path, number: int, body: str) -> None:
    head = f'''
        """Step {number}."""
        import sqlalchemy as sa
        from alembic import op

        revision = "n{number}"
        down_revision = {f"n{number - 1}" if number > 1 else None!r}


        def upgrade() -> None:
        '''
    text = dedent(head) + indent(dedent(body).strip(), "    ")
    (folder / f"{number:04}_step.py").write_text(f"{text.lstrip()}\n", encoding="utf-8")
