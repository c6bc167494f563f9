from __future__ import annotations

from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from agentic.core.hooks import get_registry
from agentic.migrations.histories import History, histories
from agentic.migrations.revisions import read_revisions


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder


@pytest.mark.parametrize("history", histories(get_registry()), ids=lambda history: history.name)
def test_the_installed_migrations_are_read_as_alembic_reads_them(history: History) -> None:
    config: Config = history.config()
    script = ScriptDirectory.from_config(config)
    found = read_revisions(Path(config.get_main_option("version_locations") or ""))
    assert found.known == {revision.revision for revision in script.walk_revisions()}
    assert found.newest == tuple(sorted(script.get_heads()))


def test_a_merge_leaves_one_newest(tmp_path: Path) -> None:
    write(
        tmp_path,
        a="revision = 'a'\ndown_revision = None\n",
        b="revision: str = 'b'\ndown_revision: str | None = 'a'\n",
        c="revision = 'c'\ndown_revision = 'a'\n",
    )
    assert read_revisions(tmp_path).newest == ("b", "c")
    write(tmp_path, d="revision = 'd'\ndown_revision = ('b', 'c')\n")
    assert read_revisions(tmp_path).newest == ("d",)
    assert read_revisions(tmp_path).known == {"a", "b", "c", "d"}


def test_nothing_is_run_to_read_them(tmp_path: Path) -> None:
    write(tmp_path, a="import nothing_of_that_name\nrevision = 'a'\nraise SystemExit\n", __init__="1 / 0\n")
    assert read_revisions(tmp_path).newest == ("a",)


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("down_revision = None\n", r"a\.py has no line such as `revision = '0001'`"),
        ("revision = 1\n", r"a\.py has no line such as `revision = '0001'`"),
        ("revision = make()\n", r"a\.py has no line such as `revision = '0001'`"),
        ("revision = 'a'\ndown_revision = before()\n", r"a\.py has no line such as `down_revision = '0001'`"),
        ("revision = 'a'\ndown_revision = (1,)\n", r"a\.py has no line such as `down_revision = '0001'`"),
        ("revision = 'a'\ndown_revision = 'gone'\n", "no migration in .* is gone"),
    ],
)
def test_what_does_not_say_which_it_is_is_refused_by_name(tmp_path: Path, text: str, lacks: str) -> None:
    write(tmp_path, a=text)
    with pytest.raises(ValueError, match=lacks):
        read_revisions(tmp_path)
