"""The story of `agentic demo --drift`, with the fakes in this process."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from tests.commands import invoke

from agentic.core.cli import console
from agentic.core.cli.main import build_app
from agentic.core.settings import load_settings
from agentic.executors.commands.servers.drift_demo import AFTER, tell_story
from agentic.executors.commands.shared.database import current_database, opened
from agentic.executors.errors import ExecutionFailedError
from agentic.fakes.redesign.orders import Redesign
from agentic.fakes.server import FakeServer

pytestmark = [pytest.mark.integration]

PRODUCTS = 40


@pytest.fixture(autouse=True)
def _home(first_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(first_file, tmp_path / "agentic.db")
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")


def told(fakes: FakeServer) -> str:
    """Return the story."""
    settings = load_settings()
    with console.capture() as seen, capture_logs(), opened(current_database(settings)) as database:
        tell_story(settings, database, fakes.url)
    return seen.get()


def test_a_redesigned_shop_is_noticed_repaired_approved_and_read_without_a_lost_or_wrong_row() -> None:
    with FakeServer(seed=1, stories=1, products=PRODUCTS) as fakes:
        story = told(fakes)
    assert f"{PRODUCTS} products are stored" in story
    assert f"page {AFTER + 1} on: classes hashed" in story
    assert "*/product/*: the layout has changed" in story
    assert re.search(r"repair \w{12} of shop is proposed", story)
    assert "version 1 of the pipeline of shop has the repair" in story
    assert f"{PRODUCTS} rows: 0 lost, 0 wrong" in story
    assert "not one row is lost or wrong" in story
    assert max(map(len, story.splitlines())) <= 80


def test_a_story_that_goes_otherwise_fails() -> None:
    with FakeServer(seed=1, stories=1, products=PRODUCTS) as fakes:
        fakes.control.redesigns.add(Redesign(path="/shop/product/*", changes=("soft_404",)))
        with pytest.raises(ExecutionFailedError, match="did not go as it should"):
            told(fakes)


def test_the_story_takes_no_other_options() -> None:
    result = invoke(build_app(), ["demo", "--drift", "--live"])
    assert "leave --live and --agents out" in str(result.exception)
