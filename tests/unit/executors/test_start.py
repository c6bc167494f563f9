"""What every command pays before it does anything."""

from __future__ import annotations

import subprocess
import sys

import pytest

import agentic.executors

HEAVY = {"sqlalchemy", "celery", "kombu", "aiohttp", "nats", "redis", "playwright", "firecrawl", "alembic"}
FAKES = {"agentic.fakes.server"}


def test_no_server_library_and_no_database_is_loaded_to_know_the_commands() -> None:
    code = (
        "import sys\n"
        "from agentic.core.cli.main import build_app\n"
        "build_app()\n"
        f"sys.exit(', '.join({HEAVY | FAKES} & set(sys.modules)) or None)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", agentic.executors.__all__)
def test_each_public_name_is_found_when_it_is_asked_for(name: str) -> None:
    assert getattr(agentic.executors, name).__name__ == name


def test_a_name_that_is_not_there_is_told_as_by_any_module() -> None:
    with pytest.raises(AttributeError, match=r"'agentic\.executors' has no attribute 'Runner'"):
        agentic.executors.Runner  # noqa: B018
